"""Order enoxaparin by the latest weight."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, DrugOrder, drug_request
from ehr.tasks.expectations import answer, drug_order, moment, number
from ehr.tasks.measures import WEIGHT
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.synthetic.codes import RXNORM
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import Expected, clause

_ORDER = DrugOrder(Code(RXNORM, "67108", "enoxaparin"), "mg", "subcutaneous")
_TOLERANCE = "0.1"
_TIMING = {"repeat": {"frequency": 1, "period": 12, "periodUnit": "h"}}
_STATED = "dosageInstruction.timing.repeat.where(frequency.exists() or period.exists())"
_TWICE_A_DAY = (
    "((frequency.empty() or frequency = 1) and (period = 12 and periodUnit = 'h' or period = 0.5 and periodUnit = 'd'))"
    " or (frequency = 2 and (period = 24 and periodUnit = 'h' or period = 1 and periodUnit = 'd'))"
)
_IN_WORDS = (
    "(dosageInstruction.text | dosageInstruction.timing.code.text | dosageInstruction.timing.code.coding.code"
    " | dosageInstruction.timing.code.coding.display)"
    ".where(lower().matches('(12|twelve)[ -]*h|twice|two times|b\\\\.?i\\\\.?d')).exists()"
)
_EVERY_TWELVE_HOURS = clause(
    "every 12 hours",
    f"{_STATED}.where({_TWICE_A_DAY}).count() = {_STATED}.count() and ({_STATED}.exists() or {_IN_WORDS})",
    label="WRONG_VALUE",
)
"""In figures, or in words where there are none: an order that does not say how often is not the one asked for."""


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: two weights of which the dose differs; no weight in the middle between two doses."""
    dice = drawing.dice
    age = spread(drawing, 2.2 * HOUR, 9 * 24 * HOUR)
    unit = WEIGHT.other if dice.chance(0.5) else None
    tens = dice.shuffled(range(5, 12))[:2]
    first, second = (ten * 10 + dice.whole(-35, 35) / 10 for ten in tens)
    facts = (Fact(round(first, 1), age, unit), Fact(round(second, 1), age, unit))
    extras = frozenset(name for name in ("status", "future") if dice.chance(0.5))
    plan = Plan(WEIGHT, facts, None, extras, 11)
    return twins(drawing, lambda again, fact: _build(again, plan, fact), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact) -> Case:
    person = drawing.person(is_quiet(drawing, WEIGHT, drawing.now - plan.oldest - HOUR))
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"{who} has a deep vein thrombosis and healthy kidneys. Please order enoxaparin ({_ORDER.drug.spoken})"
        " subcutaneously, dated now: 1 mg per kg of the last recorded weight, rounded to the nearest 10 mg, as one dose"
        " every 12 hours. Tell me the weight in kg and when it was taken.",
        f"Start therapeutic enoxaparin ({_ORDER.drug.spoken}, under the skin, every 12 hours) for {who}, dated now;"
        " the kidneys are fine. The dose is 1 mg/kg by the latest weight on the chart, to the nearest 10 mg. Give me"
        " that"
        " weight in kg with its date and time.",
    )
    rows = results(drawing, person, WEIGHT, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, WEIGHT.codes)
    last = truth.latest(found, until=drawing.now)
    assert last is not None, "the scene has rows"
    weight = truth.converted(last, "kg", "weight")
    traps = reading_traps(chart, WEIGHT.codes, until=drawing.now, since=None)
    order = drug_order(person, _ORDER, _dose(weight), drawing.clock)
    return Case(
        kind="write",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "order": _ORDER.as_parameters(), **WEIGHT.as_parameters()},
        setup=(*person.planted, *rows),
        expected=Expected(creates=(order.model_copy(update={"clauses": (*order.clauses, _EVERY_TWELVE_HOURS)}),)),
        answer=answer(number(round(weight, 3), WEIGHT, _TOLERANCE), moment(last.at)),
        traps=traps | ({"unit"} if last.unit != "kg" else set()),
    )


def _dose(weight: Decimal) -> int:
    """Milligrams for a weight in kg."""
    return int((weight / 10).quantize(Decimal(1), ROUND_HALF_UP)) * 10


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest weight in kg, and the dose from it."""
    patient = chart.patient(told["patient"])
    last = chart.latest(patient, told["loinc"])
    if last is None:
        return Finish("unclear", note="There is no weight.")
    weight = chart.number(last, told["unit"])
    dose = round(float(weight) / 10) * 10
    _order(chart, patient, told, dose)
    return Finish("done", [f"{weight} {told['unit']}", last.time])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Order 80 mg for everybody."""
    patient = chart.patient(told["patient"])
    _order(chart, patient, told, 80)
    return Finish("done", ["80 kg"])


def _order(chart: Chart, patient: Mapping[str, Any], told: Mapping[str, Any], dose: float) -> None:
    request = drug_request({**patient}, told["order"], dose, chart.clock)
    request["dosageInstruction"][0]["timing"] = _TIMING
    chart.create(request)


TEMPLATE = Template(
    name="weight-based-dose",
    about="enoxaparin by the latest weight",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=("Lovenox (enoxaparin sodium) injection, prescribing information (1 mg/kg every 12 hours). 2022",),
)
