"""Put warfarin on hold where the INR is 5.0 or more, and order an INR for the morning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, service_request
from ehr.tasks.expectations import answer, number, service_order, tomorrow_at_eight
from ehr.tasks.measures import INR, LOINC
from ehr.tasks.planting import new_ids, results
from ehr.tasks.rows import medication
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.synthetic.codes import DRUGS
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.tasks.ward import Person
from ehr.verify.expected import NOTHING, Expected, Update, clause

_DRUG = DRUGS["warfarin"]
_TEST = Code(LOINC, INR.unit.code, INR.unit.display)
_LIMIT = Decimal("5.0")
_HIGH, _BELOW = (5.0, 5.2, 5.5, 6.1, 6.8, 7.4, 8.2), (2.4, 2.9, 3.4, 3.9, 4.4, 4.7, 4.9)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: at the limit or above, or below it."""
    dice = drawing.dice
    hours = dice.pick((12, 24))
    window = hours * HOUR
    age = window if dice.chance(0.25) else spread(drawing, 2.2 * HOUR, window - HOUR)
    facts = (Fact(dice.pick(_HIGH), age), Fact(dice.pick(_BELOW), age))
    extras = {name for name in ("status", "future") if dice.chance(0.5)}
    if age != window and dice.chance(0.7):
        extras.add("rivals")
    plan = Plan(INR, facts, window, frozenset(extras), 0.2)
    return twins(drawing, lambda again, fact: _build(again, plan, fact, hours), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact, hours: int) -> Case:
    quiet = is_quiet(drawing, INR, drawing.now - plan.oldest - HOUR / 10)
    person = drawing.person(lambda someone: _has_no_warfarin(drawing, someone) and quiet(someone))
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"{who} takes warfarin and is not bleeding. If the latest INR of the last {hours} hours is 5.0 or more, put the"
        f" warfarin order on hold and order an INR ({_TEST.spoken}) due tomorrow at 08:00, dated now. Below 5.0 change"
        " nothing. Tell me the INR.",
        f"Warfarin round: for {who} (no bleeding) look at the newest INR of the past {hours} hours. 5.0 or above: hold"
        f" the active warfarin order, and an INR ({_TEST.spoken}) for 08:00 tomorrow, dated now. Under 5.0: leave"
        " everything."
        " Report that INR in any case.",
    )
    rows = results(drawing, person, INR, scene(drawing, plan, fact))
    order_id = new_ids(drawing, "MedicationRequest", 1)[0]
    started = drawing.now - timedelta(minutes=drawing.dice.whole(40 * 1440, 300 * 1440))
    order = medication(drawing, person, order_id, _DRUG, at=started)
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, INR.codes)
    since = drawing.ago(hours=hours)
    last = truth.latest(found, until=drawing.now, since=since)
    assert last is not None, "the fact is inside the window"
    is_high = last.value >= _LIMIT
    held = Update(
        reference=f"MedicationRequest/{order_id}",
        may_change=("status", "statusReason", "note"),
        clauses=(clause("is on hold", "status = 'on-hold'", label="WRONG_STATUS"),),
    )
    again = service_order(person, _TEST, drawing.clock, due=tomorrow_at_eight(drawing.now))
    return Case(
        kind="write" if is_high else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={
            "patient": told,
            "hours": hours,
            "rxnorm": [_DRUG.code],
            "test": _TEST.as_parameters(),
            **INR.as_parameters(),
        },
        setup=(*person.planted, order, *rows),
        expected=Expected(creates=(again,), updates=(held,)) if is_high else NOTHING,
        answer=answer(number(last.value, INR)),
        traps=reading_traps(chart, INR.codes, until=drawing.now, since=since),
    )


def _has_no_warfarin(drawing: Drawing, person: Person) -> bool:
    rows = drawing.ward.chart(person, "MedicationRequest")
    return not any("warfarin" in str(row.get("medicationCodeableConcept", "")).lower() for row in rows)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read the INR; hold the order and order the next INR, or do nothing."""
    patient = chart.patient(told["patient"])
    last = chart.latest(patient, told["loinc"], since=chart.now - timedelta(hours=told["hours"]))
    if last is None:
        return Finish("not_done", note="There is no INR of these hours.")
    value = chart.number(last, told["unit"])
    said = [f"{value}"]
    if value < 5:
        return Finish("not_done", said)
    for order in chart.active("MedicationRequest", patient, code=",".join(told["rxnorm"])):
        chart.update(order, status="on-hold")
    due = (chart.now + timedelta(days=1)).replace(hour=8, minute=0, second=0, microsecond=0)
    chart.create(service_request(patient, told["test"], chart.clock, occurrenceDateTime=due.isoformat()))
    return Finish("done", said)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Leave it, without a look."""
    chart.patient(told["patient"])
    return Finish("not_done", ["none"])


TEMPLATE = Template(
    name="warfarin-inr",
    about="hold warfarin where the INR is 5.0 or more, and check again",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "Ansell J et al. Pharmacology and management of the vitamin K antagonists: ACCP evidence-based clinical"
        " practice guidelines (8th edition). Chest 133 Suppl:160S, 2008 (INR 5.0 to 9.0 without bleeding: omit one or"
        " two doses)",
        "Holbrook A et al. Evidence-based management of anticoagulant therapy: ACCP guidelines (9th edition)."
        " Chest 141 Suppl:e152S, 2012 (no routine vitamin K for INR 4.5 to 10)",
    ),
)
