"""What a server of sessions answers: its tasks, a session that was opened, the verdicts on one that was finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from harness.task import Task
from harness.values import Value
from harness.verdict import Verdict


class SessionDocument(Value):
    """What `POST /sessions` and `readback session open --json` give."""

    format: Literal["readback.session/1"] = "readback.session/1"
    session: str
    task: str
    instruction: str
    system: str
    tools: tuple[dict[str, Any], ...]
    base_url: str
    token: str
    clock: str
    expires: str


class VerdictsDocument(Value):
    """What `POST /sessions/<id>/finish` and `readback session close --json` give.

    `success` is null where nobody can say. Clauses come without what was expected.
    """

    format: Literal["readback.verdicts/1"] = "readback.verdicts/1"
    session: str
    episode: str
    task: str
    success: bool | None
    verdicts: tuple[Verdict, ...]


class OpenTasks(Value):
    """What `GET /tasks` gives: ids and instructions, and nothing that gives a task away.

    It has the form of `readback list tasks --json`; `undrawn` says why a template has no tasks.
    """

    format: Literal["readback.tasks/1"] = "readback.tasks/1"
    suite: str
    suite_digest: str
    tasks: tuple[dict[str, str], ...]
    undrawn: dict[str, str]


def verdicts_on(task: Task, session: str, episode: str, verdicts: Sequence[Verdict]) -> VerdictsDocument:
    """What is told of a finished session: nothing that was expected, for the same task may be opened again."""
    told = tuple(map(_without_answers, verdicts))
    return VerdictsDocument(
        session=session, episode=episode, task=task.id, success=_success(task, verdicts), verdicts=told
    )


def _without_answers(verdict: Verdict) -> Verdict:
    clauses = tuple(clause.model_copy(update={"expected": None, "why": None}) for clause in verdict.clauses)
    return verdict.model_copy(update={"clauses": clauses})


def _success(task: Task, verdicts: Sequence[Verdict]) -> bool | None:
    """The task's own conclusion: one failing required lens fails it; where one cannot judge, nobody can say."""
    outcomes = {verdict.lens: verdict.outcome for verdict in verdicts}
    required = {outcomes.get(lens, "unscored") for lens in task.requires}
    return False if "fail" in required else True if required == {"pass"} else None
