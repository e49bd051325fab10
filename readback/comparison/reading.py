"""Runs read once: each episode in a few hundred bytes, with what every rater said about it.

Of several runs:
- An episode that stands in more than one with the same trace (a run copied and judged on another day, a baseline that
  was played again) is one episode, with the verdicts of all; of two verdicts of one rater the later run's counts.
- An episode of the same id with another trace (a model answered otherwise) is another episode.

An episode whose ending is unscored, or of which a lens says `SELF_CHECK_FAILED` or `FOREIGN_CHANGE`, is unscored for
every rater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from harness.runfolder import RunFolder
from harness.trace import UNSCORED_ENDINGS, Episode
from harness.values import digest
from harness.verdict import Outcome, Verdict
from readback.summary.ledger import STANDING_ALONE, Entry, read_ledger

_VOTE = "vote "
"""How the clauses of a judge's verdict that are votes are named."""


class RaterKey(NamedTuple):
    """What tells raters apart."""

    lens: str
    config: str


@dataclass(frozen=True, slots=True)
class Said:
    """What one rater said about one episode. `votes` are the outcomes of its votes, empty where it has none."""

    outcome: Outcome
    votes: tuple[Outcome, ...] = ()
    is_rule: bool = False


@dataclass(frozen=True, slots=True)
class Rated:
    """One episode. `runs` are those it stands in, with one trace; `said` holds what each rater said."""

    suite: str
    runs: tuple[str, ...]
    entry: Entry
    said: Mapping[RaterKey, Said]
    correct: bool | None

    @property
    def run(self) -> str:
        """The run that it was found in first."""
        return self.runs[0]

    @property
    def bucket(self) -> str | None:
        """How popular its repository is."""
        return self.entry.task.bucket


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run as it was read."""

    folder: RunFolder
    run: str
    suite: str
    created: str | None
    episodes: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All runs, all their episodes, and how many stood in several."""

    runs: tuple[ReadRun, ...]
    rated: tuple[Rated, ...]
    same: int


def read_runs(folders: Sequence[RunFolder]) -> Reading:
    """Read the tasks, episodes and verdicts of each run. Raises `LedgerError` and `RunFolderError`."""
    several = _in_several(folders)
    runs: list[ReadRun] = []
    found: dict[tuple[str, str], Rated] = {}
    same = 0
    for folder in folders:
        traces: dict[str, str] = {}
        rated = list(_read(folder, several, traces))
        runs.append(_run(folder, len(rated)))
        for one in rated:
            key = (one.entry.id, traces.get(one.entry.id, ""))
            if key in found:
                same += 1
                one = _together(found[key], one)
            found[key] = one
    return Reading(tuple(runs), tuple(found.values()), same)


def _together(before: Rated, now: Rated) -> Rated:
    return replace(
        before,
        runs=before.runs + now.runs,
        said={**before.said, **now.said},
        correct=before.correct if now.correct is None else now.correct,
    )


def _in_several(folders: Sequence[RunFolder]) -> set[str]:
    """The ids that stand in more than one of the runs: their traces must be compared."""
    counts = Counter(key for folder in folders for key in (folder.endings() if len(folders) > 1 else ()))
    return {key for key, times in counts.items() if times > 1}


def _run(folder: RunFolder, episodes: int) -> ReadRun:
    times = folder.about.get("times")
    created = times.get("created") if isinstance(times, Mapping) else None
    suite = str(folder.about.get("suite", ""))
    return ReadRun(folder, str(folder.path), suite, str(created) if created else None, episodes)


def _read(folder: RunFolder, several: set[str], traces: dict[str, str]) -> Iterator[Rated]:
    suite = str(folder.about.get("suite", ""))
    heard: dict[str, _Heard] = {}
    ledger = read_ledger(
        folder.tasks(), _with_traces(folder.episodes(), several, traces), _kept(folder.verdicts(), heard)
    )
    for entry in ledger.entries.values():
        one = heard.get(entry.id, _Heard())
        lost = entry.ending in UNSCORED_ENDINGS or one.stands_alone
        answer = entry.of("answer")
        correct = None if lost or answer is None else {"pass": True, "fail": False}.get(answer.outcome)
        yield Rated(suite, (str(folder.path),), entry, _unscored(one.said) if lost else one.said, correct)


@dataclass(slots=True)
class _Heard:
    said: dict[RaterKey, Said] = field(default_factory=dict)
    stands_alone: bool = False


def _kept(verdicts: Iterable[Verdict], heard: dict[str, _Heard]) -> Iterator[Verdict]:
    shared: dict[Said, Said] = {}
    for verdict in verdicts:
        one = heard.setdefault(verdict.episode, _Heard())
        said = Said(verdict.outcome, votes_of(verdict), "SCRIPTED_JUDGE" in verdict.notes)
        one.said[RaterKey(verdict.lens, verdict.config)] = shared.setdefault(said, said)
        one.stands_alone = one.stands_alone or bool(STANDING_ALONE.intersection(verdict.labels))
        yield verdict


def votes_of(verdict: Verdict) -> tuple[Outcome, ...]:
    """The outcomes of the votes in a judge's verdict."""
    if verdict.lens != "judge":
        return ()
    return tuple(clause.outcome for clause in verdict.clauses if clause.name.startswith(_VOTE))


def _unscored(said: Mapping[RaterKey, Said]) -> dict[RaterKey, Said]:
    return {key: replace(one, outcome="unscored") for key, one in said.items()}


def _with_traces(episodes: Iterable[Episode], several: set[str], traces: dict[str, str]) -> Iterator[Episode]:
    for episode in episodes:
        if episode.id in several:
            traces[episode.id] = trace_digest(episode)
        yield episode


def trace_digest(episode: Episode) -> str:
    """The digest of what happened, times apart: two episodes of one digest are the same to every rater."""
    calls = [
        (call.name, call.arguments, call.raw_arguments, call.status, call.result, call.cut_by) for call in episode.calls
    ]
    changes = [(change.verb, change.reference, change.after) for change in episode.changes]
    said = [episode.ending, episode.claim, list(episode.answer), episode.note]
    return digest([said, calls, changes])


def path_of(run: ReadRun) -> Path:
    """The folder of a run."""
    return run.folder.path
