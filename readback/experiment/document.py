"""The documents of an experiment: what would be played, and what came of it."""

from __future__ import annotations

from typing import Literal

from harness.values import Value
from readback.comparison.document import Comparison
from readback.experiment.primary import PrimaryResult
from readback.summary.document import Summary


class PlannedRun(Value):
    """One run as it would be played."""

    name: str
    suite: str
    suite_digest: str
    tasks: int
    agents: tuple[str, ...]
    conditions: tuple[str, ...]
    variants: int
    repeats: int
    episodes: int
    model_calls: int
    model_calls_at_most: int
    cost_usd: float | None
    why: str | None


class PlannedVotes(Value):
    """One judge: at most so many votes, if every episode of its runs is judged."""

    judge: str
    runs: tuple[str, ...]
    votes_at_most: int


class ExperimentPlan(Value):
    """`readback experiment FILE --dry-run --json`."""

    format: Literal["readback.experiment-plan/1"] = "readback.experiment-plan/1"
    name: str
    file: str
    digest: str
    primary: str
    runs: tuple[PlannedRun, ...]
    judges: tuple[PlannedVotes, ...]
    episodes: int
    cost_usd: float | None
    why: str | None


class ExperimentResult(Value):
    """`readback experiment FILE --json`, and `result.json` of its folder.

    `primary` is null where it has no result, and `primary_why` says why; it is only final where `complete`.
    """

    format: Literal["readback.experiment-result/1"] = "readback.experiment-result/1"
    name: str
    folder: str
    file: str
    digest: str
    complete: bool
    primary: PrimaryResult | None
    primary_why: str | None
    summaries: tuple[Summary, ...]
    comparison: Comparison | None
    report: str
    problems: tuple[str, ...]
