"""The null beside each grounded rate: the same answers against traces that answered other questions.

Only where questions are about repositories. Of each trace no more is kept than the reads that can support an answer;
equal results are kept once, so that memory grows with what was read, not with how often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Call, Episode
from harness.values import canonical

READS = frozenset({"read_file"})
"""The tools whose results can support an answer about a repository."""

PARTNERS = 5
"""Traces that each answer is judged against: enough for a mean over many answers, and quick."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Trace:
    calls: tuple[Call, ...]
    loss: tuple[str, ...]


def null_rates(folder: RunFolder) -> dict[Key, float | None]:
    """The null rate of each row (agent, condition, variant as canonical JSON) of a run over repositories."""
    return null_rates_of(folder.tasks(), folder.episodes())


def null_rates_of(tasks: Iterable[Task], episodes: Iterable[Episode]) -> dict[Key, float | None]:
    """The null rates of these episodes; an episode of an unknown task takes no part."""
    from grounding import PAPER, Answered, answer_of, null_rate

    known = {task.id: task for task in tasks}
    shared: dict[bytes, Call] = {}
    rows: dict[Key, list[Any]] = defaultdict(list)
    for episode in episodes:
        task = known.get(episode.task)
        if task is None or not episode.scored:
            continue
        calls = tuple(_once(call, shared) for call in episode.calls if call.name in READS)
        key = (episode.agent, episode.condition, canonical(episode.variant).decode())
        rows[key].append(
            Answered(
                id=episode.id,
                group=task.cluster or task.template,
                question=task.id,
                trace=_Trace(calls, episode.loss),
                answer=answer_of(episode),
                given=_given(task, episode.variant),
            )
        )
    return {key: null_rate(answered, PAPER, partners=PARTNERS).rate for key, answered in rows.items()}


def _once(call: Call, shared: dict[bytes, Call]) -> Call:
    """The call, with the result that an equal one has already. Its place in the trace does not matter here."""
    plain = call.model_copy(update={"position": 1, "step": 1, "started": None, "ended": None})
    return shared.setdefault(canonical(plain), plain)


def _given(task: Task, variant: Mapping[str, Any]) -> tuple[str, ...]:
    seed = variant.get("counterfactual")
    question = task.parameters.get("questions", {}).get("original" if seed is None else str(seed), {})
    return (str(question["repository"]),) if "repository" in question else ()
