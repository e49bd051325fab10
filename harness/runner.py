"""Runs a plan into a run folder: jobs, progress, budget, interruption, and judging each episode right after it.

Workers play and judge; the caller's thread alone writes, many episodes with one sync where they come fast. What is
played does not depend on the number of jobs, and at the end the files are put into the plan's order.

What is left out and may be gone on with by running the same plan again: episodes in flight at an interrupt, those
beyond the budget, and those of an agent whose provider refuses its key or fails time after time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.clock import Clock, wall_clock
from harness.crew import BATCH, Crew, Judge, judged
from harness.interrupts import ctrl_c_sets
from harness.limits import Budget
from harness.loop import ModelAgent
from harness.plan import Plan, PlanError
from harness.runfolder import RunFolder, RunFolderError
from harness.trace import Episode
from harness.verdict import Verdict

MAX_PROBLEMS = 50
"""Sentences that a report keeps."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Told after each stored episode, and some times a second meanwhile: how many of the planned are done.

    `episode` is what was done last; None where nothing was done since the time before.
    """

    done: int
    planned: int
    spent_usd: float
    episode: Episode | None = None
    verdicts: tuple[Verdict, ...] = ()


@dataclass(slots=True)
class Report:
    """What one invocation did. `problems` are sentences for the user; `left` counts planned episodes not stored.

    `unscored` counts episodes that nobody can judge: by how they ended, or because their self-check failed. `unjudged`
    counts those on which a judge failed when they were to be judged again.
    """

    planned: int
    stored_before: int = 0
    played: int = 0
    judged_again: int = 0
    unjudged: int = 0
    left: int = 0
    unscored: int = 0
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)

    def note(self, *problems: str) -> None:
        """Keep these sentences, each once, and no more than `MAX_PROBLEMS`."""
        for problem in problems:
            if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
                self.problems.append(problem)

    @property
    def is_complete(self) -> bool:
        """Whether every planned episode is stored and can be judged."""
        return self.left == 0 and self.unscored == 0


def execute(
    plan: Plan,
    folder: RunFolder,
    *,
    jobs: int = 1,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    now: Clock = wall_clock,
) -> Report:
    """Play what is missing in the folder, and what nobody can judge, and judge it; return when all is on disk.

    Episodes without verdicts (their judge had failed) are judged again. Ctrl-C ends it cleanly: `interrupted` is set,
    and nothing is half done; a second one leaves at once.
    Raises `RunFolderError` where the folder cannot be written; what is stored stays. Raises `PlanError` where money is
    limited and it is not known what a model costs.
    """
    if jobs < 1:
        raise PlanError(f"jobs is {jobs!r}; it must be 1 or more")
    budget = budget or Budget()
    _refuse_unknown_prices(plan, budget)
    sound = folder.sound()
    ids = [planned.id for planned in plan.episodes]
    todo = [planned for planned in plan.episodes if not sound.get(planned.id)]
    report = Report(len(ids), stored_before=len(ids) - len(todo))
    report.note(*plan.changed)
    _judge_the_unjudged(plan, folder, {planned.id for planned in todo}, report)
    ending = threading.Event()
    crew = Crew(plan, todo, budget, now, ending)
    progress(Progress(report.stored_before, report.planned, 0.0))
    try:
        with ctrl_c_sets(ending):
            for results in crew.play(jobs):
                if not results:
                    progress(Progress(report.stored_before + report.played, report.planned, budget.spent))
                    continue
                folder.store([(result.episode, result.verdicts) for result in results])
                for result in results:
                    report.played += 1
                    sound[result.episode.id] = result.episode.sound
                    report.note(*result.problems)
                    done = report.stored_before + report.played
                    progress(Progress(done, report.planned, budget.spent, result.episode, result.verdicts))
        if ending.is_set():
            report.interrupted = True
            report.note("interrupted: the episodes in flight are not kept")
    finally:
        ending.set()
    report.note(*crew.problems())
    report.left = sum(key not in sound for key in ids)
    report.unscored = sum(not sound.get(key, True) for key in ids)
    if report.left == 0:
        try:
            folder.arrange(ids)
        except RunFolderError as problem:
            report.note(f"the episodes are all stored, but not put in order: {problem}")
    return report


def score(folder: RunFolder, judge: Judge, *, progress: Callable[[int], None] = lambda judged: None) -> Report:
    """Judge every stored episode again, from the folder alone. New verdicts replace those of the same configuration."""
    tasks = {task.id: task for task in folder.tasks()}
    order = list(folder.endings())
    report = Report(len(order), stored_before=len(order))
    waiting: list[Verdict] = []
    for episode in folder.episodes():
        verdicts, problems = judged(judge, tasks, episode)
        waiting.extend(verdicts)
        report.note(*problems)
        report.judged_again += not problems
        report.unjudged += bool(problems)
        report.unscored += not episode.sound
        if len(waiting) >= BATCH:
            folder.store_verdicts(waiting)
            waiting.clear()
            progress(report.judged_again + report.unjudged)
    folder.store_verdicts(waiting)
    folder.arrange(order)
    progress(report.judged_again + report.unjudged)
    return report


def _refuse_unknown_prices(plan: Plan, budget: Budget) -> None:
    for agent in plan.agents:
        if not isinstance(agent, ModelAgent) or agent.model.price is not None:
            continue
        if budget.usd is not None or agent.limits.cost_usd is not None:
            raise PlanError(
                f"nobody knows what {agent.name} costs, so no budget can be kept; add its price to a file of prices, or"
                " leave the budget out"
            )


def _judge_the_unjudged(plan: Plan, folder: RunFolder, to_be_played: set[str], report: Report) -> None:
    tasks = {task.id: task for task in plan.tasks}
    settled = folder.judged() | to_be_played
    for episode in folder.episodes_of({key for key in folder.endings() if key not in settled}):
        verdicts, problems = judged(plan.suite.judge, tasks, episode)
        folder.store_verdicts(verdicts)
        report.judged_again += 1
        report.note(*problems)
