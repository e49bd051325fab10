"""Runs a plan into a run folder: jobs, progress, budget, interruption, and judging each episode right after it.

Workers play and judge; the caller's thread alone writes, many episodes with one sync where they come fast. What is
played does not depend on the number of jobs, and at the end the files are put into the plan's order.

What is left out and may be gone on with by running the same plan again: episodes in flight at an interrupt, those
beyond the budget, and those of an agent whose provider refuses its key or fails time after time.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.agent import Agent, Briefing, Played
from harness.clock import Clock, wall_clock
from harness.faults import traceback_of
from harness.limits import Budget
from harness.plan import Plan, Planned
from harness.runfolder import RunFolder, RunFolderError
from harness.suite import Suite, World, WorldEvidence
from harness.task import Task
from harness.tool import Tool, ToolResult
from harness.trace import UNSCORED_ENDINGS, Episode
from harness.verdict import Verdict

PROVIDER_PATIENCE = 10
"""After so many provider errors of one agent in a row, no further episode of it is started."""

GRACE_SECONDS = 10.0
"""How long an interrupted run waits for the episodes in flight, so that they can close their worlds."""

MAX_PROBLEMS = 50
"""Sentences that a report keeps."""

_BATCH = 200
_RETRIED = {None, *UNSCORED_ENDINGS}

Judge = Callable[[Task, Episode], Sequence[Verdict]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Told after each stored episode: how many of the planned are done, and what was done last (None at the start)."""

    done: int
    planned: int
    spent_usd: float
    episode: Episode | None = None
    verdicts: tuple[Verdict, ...] = ()


@dataclass(slots=True)
class Report:
    """What one invocation did. `problems` are sentences for the user; `left` counts planned episodes not stored."""

    planned: int
    stored_before: int = 0
    played: int = 0
    judged_again: int = 0
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
        """Whether every planned episode is stored and ended in a way that can be scored."""
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
    """Play what is missing in the folder, and what ended unscored, and judge it; return when all is on disk.

    Episodes without verdicts (their judge had failed) are judged again. Ctrl-C ends it cleanly: `interrupted` is set.
    Raises `RunFolderError` where the folder cannot be written; what is stored stays.
    """
    if jobs < 1:
        raise ValueError(f"jobs is {jobs!r}; it must be 1 or more")
    endings = folder.endings()
    ids = [planned.id for planned in plan.episodes]
    todo = [planned for planned in plan.episodes if endings.get(planned.id) in _RETRIED]
    report = Report(len(ids), stored_before=len(ids) - len(todo))
    report.note(*plan.changed)
    _judge_the_unjudged(plan, folder, {planned.id for planned in todo}, report)
    crew = _Crew(plan, todo, budget or Budget(), now)

    def keep(results: Sequence[_Result]) -> None:
        folder.store([(result.episode, result.verdicts) for result in results])
        for result in results:
            report.played += 1
            endings[result.episode.id] = result.episode.ending
            report.note(*result.problems)
            done = report.stored_before + report.played
            progress(Progress(done, report.planned, crew.budget.spent, result.episode, result.verdicts))

    progress(Progress(report.stored_before, report.planned, 0.0))
    try:
        for results in crew.play(jobs):
            keep(results)
    except KeyboardInterrupt:
        report.interrupted = True
        for results in crew.come_home():
            keep(results)
        report.note("interrupted: the episodes in flight are not kept")
    finally:
        crew.stop()
    report.note(*crew.problems())
    report.left = sum(key not in endings for key in ids)
    report.unscored = sum(endings.get(key) in UNSCORED_ENDINGS for key in ids)
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
        verdicts, problems = _judged(judge, tasks, episode)
        waiting.extend(verdicts)
        report.note(*problems)
        report.judged_again += 1
        report.unscored += not episode.scored
        if len(waiting) >= _BATCH:
            folder.store_verdicts(waiting)
            waiting.clear()
            progress(report.judged_again)
    folder.store_verdicts(waiting)
    folder.arrange(order)
    progress(report.judged_again)
    return report


@dataclass(frozen=True, slots=True)
class _Result:
    episode: Episode
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...]


class _InterruptedError(Exception):
    """The run is ending; the tool was not called."""


@dataclass(frozen=True, slots=True)
class _Interruptible:
    """A tool that is not called any more once the run is ending, so that an episode in flight comes to its end."""

    tool: Tool
    ending: threading.Event

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def parameters(self) -> dict[str, Any]:
        return self.tool.parameters

    def run(self, arguments: dict[str, Any]) -> ToolResult:
        if self.ending.is_set():
            raise _InterruptedError
        return self.tool.run(arguments)


