"""Order a test if the last result is older than it should be; in any case say what the last one was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, service_request
from ehr.tasks.expectations import answer, moment, number, service_order
from ehr.tasks.measures import A1C, EGFR, LOINC, Measure
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, apart, is_quiet, scene, spread
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Expected

_DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class _Check:
    measure: Measure
    days: int
    test: Code
    gap: float


_CHECKS = (
    _Check(A1C, 180, Code(LOINC, A1C.unit.code, A1C.unit.display), 0.3),
    _Check(EGFR, 365, Code(LOINC, "2160-0", "Creatinine [Mass/volume] in Serum or Plasma"), 4),
)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: the last result is older than the limit, or not; sometimes to the minute."""
    dice = drawing.dice
    check = _CHECKS[drawing.index % len(_CHECKS)]
    limit = check.days * _DAY
    value = apart(drawing, check.measure, (), 0)
    fresh = limit if dice.chance(0.4) else spread(drawing, 20 * _DAY, limit - _DAY)
    stale = limit + (timedelta(minutes=dice.whole(1, 9)) if dice.chance(0.4) else spread(drawing, _DAY, 200 * _DAY))
    facts = (Fact(value, stale), Fact(value, fresh))
    extras = frozenset(name for name in ("status", "future") if dice.chance(0.5))
    plan = Plan(check.measure, facts, None, extras, check.gap)
    return twins(drawing, lambda again, fact: _build(again, plan, check, fact), facts)


def _build(drawing: Drawing, plan: Plan, check: _Check, fact: Fact) -> Case:
    measure, limit = check.measure, check.days * _DAY
    person = drawing.person(is_quiet(drawing, measure, drawing.now - plan.oldest - HOUR))
    who, told = drawing.call(person)
    test = f"{check.test.display.split(' [')[0]} ({check.test.spoken})"
    instruction = drawing.say(
        f"What was the last {measure.word} of {who}, and when was it taken? If that is more than {check.days} days ago,"
        f" to the minute, order a new {test}, dated now; otherwise order nothing.",
        f"Is the {measure.word} of {who} up to date? If the last one was taken more than {check.days} days ago (to the"
        f" minute), please order {test}, dated now. Either way give me its value and date and time.",
    )
    rows = results(drawing, person, measure, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, measure.codes)
    last = truth.latest(found, until=drawing.now)
    assert last is not None, "the scene has rows"
    is_stale = last.at < drawing.now - limit
    order = Expected(creates=(service_order(person, check.test, drawing.clock),))
    traps = reading_traps(chart, measure.codes, until=drawing.now, since=None)
    traps |= {"window"} if is_stale else {"edge"} if last.at == drawing.now - limit else set()
    return Case(
        kind="write" if is_stale else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={
            "patient": told,
            "days": check.days,
            "test": check.test.as_parameters(),
            **measure.as_parameters(),
        },
        setup=(*person.planted, *rows),
        expected=order if is_stale else NOTHING,
        answer=answer(number(last.value, measure), moment(last.at)),
        traps=traps,
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest ever; order if it lies before the limit."""
    patient = chart.patient(told["patient"])
    last = chart.latest(patient, told["loinc"])
    if last is None:
        return Finish("unclear", note="There is no result.")
    said = [f"{chart.number(last, told['unit'], told['analyte'])} {told['unit']}", last.time]
    if chart.is_within(last.at, chart.now - timedelta(days=told["days"])):
        return Finish("not_done", said)
    chart.create(service_request(patient, told["test"], chart.clock))
    return Finish("done", said)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always order it."""
    patient = chart.patient(told["patient"])
    chart.create(service_request(patient, told["test"], chart.clock))
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="lab-if-stale",
    about="order a test if the last result is too old",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "American Diabetes Association. 6. Glycemic targets: standards of medical care in diabetes 2022, recommendation"
        " 6.1 (at least two times a year). Diabetes Care 45 Suppl 1:S83, 2022",
        "KDIGO 2024 clinical practice guideline for the evaluation and management of chronic kidney disease"
        " (at least annually). Kidney Int 105:S117, 2024",
    ),
)
