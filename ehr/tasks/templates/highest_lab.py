"""The highest result of a test over some days, and when it was taken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer, moment, number
from ehr.tasks.measures import BEDSIDE_GLUCOSE
from ehr.tasks.planting import Row, results
from ehr.tasks.scene import HOUR, is_quiet, spread
from ehr.tasks.template import Case, Drawing, Finish, Template

_MEASURE = BEDSIDE_GLUCOSE
_PAGE, _STEP = 20, 9


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """The peak stands where a careless reader does not see it; higher ones do not count."""
    dice = drawing.dice
    days = dice.pick((3, 4, 5))
    window = days * 24 * HOUR
    person = drawing.person(is_quiet(drawing, _MEASURE, drawing.now - window - HOUR))
    traps = {"window"} | {name for name in ("status", "future", "unit") if dice.chance(0.45)}
    traps.add("page" if drawing.index % 5 < 2 else "edge" if drawing.index % 5 == 2 else "window")
    rows = results(drawing, person, _MEASURE, _rows(drawing, window, traps))
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"What was the highest {_MEASURE.word} of {who} in the last {days} days ({days * 24} hours), in mg/dL, and when"
        " was it taken?",
        f"Look through the {_MEASURE.word} readings of {who} over the past {days * 24} hours and give me the peak in"
        " mg/dL with its date and time.",
        f"I want to know how high the {_MEASURE.word} of {who} went within the last {days * 24} hours: value in mg/dL,"
        " and the time of that reading.",
    )
    found = truth.readings(drawing.ward.chart(person, "Observation") + rows, _MEASURE.codes)
    inside = truth.within(found, since=drawing.now - window, until=drawing.now)
    peak = max(inside, key=lambda reading: truth.converted(reading, "mg/dL", "glucose"))
    value = round(truth.converted(peak, "mg/dL", "glucose"), 4)
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "hours": days * 24, **_MEASURE.as_parameters()},
            setup=(*person.planted, *rows),
            answer=answer(number(value, _MEASURE, "1"), moment(peak.at)),
            traps=frozenset(traps),
        ),
    )


def _rows(drawing: Drawing, window: timedelta, traps: set[str]) -> list[Row]:
    """Lower rows with the peak among them, behind the first page where that is the trap; higher ones that are out."""
    dice, now = drawing.dice, drawing.now
    number = dice.whole(2 * _PAGE + 1, 2 * _PAGE + 7) if "page" in traps else dice.whole(4, 11)
    top = dice.whole(215, 250)
    age = window if "edge" in traps else spread(drawing, HOUR, window - HOUR)
    peak = Row(now - age, top, exact="edge" in traps)
    if "unit" in traps:
        peak = Row(peak.at, round(top / 18.016, 1), _MEASURE.other, exact=peak.exact)
    ages = [spread(drawing, HOUR / 4, window - HOUR / 4) for _ in range(number)]
    rows = [Row(now - other, dice.whole(78, top - _STEP)) for other in ages]
    rows.insert(dice.whole(_PAGE if "page" in traps else 0, number), peak)
    higher = [Row(now - spread(drawing, window + HOUR, window + 40 * HOUR), top + dice.whole(_STEP, 60))]
    if "status" in traps:
        at = now - spread(drawing, HOUR, window - HOUR)
        higher.append(Row(at, top + dice.whole(_STEP, 60), status="entered-in-error"))
    if "future" in traps:
        higher.append(Row(now + spread(drawing, HOUR, 9 * HOUR), top + dice.whole(_STEP, 60)))
    for row in higher:
        rows.insert(dice.below(len(rows) + 1), row)
    return rows


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The greatest of all results of the window."""
    patient = chart.patient(told["patient"])
    found = chart.results(patient, told["loinc"], since=chart.now - timedelta(hours=told["hours"]))
    if not found:
        return Finish("unclear", note="There is no result in that time.")
    peak = max(found, key=lambda result: chart.number(result, told["unit"], told["analyte"]))
    return Finish("done", [f"{chart.number(peak, told['unit'], told['analyte'])} {told['unit']}", peak.time])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there is none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="highest-lab",
    about="the peak of bedside glucose over some days, and its time",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
