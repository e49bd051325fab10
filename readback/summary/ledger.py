"""A run read once, and kept as one small entry for each episode: what is left when its trace is put aside.

Success is a task's own conclusion over the lenses that it requires:
- an episode whose ending is unscored, whose self-check failed, or of which a lens says `SELF_CHECK_FAILED` or
  `FOREIGN_CHANGE`, is unscored;
- one failing required lens is a failure, even when another is unscored;
- otherwise one unscored required lens, or one that has not judged yet, makes it unscored;
- otherwise one vacuous required lens makes it vacuous; and only if every one passes is it a success.

Of several verdicts of one lens on one episode (other settings, judged again) the last one counts. Judges are the
exception: each has its own configuration, and they stand side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ehr.verify.readback import read_back
from harness.task import Kind, Task
from harness.trace import Claim, Episode, Usage
from harness.values import canonical
from harness.verdict import Outcome, Verdict

STANDING_ALONE = frozenset({"SELF_CHECK_FAILED", "FOREIGN_CHANGE"})
"""Labels that make the whole episode unscored, whatever else was found."""


_VARIED = ("validation", "fault", "protocol")
"""The keys of a variant that come first, in this order."""


class LedgerError(ValueError):
    """The tasks, episodes and verdicts do not belong together. One clear sentence."""


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What statistics need of a task. `cluster` is the group whose tasks rise and fall together.

    Of a suite of repositories, `bucket` is how popular the repository is, and `unknown` that no model can know it.
    """

    id: str
    kind: Kind
    template: str
    twin: str | None
    cluster: str
    requires: tuple[str, ...]
    bucket: str | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What one lens said, without its clauses. `judge` is the configuration of a judge, which tells it from others."""

    lens: str
    outcome: Outcome
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    judge: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode in a few hundred bytes. `variant` is canonical JSON; `said` is in the order of the lenses' names.

    `read_back` is whether the agent read back everything it wrote; None where the server acknowledged no write.
    """

    id: str
    task: TaskFacts
    agent: str
    kind: str
    condition: str
    variant: str
    repeat: int
    ending: str
    claim: Claim | None
    success: Outcome
    said: tuple[Said, ...]
    read_back: bool | None
    usage: Usage
    seconds: float | None

    @property
    def required(self) -> tuple[Said, ...]:
        """What the lenses that the task requires said."""
        return tuple(said for said in self.said if said.lens in self.task.requires)

    def of(self, lens: str) -> Said | None:
        """What the named lens said, if it judged. Of judges there may be several; see `by`."""
        return next((said for said in self.said if said.lens == lens), None)

    def by(self, judge: str) -> Said | None:
        """What the judge of this configuration said, if it judged."""
        return next((said for said in self.said if said.judge == judge), None)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All tasks by id, all episodes by id in the order in which they were stored, and the settings of each lens."""

    tasks: Mapping[str, TaskFacts]
    entries: Mapping[str, Entry]
    configs: Mapping[str, tuple[str, ...]]


def read_ledger(tasks: Iterable[Task], episodes: Iterable[Episode], verdicts: Iterable[Verdict]) -> Ledger:
    """Read each of the three once, one item at a time. What is kept does not grow with the length of a trace.

    Of two episodes, or two tasks, with one id the later counts. Verdicts of unknown episodes are passed over.
    Raises `LedgerError` for an episode whose task is not among the tasks, and for a task that requires no lens.
    """
    known = {task.id: _facts(task) for task in tasks}
    said, configs = _read_verdicts(verdicts)
    entries: dict[str, Entry] = {}
    shared: dict[Any, Any] = {}
    for episode in episodes:
        task = known.get(episode.task)
        if task is None:
            raise LedgerError(
                f"episode {episode.id!r} plays task {episode.task!r}, which is not among the run's tasks; "
                "its tasks.jsonl and episodes.jsonl belong to different runs"
            )
        entries[episode.id] = _entry(episode, task, tuple(said.get(episode.id, {}).values()), shared)
    return Ledger(known, entries, configs)


def standing(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those of one episode's verdicts that count: of each lens the last one, and of each judge its own."""
    last = {(one.lens, one.config if one.lens == "judge" else ""): one for one in verdicts}
    return list(last.values())


