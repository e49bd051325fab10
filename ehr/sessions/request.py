"""What a session is asked for: `{"task", "condition", "variant", "agent"}`, each part checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ehr.faults import known_fault
from harness.plain import shown

if TYPE_CHECKING:
    from harness.task import Task

PROTOCOL = "fhir"
"""What an outside agent speaks, in an episode's variant."""
LONGEST_NAME = 100
"""Characters of an agent's name."""

_KEYS = ("task", "condition", "variant", "agent")


class SessionError(Exception):
    """What cannot be had: an HTTP status, and one sentence for whoever asked."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A session as it was asked for: who plays which task, under which condition and variant."""

    task: Task
    condition: str
    variant: Mapping[str, Any]
    agent: str


def read_request(asked: Any, tasks: Mapping[str, Task], conditions: Mapping[str, str]) -> SessionRequest:
    """The request, where everything in it is known. Raises `SessionError`."""
    if not isinstance(asked, dict):
        raise SessionError(400, f"a session is opened with an object such as {{'task': …}}, not {shown(asked)}")
    unknown = sorted(set(map(str, asked)) - set(_KEYS))
    if unknown:
        raise SessionError(400, f"{unknown[0]!r} is nothing that a session has; it has {', '.join(_KEYS)}")
    task = tasks.get(str(asked.get("task")))
    if task is None:
        raise SessionError(404, _no_task(asked.get("task"), tasks))
    condition = "default" if asked.get("condition") is None else asked["condition"]
    if not isinstance(condition, str) or condition not in conditions:
        raise SessionError(400, f"there is no condition {shown(condition)}; choose from {', '.join(conditions)}")
    agent = asked.get("agent") or "session"
    if not isinstance(agent, str) or not agent.isprintable() or len(agent) > LONGEST_NAME or agent.strip() != agent:
        raise SessionError(400, f"{shown(agent)} is no agent's name; use 1 to {LONGEST_NAME} printable characters")
    if agent in _baselines():
        raise SessionError(400, f"{agent!r} is the name of a baseline; give the agent another")
    try:
        return SessionRequest(task, condition, variant_of(asked.get("variant")), agent)
    except ValueError as problem:
        raise SessionError(400, str(problem)) from None


def variant_of(asked: Any) -> dict[str, Any]:
    """The variant of a session. Raises `ValueError` with one sentence."""
    from ehr.sandbox.fork import VALIDATIONS

    asked = {} if asked is None else asked
    if not isinstance(asked, dict) or set(asked) - {"validation", "fault", "protocol"}:
        raise ValueError(f"{shown(asked)} is no variant; it may have validation and fault")
    validation, fault = asked.get("validation") or "hapi", asked.get("fault")
    if validation not in VALIDATIONS:
        raise ValueError(f"there is no validation {shown(validation)}; choose from {', '.join(VALIDATIONS)}")
    if fault is not None and not isinstance(fault, str):
        raise ValueError(f"{shown(fault)} is no fault's name")
    known_fault(fault)
    return {"validation": validation, "fault": fault, "protocol": PROTOCOL}


def _no_task(asked: Any, tasks: Mapping[str, Task]) -> str:
    if asked is None:
        return "a session needs a task, such as {'task': 'ehr/record-weight/0001'}; GET /tasks lists them"
    firsts = {task.template: id for id, task in reversed(list(tasks.items()))}
    name = asked.removeprefix("ehr/").partition("/")[0] if isinstance(asked, str) else ""
    close = difflib.get_close_matches(name[:LONGEST_NAME], firsts, n=1)
    nearest = f"; did you mean {firsts[close[0]]!r}? GET" if close else "; GET"
    return f"there is no task {shown(asked)}{nearest} /tasks lists them"


def _baselines() -> tuple[str, ...]:
    from ehr.tasks.baselines import BASELINES, NEAR_ORACLES, TRUSTING

    return (*BASELINES, *NEAR_ORACLES, TRUSTING)