class _Crew:
    """The threads that play. Episodes are started in the plan's order and come back as they end."""

    def __init__(self, plan: Plan, todo: Sequence[Planned], budget: Budget, now: Clock) -> None:
        self.budget = budget
        self._plan = plan
        self._now = now
        self._todo = iter(todo)
        self._results: queue.Queue[_Result | None] = queue.Queue(maxsize=_BATCH)
        self._working = 0
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._failures: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}
        self._not_played: Counter[str] = Counter()
        self._beyond_budget = 0

    def play(self, jobs: int) -> Iterator[list[_Result]]:
        """What was played, in batches: all that is there whenever the caller asks. Ends when all are home."""
        self._working = jobs
        for number in range(jobs):
            threading.Thread(target=self._work, name=f"job {number + 1}", daemon=True).start()
        while self._working:
            yield self._batch(self._results.get())

    def come_home(self) -> Iterator[list[_Result]]:
        """Start nothing more; what still comes to its end within `GRACE_SECONDS`, in batches."""
        self._ending.set()
        until = time.monotonic() + GRACE_SECONDS
        while self._working and (left := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                yield self._batch(self._results.get(timeout=left))

    def stop(self) -> None:
        """Start nothing more. Threads still at work are daemons, and what they bring is not taken."""
        self._ending.set()

    def _batch(self, first: _Result | None) -> list[_Result]:
        batch = [first]
        while len(batch) < _BATCH and not self._results.empty():
            batch.append(self._results.get())
        self._working -= batch.count(None)
        return [result for result in batch if result is not None]

    def problems(self) -> list[str]:
        """What was not started, and why."""
        said = [
            f"{reason}; {self._not_played[name]} more of its episodes were not played"
            for name, reason in self._given_up.items()
        ]
        if self._beyond_budget:
            said.append(
                f"the budget of {self.budget.usd} USD is used up; {self._beyond_budget} episodes were not played"
            )
        return said

    def _work(self) -> None:
        while (planned := self._next()) is not None:
            result = _play_and_judge(self._plan, planned, self._ending, self._now)
            if self._ending.is_set() and result.episode.ending == "harness_error":
                break  # broken off by the end of the run: not kept
            self._heed(result.episode)
            self._bring(result)
        self._bring(None)

    def _bring(self, result: _Result | None) -> None:
        while True:
            try:
                return self._results.put(result, timeout=0.5)
            except queue.Full:
                if self._ending.is_set():
                    return None

    def _next(self) -> Planned | None:
        with self._lock:
            while not self._ending.is_set():
                planned = next(self._todo, None)
                if planned is None:
                    return None
                if planned.agent_name in self._given_up:
                    self._not_played[planned.agent_name] += 1
                elif self.budget.is_used_up and _may_cost(planned):
                    self._beyond_budget += 1
                else:
                    return planned
            return None

    def _heed(self, episode: Episode) -> None:
        """Give up on an agent whose key is refused, or whose provider fails time after time."""
        name = episode.agent
        with self._lock:
            self._failures[name] = self._failures[name] + 1 if episode.ending == "provider_error" else 0
            if episode.ending == "auth":
                self._given_up.setdefault(name, f"{name}: {episode.error}")
            elif self._failures[name] >= PROVIDER_PATIENCE:
                reason = f"{name}: {PROVIDER_PATIENCE} provider errors in a row, the last: {episode.error}"
                self._given_up.setdefault(name, reason)


def _may_cost(planned: Planned) -> bool:
    return not isinstance(planned.agent, str) and planned.agent.kind == "model"


def _play_and_judge(plan: Plan, planned: Planned, ending: threading.Event, now: Clock) -> _Result:
    started = now()
    played, evidence = _play(plan, planned, ending)
    episode = Episode(
        id=planned.id,
        task=planned.task.id,
        task_digest=planned.task.digest,
        agent=planned.agent_name,
        agent_kind="baseline" if isinstance(planned.agent, str) else planned.agent.kind,
        condition=planned.condition,
        variant=dict(planned.variant),
        repeat=planned.repeat,
        ending=played.ending,
        claim=played.claim,
        answer=played.answer,
        note=played.note,
        calls=played.calls,
        texts=played.texts,
        base=evidence.base,
        requests=evidence.requests,
        changes=evidence.changes,
        reads=evidence.reads,
        self_check=evidence.self_check,
        usage=played.usage,
        error=played.error,
        started=started,
        ended=now(),
    )
    verdicts, problems = _judged(plan.suite.judge, {planned.task.id: planned.task}, episode)
    return _Result(episode, tuple(verdicts), tuple(problems))


def _play(plan: Plan, planned: Planned, ending: threading.Event) -> tuple[Played, WorldEvidence]:
    """One episode in a world of its own. What goes wrong around the agent is our fault: `harness_error`."""
    played, evidence = Played("harness_error"), WorldEvidence()
    world: World | None = None
    try:
        world = plan.suite.world(planned.task, planned.variant)
        briefing = Briefing(planned.task.instruction, plan.conditions[planned.condition], planned.task.clock)
        tools = [_Interruptible(tool, ending) for tool in world.tools]
        played = _agent(plan.suite, planned).play(briefing, tools, repeat=planned.repeat)
        evidence = world.evidence()
    except Exception as exception:
        played = replace(played, ending="harness_error", error=traceback_of(exception))
    try:
        if world is not None:
            world.close()
    except Exception as exception:
        error = "\n".join(filter(None, (played.error, traceback_of(exception))))
        played = replace(played, ending="harness_error", error=error)
    return played, evidence


def _agent(suite: Suite, planned: Planned) -> Agent:
    return suite.baseline(planned.agent, planned.task) if isinstance(planned.agent, str) else planned.agent


def _judge_the_unjudged(plan: Plan, folder: RunFolder, to_be_played: set[str], report: Report) -> None:
    judged = folder.judged()
    tasks = {task.id: task for task in plan.tasks}
    for episode in folder.episodes_of({key for key in folder.endings() if key not in judged | to_be_played}):
        verdicts, problems = _judged(plan.suite.judge, tasks, episode)
        folder.store_verdicts(verdicts)
        report.judged_again += 1
        report.note(*problems)


def _judged(judge: Judge, tasks: Mapping[str, Task], episode: Episode) -> tuple[list[Verdict], list[str]]:
    """The verdicts about an episode, or why there are none. A judge that fails is no verdict."""
    task = tasks.get(episode.task)
    if task is None:
        return [], [f"an episode of task {episode.task!r} has no verdict: the task is not among those of the run"]
    try:
        return list(judge(task, episode)), []
    except Exception as exception:
        place = traceback.extract_tb(exception.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return [], [f"task {episode.task!r}, agent {episode.agent!r}: the judge failed with {exception!r} ({where})"]
