"""A suite that is plugged in by a line in the registry, and is unsound on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from harness.suite import Suite
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from readback.documents import Unsound, Validation
from readback.registry import Choices
from tests.harness import tally


class ToySuite(tally.TallySuite):
    """A tally by another name."""

    name = "toy"


class ToySource:
    """See `readback.registry.SuiteSource`."""

    name = "toy"
    about = "counting"
    baselines: Mapping[str, str] = {"oracle": "counts", "idle": "does not"}
    beside = ("idle",)
    conditions = ("default", "grounded")

    @contextmanager
    def open(self, choices: Choices) -> Iterator[Suite]:
        choices.say("counting on")
        yield ToySuite(choices.limit or 3)

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        return tally.judge(task, episode)

    def undrawn(self, suite: Suite) -> Mapping[str, str]:
        return {"lower": "a tally only rises"}

    def validate(self, suite: Suite, progress: Callable[[int, int], None]) -> Validation:
        progress(3, 3)
        problem = Unsound(task="tally/raise/0002", check="idle", expected="failure", found="it\x1b[31m succeeds")
        return Validation(
            suite="toy", suite_digest=suite.digest, sound=False, tasks=3, episodes=6, successes={"idle": 1}, traps={},
            undrawn={}, problems=(problem,),
        )  # fmt: skip


SOURCE = ToySource()
