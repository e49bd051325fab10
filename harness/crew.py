"""The threads that play a plan's episodes, each in a world of its own, and judge them right afterwards."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.agent import Agent, Briefing, Played
from harness.clock import Clock
from harness.counted import counted
from harness.faults import traceback_of
from harness.limits import Budget
from harness.plan import Plan, Planned
from harness.suite import Suite, World, WorldEvidence, episode_of, instruction_of
from harness.task import Task
from harness.tool import Tool, ToolResult
from harness.trace import Episode
from harness.verdict import Verdict

PROVIDER_PATIENCE = 10
"""After so many provider errors of one agent in a row, no further episode of it is started."""

GRACE_SECONDS = 10.0
"""How long an interrupted run waits for the episodes in flight, so that they can close their worlds."""

BATCH = 200
"""Results that are handed over at once, at most; as many may wait to be taken."""

Judge = Callable[[Task, Episode], Sequence[Verdict]]


@dataclass(frozen=True, slots=True)
class Result:
    """An episode as it came home, with its verdicts, and what the user should know of it."""

    episode: Episode
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...]


class BrokenOffError(Exception):
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
            raise BrokenOffError
        return self.tool.run(arguments)


class Crew:
    """The threads that play. Episodes are started in the plan's order and come back as they end.

    Once `ending` is set, none is started, no tool is called any more, and what is broken off by that is not brought.
    """

    def __init__(
        self, plan: Plan, todo: Sequence[Planned], budget: Budget, now: Clock, ending: threading.Event
    ) -> None:
        self._budget = budget
        self._plan = plan
        self._now = now
        self._todo = iter(todo)
        self._results: queue.Queue[Result | None] = queue.Queue(maxsize=BATCH)
        self._ending = ending
        self._lock = threading.Lock()
        self._failures: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}
        self._not_played: Counter[str] = Counter()
        self._beyond_budget = 0
        self._faults: list[BaseException] = []

    def play(self, jobs: int) -> Iterator[list[Result]]:
        """What was played, in batches: all that is there whenever the caller asks. Where nothing is, an empty one.

        It is over when all are home, or `GRACE_SECONDS` after `ending` was set. What a worker could not make an
        episode of (an interpreter that is ending, a fault of this module) is raised when the others are home.
        """
        for number in range(jobs):
            threading.Thread(target=self._work, name=f"job {number + 1}", daemon=True).start()
        working, until = jobs, float("inf")
        while working and time.monotonic() < until:
            batch = self._batch()
            working -= batch.count(None)
            if self._ending.is_set():
                until = min(until, time.monotonic() + GRACE_SECONDS)
            yield [result for result in batch if result is not None]
        if self._faults:
            raise self._faults[0]

    def _batch(self) -> list[Result | None]:
        """All that is there, after waiting a while for the first; None is a worker come home."""
        batch: list[Result | None] = []
        with contextlib.suppress(queue.Empty):
            batch.append(self._results.get(timeout=0.1))
            while len(batch) < BATCH:
                batch.append(self._results.get_nowait())
        return batch

    def problems(self) -> list[str]:
        """What was not started, and why."""
        said = []
        for name, reason in self._given_up.items():
            left = counted(self._not_played[name], "more of its episodes was", "more of its episodes were")
            said.append(f"{reason}; {left} not played" if self._not_played[name] else reason)
        if self._beyond_budget:
            left = counted(self._beyond_budget, "episode was", "episodes were")
            said.append(f"the budget of {self._budget.usd} USD is used up; {left} not played")
        return said

    def _work(self) -> None:
        try:
            while (planned := self._next()) is not None:
                result = _play_and_judge(self._plan, planned, self._ending, self._now)
                if self._ending.is_set() and result.episode.ending == "harness_error":
                    break  # broken off by the end of the run: not kept
                self._heed(result.episode)
                self._bring(result)
        except BaseException as exception:
            self._faults.append(exception)
        finally:
            self._bring(None)

    def _bring(self, result: Result | None) -> None:
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
                elif self._budget.is_used_up and _may_cost(planned):
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
                error = episode.error or "its key was refused"
                self._given_up.setdefault(name, error if error.startswith(name) else f"{name}: {error}")
            elif self._failures[name] >= PROVIDER_PATIENCE:
                reason = f"{name}: {PROVIDER_PATIENCE} provider errors in a row, the last: {episode.error}"
                self._given_up.setdefault(name, reason)


def _may_cost(planned: Planned) -> bool:
    return not isinstance(planned.agent, str) and planned.agent.kind == "model"


def _play_and_judge(plan: Plan, planned: Planned, ending: threading.Event, now: Clock) -> Result:
    started = now()
    played, evidence = _play(plan, planned, ending)
    try:
        episode = _episode(planned, played, evidence, started, now())
        # Judged is what will be stored: judging the folder again later then says the same.
        as_stored = Episode.read(episode.line())
    except Exception as exception:  # an agent of others gave what no file can hold
        failed = Played("harness_error", error=traceback_of(exception))
        episode = as_stored = _episode(planned, failed, WorldEvidence(), started, now())
    verdicts, problems = judged(plan.suite.judge, {planned.task.id: planned.task}, as_stored)
    return Result(episode, tuple(verdicts), tuple(problems))


def _episode(planned: Planned, played: Played, evidence: WorldEvidence, started: str, ended: str) -> Episode:
    return episode_of(
        planned.task,
        played,
        evidence,
        id=planned.id,
        agent=planned.agent_name,
        kind="baseline" if isinstance(planned.agent, str) else planned.agent.kind,
        condition=planned.condition,
        variant=planned.variant,
        repeat=planned.repeat,
        started=started,
        ended=ended,
    )


def _play(plan: Plan, planned: Planned, ending: threading.Event) -> tuple[Played, WorldEvidence]:
    """One episode in a world of its own. What goes wrong around the agent is our fault: `harness_error`."""
    played, evidence = Played("harness_error"), WorldEvidence()
    world: World | None = None
    try:
        world = plan.suite.world(planned.task, planned.variant)
        instruction = instruction_of(plan.suite, planned.task, planned.variant)
        briefing = Briefing(instruction, plan.conditions[planned.condition], planned.task.clock)
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


def judged(judge: Judge, tasks: Mapping[str, Task], episode: Episode) -> tuple[list[Verdict], list[str]]:
    """The verdicts about an episode, or why there are none. A judge that fails is no verdict."""
    task = tasks.get(episode.task)
    if task is None:
        return [], [f"an episode of task {episode.task!r} has no verdict: the task is not among those of the run"]
    try:
        return list(judge(task, episode)), []
    except Exception as exception:
        place = traceback.extract_tb(exception.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        said = " ".join(repr(exception).split())  # some have several lines, and this is one sentence
        return [], [f"task {episode.task!r}, agent {episode.agent!r}: the judge failed with {said} ({where})"]
