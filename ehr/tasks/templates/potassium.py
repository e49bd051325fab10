"""Replace potassium by mouth where it is low, paired with a level for tomorrow morning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, DrugOrder, drug, drug_request, service_request
from ehr.tasks.expectations import answer, drug_order, number, service_order, tomorrow_at_eight
from ehr.tasks.measures import LOINC, POTASSIUM
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Expected

_ORDER = DrugOrder(drug("potassium-chloride"), "meq", "oral")
_LEVEL = Code(LOINC, POTASSIUM.unit.code, POTASSIUM.unit.display)
_WINDOW = 24 * HOUR
_TWENTY, _FORTY, _FINE, _SEVERE = (3.3, 3.4), (3.0, 3.1, 3.2), (3.5, 3.6, 3.8, 4.1, 4.4, 5.0), (2.6, 2.7, 2.8, 2.9)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: low or not low; of two doses; or low and too low for an order by mouth."""
    dice = drawing.dice
    low = dice.pick((_TWENTY, _FORTY))
    other = (_FINE, _FORTY if low is _TWENTY else _TWENTY, _SEVERE)[drawing.index % 3]
    age = _WINDOW if dice.chance(0.2) else spread(drawing, 2.2 * HOUR, 18 * HOUR)
    facts = (Fact(dice.pick(low), age), Fact(dice.pick(other), age))
    extras = {name for name in ("status", "future") if dice.chance(0.5)}
    if age != _WINDOW and dice.chance(0.8):
        extras.add(dice.pick(("rivals", "tie", "tie")))
    plan = Plan(POTASSIUM, facts, _WINDOW, frozenset(extras), 0.15)
    return twins(drawing, lambda again, fact: _build(again, plan, fact), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact) -> Case:
    person = drawing.person(is_quiet(drawing, POTASSIUM, drawing.now - plan.oldest - HOUR / 10))
    who, told = drawing.call(person)
    rule = (
        "from 3.3 to below 3.5 mmol/L 20 mEq, from 3.0 to below 3.3 mmol/L 40 mEq, by mouth as one dose"
        f" ({_ORDER.drug.spoken})"
    )
    tail = "Of two samples of the same time the one reported later counts."
    instruction = drawing.say(
        f"Check the latest serum potassium of {who} from the last 24 hours. If it is low, order potassium chloride:"
        f" {rule}, and with it a serum potassium ({_LEVEL.spoken}) due tomorrow at 08:00, both dated now. At 3.5 or"
        " more order neither;"
        f" below 3.0 order neither and I will come and see to it. In any case tell me the value in mmol/L. {tail}",
        f"Potassium protocol for {who}: go by the most recent serum potassium of the past 24 hours. Potassium chloride,"
        f" {rule}; pair it with a potassium level ({_LEVEL.spoken}) for 08:00 tomorrow morning, both dated now."
        " Nothing at 3.5 mmol/L"
        f" and above, and nothing below 3.0 (I treat that myself). Report the value you went by. {tail}",
    )
    rows = results(drawing, person, POTASSIUM, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, POTASSIUM.codes)
    since = drawing.now - _WINDOW
    last = truth.latest(found, until=drawing.now, since=since)
    assert last is not None, "the fact is inside the window"
    dose = _dose(last.value)
    expected = NOTHING
    if dose:
        due = tomorrow_at_eight(drawing.now)
        creates = (
            drug_order(person, _ORDER, dose, drawing.clock),
            service_order(person, _LEVEL, drawing.clock, due=due),
        )
        expected = Expected(creates=creates)
    return Case(
        kind="write" if dose else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={
            "patient": told,
            "order": _ORDER.as_parameters(),
            "level": _LEVEL.as_parameters(),
            **POTASSIUM.as_parameters(),
        },
        setup=(*person.planted, *rows),
        expected=expected,
        answer=answer(number(last.value, POTASSIUM)),
        traps=reading_traps(chart, POTASSIUM.codes, until=drawing.now, since=since),
    )


def _dose(value: Decimal) -> int | None:
    """Milliequivalents for a potassium in mmol/L; None where no order by mouth is due."""
    if value < 3 or value >= Decimal("3.5"):
        return None
    return 40 if value < Decimal("3.3") else 20


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read, and order the drug and the level, or neither."""
    patient = chart.patient(told["patient"])
    latest = chart.latest(patient, told["loinc"], since=chart.now - timedelta(hours=24))
    if latest is None:
        return Finish("not_done", note="No result in the last 24 hours.")
    value = chart.number(latest, told["unit"], told["analyte"])
    said = [f"{value} {told['unit']}"]
    if not 3 <= value < Decimal("3.5"):
        return Finish("not_done", said)
    _order_both(chart, patient, told, 20 if value >= Decimal("3.3") else 40)
    return Finish("done", said)


def _order_both(chart: Chart, patient: dict[str, Any], told: Mapping[str, Any], dose: int) -> None:
    due = (chart.now + timedelta(days=1)).replace(hour=8, minute=0, second=0, microsecond=0)
    chart.create(drug_request(patient, told["order"], dose, chart.clock))
    chart.create(service_request(patient, told["level"], chart.clock, occurrenceDateTime=due.isoformat()))


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always order 20 mEq and the level."""
    patient = chart.patient(told["patient"])
    _order_both(chart, patient, told, 20)
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="potassium-replacement",
    about="potassium by mouth where it is low, with a level for the morning",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "Kraft MD et al. Treatment of electrolyte disorders in adult patients in the intensive care unit."
        " Am J Health Syst Pharm 62:1663, 2005",
        "Klor-Con powder (potassium chloride) for oral solution, prescribing information, 2024 (at most 40 mEq a dose)",
    ),
)
