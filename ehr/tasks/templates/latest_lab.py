"""The latest result of a test within some hours, or when the last one before was taken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer, moment, number
from ehr.tasks.measures import GLUCOSE, MAGNESIUM, POTASSIUM
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, apart, is_quiet, scene, spread
from ehr.tasks.template import Case, Drawing, Finish, Template, twins

_MEASURES = (MAGNESIUM, POTASSIUM, GLUCOSE)
_GAPS = {"serum magnesium": 0.15, "serum potassium": 0.2, "serum glucose": 6.0}


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: the same result was taken inside the window, or before it."""
    dice = drawing.dice_of("facts")
    measure = _MEASURES[drawing.index % len(_MEASURES)]
    hours = dice.pick((12, 24, 48))
    window = hours * HOUR
    inside = window if dice.chance(0.3) else spread(drawing, 1.2 * HOUR, window - 0.5 * HOUR)
    outside = window + (timedelta(minutes=dice.whole(1, 4)) if dice.chance(0.3) else dice.whole(40, 1300) * HOUR / 60)
    value = apart(drawing, measure, (), 0)
    unit = measure.other if dice.chance(0.4) else None
    extras = frozenset(name for name in ("status", "future") if dice.chance(0.5))
    facts = (Fact(value, inside, unit), Fact(value, outside, unit))
    plan = Plan(measure, facts, window, extras, _GAPS[measure.word])
    return twins(drawing, lambda again, fact: _build(again, plan, fact, hours), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact, hours: int) -> Case:
    measure = plan.measure
    person = drawing.person(is_quiet(drawing, measure, drawing.now - plan.oldest - 0.1 * HOUR))
    who, told = drawing.call(person)
    unit = measure.unit.shown
    instruction = drawing.say(
        f"What is the latest {measure.word} of {who} from the last {hours} hours, in {unit}? If none was taken in that"
        " time, tell me instead the date and time when the last one before it was taken.",
        f"Give me the most recent {measure.word} in the past {hours} hours for {who}, in {unit}. Should there be none,"
        " I want the date and time of the last sample before that instead.",
        f"I am about to see {who}. Latest {measure.word} ({unit}) of the last {hours} hours, please; if nothing was"
        " taken in that time, just the date and time of the previous sample.",
    )
    rows = results(drawing, person, measure, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, measure.codes)
    since = drawing.ago(hours=hours)
    inside = truth.latest(found, until=drawing.now, since=since)
    traps = reading_traps(chart, measure.codes, until=drawing.now, since=since, else_ever=True)
    if inside:
        expected = answer(number(truth.converted(inside, measure.unit.ucum, measure.analyte or ""), measure))
    else:
        before = truth.latest(found, until=drawing.now)
        assert before is not None, "the scene has older rows"
        expected = answer(moment(before.at))
    return Case(
        kind="read",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "hours": hours, **measure.as_parameters()},
        setup=(*person.planted, *rows),
        answer=expected,
        traps=traps | ({"unit"} if inside and inside.unit != measure.unit.ucum else set()),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest in the window; where there is none, the latest ever."""
    patient = chart.patient(told["patient"])
    latest = chart.latest(patient, told["loinc"], since=chart.now - timedelta(hours=told["hours"]))
    if latest:
        return Finish("done", [f"{chart.number(latest, told['unit'], told['analyte'])} {told['unit']}"])
    before = chart.latest(patient, told["loinc"])
    return Finish("done", [before.time]) if before else Finish("unclear", note="There is no result at all.")


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there is none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="latest-lab",
    about="the latest result within some hours, or the time of the one before",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
