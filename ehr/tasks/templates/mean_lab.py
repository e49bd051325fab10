"""The mean of a test over some hours, often over more than a page of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer, number
from ehr.tasks.idshape import storage_place
from ehr.tasks.measures import BEDSIDE_GLUCOSE
from ehr.tasks.planting import Row, results
from ehr.tasks.scene import HOUR, is_quiet, spread
from ehr.tasks.template import CannotDrawError, Case, Drawing, Finish, Template
from ehr.tasks.ward import Resource

_MEASURE = BEDSIDE_GLUCOSE
_TOLERANCE, _GAP, _PAGE = Decimal("0.5"), Decimal("1.6"), 20


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Bedside glucose over one or two days; outside them, other values."""
    hours = drawing.dice.pick((24, 48))
    since = drawing.ago(hours=hours)
    person = drawing.person(is_quiet(drawing, _MEASURE, since - HOUR))
    traps = {"window"} | {name for name in ("status", "future", "edge", "unit") if drawing.dice.chance(0.45)}
    if drawing.index % 5 < 3:
        traps.add("page")
    for _ in range(200):
        rows = results(drawing, person, _MEASURE, _rows(drawing, hours, traps))
        chart = drawing.ward.chart(person, "Observation") + rows
        if _is_sound(chart, since, drawing.now, traps):
            break
    else:
        raise CannotDrawError("no values were found of which every careless mean is clearly another")
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"What was the mean {_MEASURE.word} of {who} over the last {hours} hours, in mg/dL? To the nearest whole number"
        " is enough.",
        f"Average all {_MEASURE.word} readings of the past {hours} hours for {who} and give me the mean in mg/dL,"
        " rounded to a whole number.",
        f"For the insulin review: the arithmetic mean of every {_MEASURE.word} value of {who} in the last {hours} hours"
        " (mg/dL, whole number).",
    )
    mean = _mean(truth.within(truth.readings(chart, _MEASURE.codes), since=since, until=drawing.now))
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "hours": hours, **_MEASURE.as_parameters()},
            setup=(*person.planted, *rows),
            answer=answer(number(round(mean, 4), _MEASURE, str(_TOLERANCE))),
            traps=frozenset(traps),
        ),
    )


def _rows(drawing: Drawing, hours: int, traps: set[str]) -> list[Row]:
    dice, window = drawing.dice, hours * HOUR
    count = dice.whole(25, 34) if "page" in traps else dice.whole(5, 14)
    level, swing = dice.between(110, 190), dice.between(25, 60)
    ages = [spread(drawing, HOUR / 6, window - HOUR / 6) for _ in range(count)]
    if "edge" in traps:
        ages[0] = window
    rows = [Row(drawing.now - age, round(level + dice.normal(0, swing)), exact=age == window) for age in ages]
    rows = [Row(row.at, min(max(row.value, 62), 340), exact=row.exact) for row in rows]
    if "edge" in traps:
        rows[0] = Row(rows[0].at, rows[0].value + count * 6, exact=True)
    if "unit" in traps:
        for place in range(1, min(count, 5)):
            rows[place] = Row(rows[place].at, round(rows[place].value / 18.016, 1), _MEASURE.other)
    outside = [spread(drawing, window + HOUR / 4, window + 30 * HOUR) for _ in range(4)]
    rows += [Row(drawing.now - age, round(level + count * dice.between(5, 8))) for age in outside]
    if "status" in traps:
        value = round(level + count * dice.between(5, 8))
        rows.append(Row(drawing.now - spread(drawing, HOUR, window - HOUR), value, status="entered-in-error"))
    if "future" in traps:
        rows.append(Row(drawing.now + spread(drawing, HOUR, 9 * HOUR), round(level + count * dice.between(5, 8))))
    return dice.shuffled(rows)


def _is_sound(chart: Sequence[Resource], since: datetime, now: datetime, traps: set[str]) -> bool:
    """Whether each trap moves the mean beyond doubt, and nothing else does: shown by computing every wrong mean."""
    chart = [row for row in chart if truth.codes(row["code"]) & set(_MEASURE.codes)]
    found = truth.readings(chart, _MEASURE.codes)
    inside = truth.within(found, since=since, until=now)
    right = _mean(inside)
    everything = [{**row, "status": "final"} for row in chart]
    wrong = {
        "window": _mean(truth.within(found, since=datetime.min.replace(tzinfo=now.tzinfo), until=now)),
        "future": _mean(truth.within(found, since=since, until=now + timedelta(days=9))),
        "edge": _mean([reading for reading in inside if reading.at > since]),
        "status": _mean(truth.within(truth.readings(everything, _MEASURE.codes), since=since, until=now)),
        "unit": sum((reading.value for reading in inside), Decimal()) / len(inside),
    }
    shown = [row for row in chart if since <= (truth.taken(row) or now) <= now]
    by_time = sorted(shown, key=lambda row: truth.taken(row) or now)
    stored = sorted(shown, key=lambda row: storage_place(row["id"]))
    pages = [_mean(truth.readings(order[:_PAGE], _MEASURE.codes)) for order in (by_time, by_time[::-1], stored)]
    far = all(abs(wrong[name] - right) >= _GAP for name in traps & set(wrong))
    near = all(wrong[name] == right for name in set(wrong) - traps)
    paged = [abs(mean - right) >= _GAP if "page" in traps else mean == right for mean in pages]
    return far and near and all(paged)


def _mean(readings: Sequence[truth.Reading]) -> Decimal:
    values = [truth.converted(reading, "mg/dL", "glucose") for reading in readings]
    return sum(values, Decimal()) / len(values)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The mean of all results of the window."""
    patient = chart.patient(told["patient"])
    found = chart.results(patient, told["loinc"], since=chart.now - timedelta(hours=told["hours"]))
    if not found:
        return Finish("unclear", note="There is no result in that time.")
    values = [chart.number(result, told["unit"], told["analyte"]) for result in found]
    return Finish("done", [f"{sum(values, Decimal()) / len(values):.3f} {told['unit']}"])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there is none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="mean-lab",
    about="the mean of bedside glucose over a day or two",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
