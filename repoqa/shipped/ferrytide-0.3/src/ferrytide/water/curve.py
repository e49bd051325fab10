"""Heights of the tide between high and low waters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import overload

Extreme = tuple[float, float]


class TideCurve:
    """The tide of a day, from its extremes (hour, metres)."""

    def __init__(self, extremes: Sequence[Extreme]) -> None:
        if len(extremes) < 2:
            raise ValueError("a tide has at least two extremes")
        self.extremes = sorted(extremes)

    @classmethod
    def from_extremes(cls, extremes: Sequence[Extreme]) -> "TideCurve":
        """A curve through these extremes."""
        return cls(extremes)

    @overload
    def height_at(self, hour: float) -> float: ...
    @overload
    def height_at(self, hour: Sequence[float]) -> list[float]: ...
    def height_at(self, hour: float | Sequence[float]) -> float | list[float]:
        """Metres above chart datum at an hour, or at several."""
        if isinstance(hour, Sequence):
            return [self.height_at(one) for one in hour]
        before, after = self._around(hour)
        share = (hour - before[0]) / (after[0] - before[0])
        return before[1] + (after[1] - before[1]) * (1 - math.cos(math.pi * share)) / 2

    def _around(self, hour: float) -> tuple[Extreme, Extreme]:
        for before, after in zip(self.extremes, self.extremes[1:], strict=False):
            if before[0] <= hour <= after[0]:
                return before, after
        raise ValueError(f"{hour} is outside of the curve")


def windows_above(curve: TideCurve, metres: float, *, step: float = 0.1) -> Iterator[tuple[float, float]]:
    """The spans of hours in which the water stands at least so high."""
    start: float | None = None
    hour, end = curve.extremes[0][0], curve.extremes[-1][0]
    while hour <= end:
        if curve.height_at(hour) >= metres:
            start = hour if start is None else start
        elif start is not None:
            yield start, hour - step
            start = None
        hour = round(hour + step, 6)
    if start is not None:
        yield start, end
