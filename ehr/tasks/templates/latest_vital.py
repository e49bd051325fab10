"""The latest value of a vital sign, however long ago, and when it was taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer, moment, number
from ehr.tasks.measures import HEART_RATE, SATURATION, TEMPERATURE, WEIGHT
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, apart, is_quiet, scene, spread
from ehr.tasks.template import Case, Drawing, Finish, Template

_MEASURES = (HEART_RATE, WEIGHT, SATURATION, TEMPERATURE)
_GAPS = {"heart rate": 4, "oxygen saturation": 2, "temperature": 0.4, "weight": 1.5}


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Not the first row, not the highest id, not one entered in error or dated ahead of the clock."""
    dice = drawing.dice
    measure = _MEASURES[drawing.index % len(_MEASURES)]
    unit = measure.other if dice.chance(0.6) else None
    fact = Fact(apart(drawing, measure, (), 0), spread(drawing, 3 * HOUR, 400 * HOUR), unit)
    extras = frozenset(name for name in ("status", "future") if dice.chance(0.55))
    plan = Plan(measure, (fact,), None, extras, _GAPS[measure.word])
    person = drawing.person(is_quiet(drawing, measure, drawing.now - fact.age - 0.1 * HOUR))
    who, told = drawing.call(person)
    shown = measure.unit.shown
    instruction = drawing.say(
        f"What is the last recorded {measure.word} of {who}, in {shown}, and when was it measured?",
        f"Give me the most recent {measure.word} on the chart of {who} ({shown}) with its date and time.",
        f"When was the {measure.word} of {who} last taken, and what was it in {shown}?",
    )
    rows = results(drawing, person, measure, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, measure.codes)
    last = truth.latest(found, until=drawing.now)
    assert last is not None, "the scene has rows"
    traps = reading_traps(chart, measure.codes, until=drawing.now, since=None)
    value = round(truth.converted(last, measure.unit.ucum, measure.word), 6)
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, **measure.as_parameters()},
            setup=(*person.planted, *rows),
            answer=answer(number(value, measure), moment(last.at)),
            traps=traps | ({"unit"} if last.unit != measure.unit.ucum else set()),
        ),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest ever."""
    last = chart.latest(chart.patient(told["patient"]), told["loinc"])
    if last is None:
        return Finish("unclear", note="It was never recorded.")
    return Finish("done", [f"{chart.number(last, told['unit'], told['analyte'])} {told['unit']}", last.time])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there is none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="latest-vital",
    about="the last value of a vital sign, and its time",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
