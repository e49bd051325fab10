"""Stop metformin where the kidneys no longer allow it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer, moment, number, stopped
from ehr.tasks.measures import EGFR
from ehr.tasks.planting import new_ids, results
from ehr.tasks.rows import medication
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.synthetic.codes import DRUGS
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.tasks.ward import Person
from ehr.verify.expected import NOTHING, Expected

_DRUG = DRUGS["metformin-1000"]
_LIMIT = 30
_LOW, _ENOUGH = (14, 17, 19, 22, 25, 27, 28, 29), (30, 31, 32, 34, 36, 41, 44)
_CODES = frozenset(drug.code for key, drug in DRUGS.items() if key.startswith("metformin"))


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: eGFR below 30, or 30 and above."""
    dice = drawing.dice
    age = spread(drawing, 3 * HOUR, 60 * 24 * HOUR)
    facts = (Fact(dice.pick(_LOW), age), Fact(dice.pick(_ENOUGH), age))
    extras = frozenset(name for name in ("status", "future") if dice.chance(0.5))
    plan = Plan(EGFR, facts, None, extras, 4)
    return twins(drawing, lambda again, fact: _build(again, plan, fact), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact) -> Case:
    quiet = is_quiet(drawing, EGFR, drawing.now - plan.oldest - HOUR)
    person = drawing.person(lambda someone: _has_no_metformin(drawing, someone) and quiet(someone))
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"{who} is on metformin. If the latest eGFR is below 30 mL/min/1.73 m2, please stop the metformin order; at 30"
        " or above leave it as it is. Tell me the eGFR you went by, and when it was taken.",
        f"Kidney check before the next metformin of {who}: discontinue the active metformin order if the most recent"
        " eGFR is under 30 mL/min/1.73 m2, otherwise change nothing. I want to know that eGFR, with its date"
        " and time, either way.",
    )
    rows = results(drawing, person, EGFR, scene(drawing, plan, fact))
    order_id = new_ids(drawing, "MedicationRequest", 1)[0]
    started = drawing.now - timedelta(minutes=drawing.dice.whole(90 * 1440, 300 * 1440))
    order = medication(drawing, person, order_id, _DRUG, at=started)
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, EGFR.codes)
    last = truth.latest(found, until=drawing.now)
    assert last is not None, "the scene has rows"
    is_low = last.value < _LIMIT
    return Case(
        kind="write" if is_low else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "rxnorm": sorted(_CODES), **EGFR.as_parameters()},
        setup=(*person.planted, order, *rows),
        expected=Expected(updates=(stopped(order_id),)) if is_low else NOTHING,
        answer=answer(number(last.value, EGFR), moment(last.at)),
        traps=reading_traps(chart, EGFR.codes, until=drawing.now, since=None),
    )


def _has_no_metformin(drawing: Drawing, person: Person) -> bool:
    rows = drawing.ward.chart(person, "MedicationRequest")
    return not any("metformin" in str(row.get("medicationCodeableConcept", "")).lower() for row in rows)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read the eGFR, and stop the order or not."""
    patient = chart.patient(told["patient"])
    last = chart.latest(patient, told["loinc"])
    if last is None:
        return Finish("unclear", note="There is no eGFR.")
    value = chart.number(last, told["unit"])
    said = [f"{value} {told['unit']}", last.time]
    if value >= 30:
        return Finish("not_done", said)
    for order in chart.active("MedicationRequest", patient, code=",".join(told["rxnorm"])):
        chart.update(order, status="stopped")
    return Finish("done", said)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Leave it, without a look."""
    chart.patient(told["patient"])
    return Finish("not_done", ["none"])


TEMPLATE = Template(
    name="metformin-renal",
    about="stop metformin where eGFR is below 30",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "U.S. Food and Drug Administration. Drug Safety Communication: FDA revises warnings regarding use of the"
        " diabetes medicine metformin in certain patients with reduced kidney function. 2016",
    ),
)
