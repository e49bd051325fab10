"""The null beside each grounded rate: the same answers against traces that answered other questions.

Answers belong together by repository, or by the template of a chart's task; the other question is another task (of
twins, which are asked in the same words, another pair). Of each trace no more is kept than what can support an answer:
of repositories the reads, equal ones once; of charts the values that they showed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.task import Task
from harness.trace import Call, Episode
from harness.values import canonical

if TYPE_CHECKING:
    from grounding import Answered, Null

READS = frozenset({"read_file"})
"""The tools whose results can support an answer about a repository."""

PARTNERS = 5
"""Traces that each answer is judged against: enough for a mean over many answers, and quick."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Trace:
    calls: tuple[Call, ...]
    loss: tuple[str, ...]


def null_rates(tasks: Iterable[Task], episodes: Iterable[Episode]) -> dict[Key, Null]:
    """The null of each row (agent, condition, variant as canonical JSON) of these episodes, which are of one suite.

    An episode of an unknown task takes no part, and none that nobody can judge.
    Of a suite whose answers are not judged by what was seen, there are none.
    """
    known = {task.id: task for task in tasks}
    suites = {task.suite for task in known.values()}
    if "ehr" in suites:
        return _of_charts(known, episodes)
    return _of_repositories(known, episodes) if "repoqa" in suites else {}


def _of_repositories(known: Mapping[str, Task], episodes: Iterable[Episode]) -> dict[Key, Null]:
    from grounding import PAPER, Answered, answer_of

    shared: dict[bytes, Call] = {}

    def answered(task: Task, episode: Episode) -> Answered:
        return Answered(
            id=episode.id,
            group=task.cluster or task.template,
            question=task.id,
            trace=_Trace(tuple(_once(call, shared) for call in episode.calls if call.name in READS), episode.loss),
            answer=answer_of(episode),
            given=_given(task, episode.variant),
        )

    return _rates(_rows(known, episodes, answered), PAPER)


def _of_charts(known: Mapping[str, Task], episodes: Iterable[Episode]) -> dict[Key, Null]:
    from ehr.verify.claims import CLINICAL, shown_by, told
    from grounding import Answered, answer_of

    def answered(task: Task, episode: Episode) -> Answered:
        return Answered(
            id=episode.id,
            group=task.template,
            question=min(task.id, task.twin or task.id),
            trace=shown_by(task, episode),
            answer=answer_of(episode),
            given=told(task),
        )

    return _rates(_rows(known, episodes, answered), CLINICAL)


def _rows(
    known: Mapping[str, Task], episodes: Iterable[Episode], answered: Callable[[Task, Episode], Answered]
) -> dict[Key, list[Answered]]:  # fmt: skip
    rows: dict[Key, list[Answered]] = defaultdict(list)
    for episode in episodes:
        task = known.get(episode.task)
        if task is not None and episode.sound:
            key = (episode.agent, episode.condition, canonical(episode.variant).decode())
            rows[key].append(answered(task, episode))
    return rows


def _rates(rows: Mapping[Key, Sequence[Answered]], policy: Any) -> dict[Key, Null]:
    from grounding import null_rate

    return {key: null_rate(answered, policy, partners=PARTNERS) for key, answered in rows.items()}


def _once(call: Call, shared: dict[bytes, Call]) -> Call:
    """The call, with the result that an equal one has already. Its place in the trace does not matter here."""
    plain = call.model_copy(update={"position": 1, "step": 1, "started": None, "ended": None})
    return shared.setdefault(canonical(plain), plain)


def _given(task: Task, variant: Mapping[str, Any]) -> tuple[str, ...]:
    seed = variant.get("counterfactual")
    question = task.parameters.get("questions", {}).get("original" if seed is None else str(seed), {})
    return (str(question["repository"]),) if "repository" in question else ()
