"""The threads that ask for votes, in the order that spares a provider's cache, until all are home or the end is called.

Votes are asked for in blocks of episodes, the first vote of each before the second of any, the judges side by side: so
the calls of one episode are a little apart, and a provider's prompt cache can serve all but the first.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.counted import counted
from harness.limits import Budget
from harness.models.courier import Courier, Lane
from harness.models.exchange import CARRY, GATE
from judges.judge import Case, Judge
from judges.vote import Vote

PROVIDER_PATIENCE = 10
"""After so many provider errors of one judge in a row, it is asked no more."""

GRACE_SECONDS = 10.0
"""How long an interrupted judging waits for the calls in flight."""

LINGER_SECONDS = 0.03
"""How long others are waited for once a vote is home: many are written with one sync, and threads are woken seldom."""

SPARE = 2
"""For so many calls at once there is a thread more, which gets a vote ready while they are in flight."""

MANY = 16
"""From so many calls at once on, a second interpreter sends them: with fewer, this one has time enough."""

BATCH = 500
"""Votes that are handed over at once, at most; as many may wait to be taken."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A vote to be asked for; `before` is the same vote where it came to nothing."""

    judge: Judge
    case: Case
    number: int
    before: Vote | None


def side_by_side(rows: Iterable[list[Missing]], jobs: int) -> Iterator[Missing]:
    """The votes of so many episodes at a time: all first votes, then all second ones."""
    block: list[list[Missing]] = []
    for row in rows:
        if row:
            block.append(row)
        if len(block) == jobs:
            yield from sorted((each for row in block for each in row), key=lambda each: each.number)
            block = []
    yield from sorted((each for row in block for each in row), key=lambda each: each.number)


class Bench:
    """The threads that ask. Once `ending` is set, nothing more is asked."""

    def __init__(
        self, judges: Sequence[Judge], todo: Iterator[Missing], budget: Budget, ending: threading.Event
    ) -> None:  # fmt: skip
        self._judges, self._todo, self._budget, self._ending = judges, todo, budget, ending
        self._votes: queue.Queue[Vote | None] = queue.Queue(maxsize=BATCH)
        self._lock = threading.Lock()
        self._failures: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}
        self._not_asked: Counter[str] = Counter()
        self._beyond_budget = 0
        self._faults: list[BaseException] = []

    def ask(self, jobs: int) -> Iterator[list[Vote]]:
        """The votes as they come home, in batches: all that are there whenever the caller asks.

        It is over when all are home, or `GRACE_SECONDS` after `ending` was set. A fault of ours in a thread is raised
        when the others are home.
        """
        gate = threading.BoundedSemaphore(jobs)
        threads = jobs + jobs // SPARE
        with self._courier(jobs, threads) as lanes:
            for number, lane in enumerate(lanes, 1):
                threading.Thread(target=self._work, args=(gate, lane), name=f"judge {number}", daemon=True).start()
            yield from self._batches(threads)
        if self._faults:
            raise self._faults[0]

    @contextlib.contextmanager
    def _courier(self, jobs: int, threads: int) -> Iterator[Sequence[Lane | None]]:
        """A lane for each thread, where there are many calls at once."""
        if jobs < MANY:
            yield [None] * threads
        else:
            with contextlib.closing(Courier((judge.model for judge in self._judges), threads)) as courier:
                yield courier.lanes

    def _batches(self, working: int) -> Iterator[list[Vote]]:
        until = float("inf")
        while working and time.monotonic() < until:
            batch = self._batch()
            working -= batch.count(None)
            if self._ending.is_set():
                until = min(until, time.monotonic() + GRACE_SECONDS)
            if votes := [vote for vote in batch if vote is not None]:
                yield votes

    def problems(self) -> list[str]:
        """What was not asked, and why."""
        said = []
        for config, reason in self._given_up.items():
            left = counted(self._not_asked[config], "more of its votes was", "more of its votes were")
            said.append(f"{reason}; {left} not asked" if self._not_asked[config] else reason)
        if self._beyond_budget:
            left = counted(self._beyond_budget, "vote was", "votes were")
            said.append(f"the budget of {self._budget.usd} USD is used up; {left} not asked")
        return said

    def _batch(self) -> list[Vote | None]:
        batch: list[Vote | None] = []
        with contextlib.suppress(queue.Empty):
            batch.append(self._votes.get(timeout=0.1))
            time.sleep(LINGER_SECONDS)
            while len(batch) < BATCH:
                batch.append(self._votes.get_nowait())
        return batch

    def _work(self, gate: threading.BoundedSemaphore, lane: Lane | None) -> None:
        GATE.set(gate)
        if lane is not None:
            CARRY.set(lane.carry)
        try:
            while (missing := self._next()) is not None:
                vote = missing.judge.vote(missing.case, missing.number, before=missing.before, budget=self._budget)
                self._heed(missing.judge, vote)
                self._bring(vote)
        except BaseException as exception:
            self._faults.append(exception)
            self._ending.set()
        finally:
            self._bring(None)

    def _bring(self, vote: Vote | None) -> None:
        while True:
            try:
                return self._votes.put(vote, timeout=0.5)
            except queue.Full:
                if self._ending.is_set():
                    return None

    def _next(self) -> Missing | None:
        with self._lock:
            while not self._ending.is_set():
                missing = next(self._todo, None)
                if missing is None:
                    return None
                config = missing.judge.setting.config
                if config in self._given_up:
                    self._not_asked[config] += 1
                elif self._budget.is_used_up and not missing.judge.is_rule:
                    self._beyond_budget += 1
                else:
                    return missing
            return None

    def _heed(self, judge: Judge, vote: Vote) -> None:
        """Give up on a judge whose key is refused, or whose provider fails time after time."""
        config = judge.setting.config
        with self._lock:
            self._failures[config] = self._failures[config] + 1 if vote.fault == "provider_error" else 0
            if vote.fault == "auth":
                error = vote.error or "its key was refused"
                self._given_up.setdefault(config, error if error.startswith(judge.name) else f"{judge.name}: {error}")
            elif self._failures[config] >= PROVIDER_PATIENCE:
                reason = f"{judge.name}: {PROVIDER_PATIENCE} provider errors in a row, the last: {vote.error}"
                self._given_up.setdefault(config, reason)
