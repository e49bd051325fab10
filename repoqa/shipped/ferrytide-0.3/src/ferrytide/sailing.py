"""Crossings, and when they may leave."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrytide.water import windows_above

if TYPE_CHECKING:
    from ferrytide.fleet import Vessel
    from ferrytide.water.curve import TideCurve

SOUND_MILES = 4.5


@dataclass(frozen=True, order=True)
class Crossing:
    """One crossing of the sound, in hours of the day."""

    leaves: float
    arrives: float
    vessel: str = field(compare=False)


class Timetable:
    """Crossings in the order in which they leave."""

    def __init__(self) -> None:
        self._crossings: list[Crossing] = []

    def add_crossing(self, crossing: Crossing) -> None:
        """Put one in its place."""
        bisect.insort(self._crossings, crossing)

    def __iter__(self) -> Iterator[Crossing]:
        return iter(self._crossings)

    def __len__(self) -> int:
        return len(self._crossings)


def plan_crossings(vessel: "Vessel", curve: "TideCurve", *, hours: int = 24, turn: float = 0.5) -> Timetable:
    """All crossings that a vessel can make while there is water for it."""
    planned = Timetable()
    duration = SOUND_MILES / vessel.speed
    for start, end in windows_above(curve, vessel.needs_water()):
        leaves = start
        while leaves + duration <= min(end, hours):
            planned.add_crossing(Crossing(round(leaves, 2), round(leaves + duration, 2), vessel.name))
            leaves += duration + turn
    return planned


def next_departure(timetable: Timetable, hour: float) -> Crossing | None:
    """The first crossing at or after an hour."""
    return next((crossing for crossing in timetable if crossing.leaves >= hour), None)