def conclude(requires: tuple[str, ...], said: Iterable[Said], *, scored: bool) -> Outcome:
    """The success of one episode, by the rules at the top of this module. `scored`: it lets a lens judge."""
    if not requires:
        raise LedgerError("a task that requires no lens cannot succeed or fail; name at least one in its `requires`")
    heard = {one.lens: one for one in said}
    if not scored or any(STANDING_ALONE.intersection(one.labels) for one in heard.values()):
        return "unscored"
    outcomes = {heard[lens].outcome if lens in heard else "unscored" for lens in requires}
    for outcome in ("fail", "unscored", "vacuous"):
        if outcome in outcomes:
            return outcome
    return "pass"


def _facts(task: Task) -> TaskFacts:
    if not task.requires:
        raise LedgerError(f"task {task.id!r} requires no lens, so nothing could pass it; name at least one")
    bucket, unknown = task.parameters.get("bucket"), task.parameters.get("unknown")
    return TaskFacts(
        task.id, task.kind, task.template, task.twin, task.cluster or task.template, task.requires,
        bucket=bucket if isinstance(bucket, str) and task.suite == "repoqa" else None, unknown=unknown is True,
    )  # fmt: skip


def _read_verdicts(
    verdicts: Iterable[Verdict],
) -> tuple[dict[str, dict[str, Said]], dict[str, tuple[str, ...]]]:
    said: dict[str, dict[str, Said]] = {}
    settings: dict[tuple[str, str], tuple[str, str]] = {}
    shared: dict[Said, Said] = {}
    for verdict in verdicts:
        judge = verdict.config if verdict.lens == "judge" else None
        rater = verdict.lens if judge is None else f"judge {judge}"
        one = Said(verdict.lens, verdict.outcome, verdict.labels, verdict.notes, judge)
        said.setdefault(verdict.episode, {})[rater] = shared.setdefault(one, one)
        settings[verdict.episode, rater] = (verdict.lens, verdict.config)
    configs: dict[str, set[str]] = {}
    for lens, config in settings.values():
        configs.setdefault(lens, set()).add(config)
    return said, {lens: tuple(sorted(configs[lens])) for lens in sorted(configs)}


def _entry(episode: Episode, task: TaskFacts, heard: tuple[Said, ...], shared: dict[Any, Any]) -> Entry:
    """The episode's entry. `shared` holds one copy of each value that many episodes have in common."""
    if not episode.sound or any(STANDING_ALONE.intersection(one.labels) for one in heard):
        heard = tuple(_unheard(one) for one in heard)
    heard = tuple(sorted(heard, key=lambda one: (one.lens, one.judge or "")))
    variant = canonical(episode.variant).decode()
    return Entry(
        id=episode.id,
        task=task,
        agent=episode.agent,
        kind=episode.agent_kind,
        condition=episode.condition,
        variant=shared.setdefault(variant, variant),
        repeat=episode.repeat,
        ending=episode.ending,
        claim=episode.claim,
        success=conclude(task.requires, heard, scored=episode.sound),
        said=shared.setdefault(heard, heard),
        read_back=read_back(episode),
        usage=shared.setdefault(episode.usage, episode.usage),
        seconds=_seconds(episode.started, episode.ended),
    )


def _unheard(said: Said) -> Said:
    """What a lens said of an episode that nobody can judge: nothing, but why nobody can."""
    labels = tuple(label for label in said.labels if label in STANDING_ALONE)
    return replace(said, outcome="unscored", labels=labels)


def variant_of(entry: Entry) -> dict[str, Any]:
    """The entry's variant as a value, its keys in the order of the documents."""
    value: dict[str, Any] = json.loads(entry.variant)
    return {name: value[name] for name in (*_VARIED, *value) if name in value}


def labels_of(entry: Entry) -> list[str]:
    """Every label that some lens gave the episode, each once."""
    return list(dict.fromkeys(label for said in entry.said for label in said.labels))


def _seconds(started: str | None, ended: str | None) -> float | None:
    if started is None or ended is None:
        return None
    try:
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return None
