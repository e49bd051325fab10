"""Runs read once: each episode in a few hundred bytes, with what every rater said about it.

Of several runs:
- An episode that stands in more than one with the same trace (a run copied and judged on another day, a baseline that
  was played again) is one episode, with the verdicts of all; of two verdicts of one rater the later run's counts.
- An episode of the same id with another trace (a model answered otherwise) is another episode.

An episode whose ending is unscored, or of which a lens says `SELF_CHECK_FAILED` or `FOREIGN_CHANGE`, is unscored for
every rater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import UNSCORED_ENDINGS, Episode
from harness.values import digest
from harness.verdict import Outcome, Verdict
from readback.summary.ledger import STANDING_ALONE, Entry, Ledger, read_ledger

if TYPE_CHECKING:
    from judges.vote import JudgeSetting

_VOTE = "vote "
"""How the clauses of a judge's verdict that are votes are named."""


class Stored(Protocol):
    """A run that can be read more than once; `harness.runfolder.RunFolder` is one."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What `run.json` holds."""
        ...

    def tasks(self) -> Iterable[Task]:
        """The tasks."""
        ...

    def episodes(self) -> Iterable[Episode]:
        """The episodes, one of each id."""
        ...

    def verdicts(self) -> Iterable[Verdict]:
        """The verdicts."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A run by its name in documents (its folder), with its judges by configuration."""

    stored: Stored
    run: str
    judges: Mapping[str, JudgeSetting] = field(default_factory=dict)

    @property
    def suite(self) -> str:
        """The suite that was played."""
        return str(self.stored.about.get("suite", ""))

    @property
    def created(self) -> str | None:
        """When it was begun, as its description says."""
        times = self.stored.about.get("times")
        created = times.get("created") if isinstance(times, Mapping) else None
        return str(created) if created else None

    def episodes_of(self, ids: Collection[str]) -> Iterator[Episode]:
        """The episodes of these ids."""
        if isinstance(self.stored, RunFolder):
            return self.stored.episodes_of(ids)
        return (episode for episode in self.stored.episodes() if episode.id in ids)


def source_of(folder: RunFolder) -> Source:
    """A run folder as a source, with the judges that it describes. Raises `VoteFileError`."""
    from judges.votefile import VoteFile

    return Source(folder, str(folder.path), VoteFile(folder.path).judges())


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
    """A run as it was read: its ledger, its rated episodes, and the digests of their traces where they were made."""

    source: Source
    ledger: Ledger
    rated: tuple[Rated, ...]
    traces: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """All runs, all their episodes, and how many stood in several."""

    runs: tuple[ReadRun, ...]
    rated: tuple[Rated, ...]
    same: int


def read_runs(sources: Sequence[Source]) -> Reading:
    """Read the tasks, episodes and verdicts of each run. Raises `LedgerError` and `RunFolderError`."""
    runs = tuple(_read(source, with_traces=len(sources) > 1) for source in sources)
    found: dict[tuple[str, str], Rated] = {}
    same = 0
    for run in runs:
        for one in run.rated:
            key = (one.entry.id, run.traces.get(one.entry.id, ""))
            if key in found:
                same += 1
                one = _together(found[key], one)
            found[key] = one
    return Reading(runs, tuple(found.values()), same)


def _together(before: Rated, now: Rated) -> Rated:
    return replace(
        before,
        runs=before.runs + now.runs,
        said={**before.said, **now.said},
        correct=before.correct if now.correct is None else now.correct,
    )


def _read(source: Source, *, with_traces: bool) -> ReadRun:
    heard: dict[str, _Heard] = {}
    traces: dict[str, str] = {}
    stored = source.stored
    episodes = _with_traces(stored.episodes(), traces) if with_traces else stored.episodes()
    ledger = read_ledger(stored.tasks(), episodes, _kept(stored.verdicts(), heard))
    rated = tuple(_rated(source, entry, heard.get(entry.id, _Heard())) for entry in ledger.entries.values())
    return ReadRun(source, ledger, rated, traces)


def _rated(source: Source, entry: Entry, heard: _Heard) -> Rated:
    lost = entry.ending in UNSCORED_ENDINGS or heard.stands_alone
    answer = entry.of("answer")
    correct = None if lost or answer is None else {"pass": True, "fail": False}.get(answer.outcome)
    return Rated(source.suite, (source.run,), entry, _unscored(heard.said) if lost else heard.said, correct)


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


def _with_traces(episodes: Iterable[Episode], traces: dict[str, str]) -> Iterator[Episode]:
    for episode in episodes:
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
