"""`--fail-under success=0.8`: what a run must reach, and what did not."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from readback.summary.document import Row, Summary

_OF_ROW = ("success", "twin", "read", "write", "withhold")
_LENSES = ("state", "answer", "message", "grounding", "judge")
MEASURES = _OF_ROW + _LENSES
"""What a threshold may be set on: success, twin success, success by the kind of task, or one lens."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least rate of a measure."""

    measure: str
    least: float


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A row that does not reach a threshold. `rate` is None where it is undefined: that cannot be shown to reach it."""

    agent: str
    condition: str
    threshold: Threshold
    rate: float | None

    def __str__(self) -> str:
        reached = "undefined" if self.rate is None else f"{self.rate:.3f}"
        measure, least = self.threshold.measure, self.threshold.least
        return f"{self.agent} ({self.condition}): {measure} is {reached}, under {least:g}"


def read_threshold(text: str) -> Threshold:
    """The threshold that `success=0.8` states. Raises `ValueError` with one clear sentence."""
    measure, equals, number = (part.strip() for part in text.partition("="))
    if not equals or measure not in MEASURES:
        raise ValueError(f"{text!r} is no threshold; write MEASURE=RATE with one of {', '.join(MEASURES)}")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise ValueError(f"{number!r} in {text!r} is no rate; give a number from 0 to 1, such as {measure}=0.8")
    return Threshold(measure, least)


def shortfalls(
    summary: Summary, thresholds: Iterable[Threshold], *, agents: Collection[str] | None = None
) -> list[Shortfall]:
    """Every row that misses a threshold, in the order of the table.

    Held to it are the rows of `agents`; without them every agent that is measured, or, in a run of baselines alone,
    every baseline. Rows under a fault are no headline figures: they are passed over, unless there are no others. A row
    that has no such tasks or lens at all is not held to a threshold on them, unless no row has.
    """
    rows = [row for row in summary.rows if row.variant.get("fault") is None] or list(summary.rows)
    measured = {row.agent for row in rows if row.kind != "baseline"} or {row.agent for row in rows}
    held = [row for row in rows if row.agent in (measured if agents is None else agents)]
    missed = []
    for threshold in thresholds:
        rates = [(row, *_rate(row, threshold.measure)) for row in held]
        anywhere = any(there for _, there, _ in rates)
        for row, there, rate in rates:
            if (there or not anywhere) and (rate is None or rate < threshold.least):
                missed.append(Shortfall(row.agent, row.condition, threshold, rate))
    return missed


def _rate(row: Row, measure: str) -> tuple[bool, float | None]:
    """Whether the row has anything to measure, and the rate."""
    if measure == "twin":
        return bool(row.twin.pairs or row.twin.unscored), row.twin.rate
    if measure == "success":
        return True, row.success.rate
    kinds = {"read": row.split.reads, "write": row.split.write, "withhold": row.split.withhold}
    rate = kinds.get(measure) or row.lenses.get(measure)
    return rate is not None, rate.rate if rate is not None else None
