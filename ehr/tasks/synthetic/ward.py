"""Days on the ward: morning bloods, vital signs around the clock, and what is low is replaced and looked at again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ehr.tasks.synthetic.body import Shifts
from ehr.tasks.synthetic.chart import Chart
from ehr.tasks.synthetic.rows import MINUTES_A_DAY as DAY

_WATCHED = ("crp", "lactate", "troponin", "nt-probnp")


def ward(
    chart: Chart, admitted: int, until: int, age: int, lasting: Shifts, acute: Shifts, encounter: str | None, *,
    dense: bool = False,
) -> None:  # fmt: skip
    """Results and vital signs from `admitted` to `until`. An illness adds `acute` at first, then less every day.

    `dense`: measured as in intensive care, and nothing but measurements is written.
    """
    place = chart.rows.place(encounter)
    recovery = max(1.3, (until - admitted) / DAY * 0.42)

    def now(at: int) -> dict[str, float]:
        share = math.exp(-(at - admitted) / DAY / recovery)
        shifts = dict(lasting)
        for key, size in acute.items():
            shifts[key] = shifts.get(key, 0.0) + size * share
        return shifts

    watched = tuple(key for key in _WATCHED if key in acute)
    _on_admission(chart, admitted, until, age, now, watched, place, encounter, dense)
    _every_morning(chart, admitted, until, age, now, watched, place, encounter, dense)
    _around_the_clock(
        chart, admitted, until, now, place, every=150 if dense or "lactate" in acute else 420, oxygen=dense
    )
    if lasting.get("a1c", 0.0) > 1:
        _at_the_bedside(chart, admitted, until, now, place)


def _on_admission(
    chart: Chart, admitted: int, until: int, age: int, now: Callable[[int], Shifts], watched: tuple[str, ...],
    place: str, encounter: str | None, dense: bool,
) -> None:  # fmt: skip
    at = admitted + chart.draw.whole(18, 70)
    if at < until:
        shifts = now(at)
        ordered = None if dense else at - 6
        for key in ("comprehensive", "blood-count", "magnesium", *watched):
            chart.panel(
                key, at, place, shifts, age, until=until, encounter=encounter, ordered=ordered, report=not dense
            )


def _every_morning(
    chart: Chart, admitted: int, until: int, age: int, now: Callable[[int], Shifts], watched: tuple[str, ...],
    place: str, encounter: str | None, dense: bool,
) -> None:  # fmt: skip
    draw = chart.draw
    rounds = [(4 * 60 + 10, 6 * 60 + 50)] + ([(15 * 60, 18 * 60)] if dense else [])
    for number in range(admitted // DAY + 1, until // DAY + 1):
        for first, last in rounds:
            at = number * DAY + draw.whole(first, last)
            if at >= until - 20:
                return
            shifts = now(at)
            values = dict(chart.panel("basic", at, place, shifts, age, until=until))
            often = {"blood-count": 0.7, "magnesium": 0.7, "phosphorus": 0.35} | dict.fromkeys(watched, 0.35)
            for key, likely in often.items():
                if draw.chance(likely):
                    values |= chart.panel(key, at, place, shifts, age, until=until)
            if not dense and at + 150 < until - 400:
                _replace(chart, values, at + 150, until, place, shifts, age, encounter)


def _replace(
    chart: Chart,
    values: Mapping[str, float],
    at: int,
    until: int,
    place: str,
    shifts: Shifts,
    age: int,
    encounter: str | None,
) -> None:
    for analyte, low, drug, wait in (
        ("potassium", 3.45, "potassium-chloride", 360),
        ("magnesium", 1.65, "magnesium-sulfate", 380),
    ):
        if values.get(analyte, low) < low:
            chart.prescription(drug, at, "completed", encounter=encounter, category="inpatient")
            better = {**shifts, analyte: shifts.get(analyte, 0.0) * 0.3}
            chart.panel(analyte, at + wait, place, better, age, until=until, encounter=encounter, ordered=at + 5)


def _around_the_clock(
    chart: Chart, admitted: int, until: int, now: Callable[[int], Shifts], place: str, *, every: int, oxygen: bool
) -> None:
    draw = chart.draw
    at = admitted + draw.whole(3, 20)
    while at < until:
        shifts = now(at)
        chart.pressure(at, place, shifts)
        for key in ("heart-rate", "respiratory-rate", "temperature", "oxygen-saturation"):
            chart.vital(key, at, place, shifts)
        if oxygen and draw.chance(0.5):
            chart.vital("inhaled-oxygen", at, place, shifts)
        if not oxygen and at % DAY < every:
            chart.vital("weight", at, place, shifts)
        at += int(every * draw.between(0.7, 1.3))


def _at_the_bedside(chart: Chart, admitted: int, until: int, now: Callable[[int], Shifts], place: str) -> None:
    at = admitted + chart.draw.whole(60, 200)
    while at < until:
        value = chart.body.lab("bedside-glucose", at, now(at))
        chart.rows.lab("bedside-glucose", value, at, min(at + 1, until), place)
        at += chart.draw.whole(190, 420)
