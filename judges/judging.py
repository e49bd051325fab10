"""Judging a run: which votes are missing, the threads that ask for them, and the verdicts that they come to.

What is stored is the votes, as they come. The verdicts follow from them alone, and are written at the end; whoever is
killed before finds the votes there, and the next judging, which asks only for what is missing, writes the verdicts.
A vote that says nothing (see `vote`) is asked again by the next judging, up to which it stays and is counted.

What is left out, and is asked for when judging again: votes in flight at an interrupt, those beyond the budget, and
those of a judge whose provider refuses its key or fails time after time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.interrupts import ctrl_c_sets
from harness.limits import Budget
from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Episode
from harness.values import digest
from harness.verdict import Verdict
from judges.bench import Bench, Missing, side_by_side
from judges.judge import Case, Judge
from judges.subject import Subject
from judges.tally import LENS, nothing_to_judge, too_long, verdict_of
from judges.vote import JudgeSetting, Vote
from judges.votefile import VoteFile, VoteIndex

Instruction = Callable[[Task, Episode], str]
"""What the agent was told: the task's instruction, or that of the variant."""


Key = tuple[str, str]
"""An episode, and a judge's configuration."""


class JudgingError(ValueError):
    """Judging that cannot be done as asked; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which episodes are judged: of these agents and conditions (all where none is named), at most `limit`.

    A limit takes one task after the other, in an order drawn from their names: the same for every judge, and those of a
    lower limit among those of a higher.
    """

    agents: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Told after votes are stored: how many of how many, what was spent so far, and what was last."""

    done: int
    of: int
    spent_usd: float
    vote: Vote | None = None


@dataclass(slots=True)
class Report:
    """What one judging did. `asked` counts votes by configuration; `left` those that are still missing.

    `verdicts` are those of all chosen episodes that have their votes; of them, `written` are new or differ from before.
    """

    asked: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    verdicts: list[Verdict] = field(default_factory=list)
    written: int = 0
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)

    def note(self, *problems: str) -> None:
        """Keep these sentences, each once."""
        self.problems += [problem for problem in problems if problem not in self.problems]


@dataclass(frozen=True, slots=True)
class Row:
    """One judge and one episode: whether it is asked at all, and which of its votes are missing or came to nothing.

    `seen` is the digest of what there is to see, None where nobody is asked: `why` says why. `characters` is how much
    is shown, and `looks` whether the rest is looked up.
    """

    episode: str
    config: str
    seen: str | None
    why: Literal["silent", "too_long"] | None
    characters: int
    looks: bool
    missing: tuple[int, ...]


class Judging:
    """The judging of a run that is open to be written on.

    Made by it is a survey (`rows`): every chosen episode is looked at once. `key` makes the markers of the fences.
    Raises `JudgingError` where there is nothing to judge by, or two judges have one setting.
    """

    def __init__(
        self,
        folder: RunFolder,
        judges: Sequence[Judge],
        *,
        key: bytes,
        wanted: Wanted | None = None,
        instruction: Instruction = lambda task, episode: task.instruction,
        warn: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        configs = [judge.setting.config for judge in judges]
        if not judges or len(set(configs)) < len(configs):
            raise JudgingError("a judge with the same settings is named twice" if judges else "no judge is named")
        self.folder, self.judges, self.votes = folder, tuple(judges), VoteFile(folder.path, warn)
        self._key, self._instruction = key, instruction
        self._tasks = {task.id: task for task in folder.tasks()}
        sound = folder.sound()
        self.order = list(sound)
        able = [episode for episode, is_sound in sound.items() if is_sound]
        self.unfinished = len(sound) - len(able)
        self.chosen = chosen_of(folder, able, wanted or Wanted())
        self.rows = list(self._survey())

    def missing(self) -> Iterator[list[Missing]]:
        """For each episode that lacks votes: those of all judges, by number."""
        of_episode: dict[str, dict[str, Row]] = {}
        for row in self.rows:
            if row.missing:
                of_episode.setdefault(row.episode, {})[row.config] = row
        index = self.votes.index()
        for episode in self.folder.episodes_of(of_episode):
            yield list(self._missing_of(self._subject(episode), of_episode[episode.id], index))

    def judge(
        self,
        *,
        jobs: int = 8,
        budget: Budget | None = None,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Report:
        """Ask for what is missing, with so many calls at once, and conclude.

        Ctrl-C ends it cleanly: `interrupted` is set, and what came home is kept; a second one leaves at once.
        Raises `VoteFileError` and `RunFolderError` where the folder cannot be written; what is stored stays. Raises
        `JudgingError` where money is limited and it is not known what a judge costs.
        """
        if jobs < 1:
            raise JudgingError(f"jobs is {jobs!r}; it must be 1 or more")
        budget = budget or Budget()
        self._refuse_unknown_prices(budget)
        of = sum(len(row.missing) for row in self.rows)
        report = Report()
        self.votes.mend()
        self.votes.store_judges([judge.setting for judge in self.judges])
        ending = threading.Event()
        came = _Coming(self.rows, {judge.setting.config: judge.setting for judge in self.judges})
        bench = Bench(self.judges, side_by_side(self.missing(), jobs), budget, ending)
        progress(Progress(0, of, 0.0))
        try:
            with ctrl_c_sets(ending):
                for votes in bench.ask(jobs):
                    self.votes.store(votes)
                    came.take(votes)
                    report.asked.update(vote.config for vote in votes)
                    progress(Progress(report.asked.total(), of, budget.spent, votes[-1]))
            if ending.is_set():
                report.interrupted = True
                report.note("interrupted: the calls in flight are not kept")
        finally:
            ending.set()
        report.note(*bench.problems())
        return self.conclude(report, came.verdicts)

    def conclude(self, report: Report | None = None, come_to: Mapping[Key, Verdict] | None = None) -> Report:
        """Write the verdicts that the votes come to, where they are not there yet, and put all into order.

        `come_to` has those that need not be found out from the stored votes any more, by episode and configuration.
        """
        report = report or Report()
        there = {
            (verdict.episode, verdict.config): verdict for verdict in self.folder.verdicts() if verdict.lens == LENS
        }
        verdicts = list(self._verdicts(report, come_to or {}))
        new = [verdict for verdict in verdicts if there.get((verdict.episode, verdict.config)) != verdict]
        self.folder.store_verdicts(new)
        self.folder.arrange(self.order)
        self.votes.arrange(self.order)
        report.verdicts = verdicts
        report.written = len(new)
        return report

    def _survey(self) -> Iterator[Row]:
        index = self.votes.index()
        for episode in self.folder.episodes_of(self.chosen):
            if episode.task not in self._tasks:
                continue
            subject = self._subject(episode)
            for judge in self.judges:
                config = judge.setting.config
                if _is_silent(judge, subject):
                    yield Row(episode.id, config, None, "silent", 0, False, ())
                elif (view := judge.view(subject)) is None:
                    yield Row(episode.id, config, None, "too_long", 0, False, ())
                else:
                    seen = view.seen(subject, trace=judge.rubric.trace)
                    stored = {vote.number for vote in index.of(episode.id, config) if _stands(vote, seen)}
                    missing = tuple(number for number in range(1, judge.votes + 1) if number not in stored)
                    length = sum(map(len, view.extract.lines))
                    yield Row(episode.id, config, seen, None, length, view.looks, missing)

    def _missing_of(self, subject: Subject, rows: Mapping[str, Row], index: VoteIndex) -> Iterator[Missing]:
        cases: dict[object, Case | None] = {}
        for judge in self.judges:
            row = rows.get(judge.setting.config)
            if row is None:
                continue
            view = (judge.rubric, judge.characters, judge.long)
            if view not in cases:
                cases[view] = judge.case(subject, self._key)
            case = cases[view]
            assert case is not None, "the survey has found that there is something to show"
            stored = {vote.number: vote for vote in index.of(row.episode, row.config) if vote.seen == row.seen}
            for number in row.missing:
                yield Missing(judge, case, number, stored.get(number))

    def _verdicts(self, report: Report, come_to: Mapping[Key, Verdict]) -> Iterator[Verdict]:
        index = self.votes.index()
        settings = {judge.setting.config: judge.setting for judge in self.judges}
        places = {config: place for place, config in enumerate(settings)}
        for row in sorted(self.rows, key=lambda row: places[row.config]):
            setting = settings[row.config]
            if row.why == "silent":
                yield nothing_to_judge(setting, row.episode)
            elif row.why == "too_long":
                yield too_long(setting, row.episode)
            elif (verdict := come_to.get((row.episode, row.config))) is not None:
                report.left[row.config] += 0
                yield verdict
            else:
                votes = [vote for vote in index.of(row.episode, row.config) if vote.seen == row.seen]
                report.left[row.config] += setting.votes - len(votes)
                if len(votes) == setting.votes:
                    yield verdict_of(setting, votes)

    def _subject(self, episode: Episode) -> Subject:
        task = self._tasks[episode.task]
        return Subject.of(task, episode, self._instruction(task, episode))

    def _refuse_unknown_prices(self, budget: Budget) -> None:
        for judge in self.judges:
            if budget.usd is not None and judge.model.price is None:
                raise JudgingError(
                    f"nobody knows what {judge.name} costs, so a budget of {budget.usd} USD cannot be kept; leave"
                    " --budget out, or name a file with its price by --prices"
                )


class _Coming:
    """The verdicts of episodes all of whose votes are asked now, as the last of them comes home."""

    def __init__(self, rows: Sequence[Row], settings: Mapping[str, JudgeSetting]) -> None:
        self.verdicts: dict[Key, Verdict] = {}
        self._settings = settings
        self._votes: dict[Key, list[Vote]] = {
            (row.episode, row.config): [] for row in rows if len(row.missing) == settings[row.config].votes
        }

    def take(self, votes: Sequence[Vote]) -> None:
        for vote in votes:
            key, setting = (vote.episode, vote.config), self._settings[vote.config]
            if key in self._votes:
                self._votes[key].append(vote)
                if len(self._votes[key]) == setting.votes:
                    self.verdicts[key] = verdict_of(setting, self._votes.pop(key))


def _stands(vote: Vote, seen: str) -> bool:
    """Whether a stored vote says something, and about just what there is to see now."""
    return vote.seen == seen and vote.fault is None


def _is_silent(judge: Judge, subject: Subject) -> bool:
    """Whether there is nothing for this judge to judge: nobody is asked about nothing."""
    return subject.says_nothing if judge.rubric.name == "predicate" else subject.claims_nothing


def chosen_of(folder: RunFolder, scored: Sequence[str], wanted: Wanted) -> set[str]:
    """Which of these episodes are wanted."""
    if wanted == Wanted():
        return set(scored)
    facts = [
        (episode.id, episode.task)
        for episode in folder.episodes_of(set(scored))
        if (not wanted.agents or episode.agent in wanted.agents)
        and (not wanted.conditions or episode.condition in wanted.conditions)
    ]
    if wanted.limit is not None:
        facts = sorted(facts, key=lambda fact: digest(fact[1].encode()))[: wanted.limit]
    return {episode for episode, _ in facts}
