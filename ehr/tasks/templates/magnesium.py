"""Replace magnesium by tier, where the last day's result is low; else order nothing and say what was found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import DrugOrder, drug, drug_request
from ehr.tasks.expectations import answer, drug_order, moment, number
from ehr.tasks.measures import MAGNESIUM
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Expected

_ORDER = DrugOrder(drug("magnesium-sulfate"), "g", "intravenous")
_NORMAL = Decimal("1.9")
_TIERS = ((Decimal("1.0"), 4), (Decimal("1.5"), 2), (_NORMAL, 1))
_WINDOW = 24 * HOUR
_LOW = (0.8, 0.9, 1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8)
_FINE = (1.9, 2.0, 2.1, 2.2, 2.3, 2.4)
_SAFE_IN_MMOL = (0.8, 0.9, 1.2, 1.3, 1.7, 1.8, 2.1, 2.2, 2.3)  # no tier begins within the rounding of the other unit


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: low or not; of two tiers; or low in the window and before it."""
    dice = drawing.dice
    kind = ("fine", "tier", "before")[drawing.index % 3]
    unit = MAGNESIUM.other if dice.chance(0.4) else None
    low = [value for value in _LOW if unit is None or value in _SAFE_IN_MMOL]
    fine = [value for value in _FINE if unit is None or value in _SAFE_IN_MMOL]
    first = dice.pick(low)
    inside = _WINDOW if dice.chance(0.25) and kind != "before" else spread(drawing, 2.2 * HOUR, 18 * HOUR)
    extras = {name for name in ("status", "future") if dice.chance(0.45)}
    facts = (Fact(first, inside, unit), Fact(first, _WINDOW + timedelta(minutes=dice.whole(1, 700)), unit))
    if kind != "before":
        others = (
            fine
            if kind == "fine"
            else [value for value in low if _dose(Decimal(str(value))) != _dose(Decimal(str(first)))]
        )
        facts = (facts[0], Fact(dice.pick(others), inside, unit))
        extras |= {dice.pick(("rivals", "tie", "tie"))} if inside != _WINDOW else set()
    plan = Plan(MAGNESIUM, facts, _WINDOW, frozenset(extras), 0.15)
    return twins(drawing, lambda again, fact: _build(again, plan, fact), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact) -> Case:
    person = drawing.person(is_quiet(drawing, MAGNESIUM, drawing.now - plan.oldest - HOUR / 10))
    who, told = drawing.call(person)
    tiers = "below 1.0 mg/dL 4 g, from 1.0 to below 1.5 mg/dL 2 g, from 1.5 to below 1.9 mg/dL 1 g, each as one dose"
    tail = "Of two samples of the same time the one reported later counts."
    instruction = drawing.say(
        f"Please check the latest serum magnesium of {who} from the last 24 hours. If it is low, order magnesium"
        f" sulfate intravenously ({_ORDER.drug.spoken}), dated now: {tiers}. At 1.9 mg/dL or more, or without a"
        " result in the"
        " last 24 hours, order nothing. Tell me the value you went by in mg/dL; without one, when the last sample"
        f" before that was taken. {tail}",
        f"Magnesium protocol for {who}, please. Go by the most recent serum magnesium of the past 24 hours:"
        f" {tiers}, magnesium sulfate IV ({_ORDER.drug.spoken}), dated now; 1.9 mg/dL and above needs nothing. No"
        " sample in these 24 hours, no order. Report the value in mg/dL, or if there was none, the time of the sample"
        f" before. {tail}",
    )
    rows = results(drawing, person, MAGNESIUM, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, MAGNESIUM.codes)
    since = drawing.now - _WINDOW
    inside = truth.latest(found, until=drawing.now, since=since)
    traps = reading_traps(chart, MAGNESIUM.codes, until=drawing.now, since=since, else_ever=True)
    dose: int | None = None
    if inside:
        value = truth.converted(inside, "mg/dL", "magnesium")
        dose = _dose(value)
        expected_answer = answer(number(round(value, 4), MAGNESIUM))
    else:
        before = truth.latest(found, until=drawing.now)
        assert before is not None, "the scene has older rows"
        expected_answer = answer(moment(before.at))
    order = Expected(creates=(drug_order(person, _ORDER, dose, drawing.clock),)) if dose else NOTHING
    return Case(
        kind="write" if dose else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "order": _ORDER.as_parameters(), **MAGNESIUM.as_parameters()},
        setup=(*person.planted, *rows),
        expected=order,
        answer=expected_answer,
        traps=traps | ({"unit"} if inside and inside.unit != "mg/dL" else set()),
    )


def _dose(value: Decimal) -> int | None:
    """Grams for a magnesium in mg/dL; None where none is due."""
    return next((grams for limit, grams in _TIERS if value < limit), None)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read, convert, and order by the tiers told."""
    patient = chart.patient(told["patient"])
    latest = chart.latest(patient, told["loinc"], since=chart.now - timedelta(hours=24))
    if latest is None:
        before = chart.latest(patient, told["loinc"])
        return Finish("not_done", [before.time] if before else [], "No result in the last 24 hours.")
    value = chart.number(latest, told["unit"], told["analyte"])
    said = [f"{value} {told['unit']}"]
    if value >= Decimal("1.9"):
        return Finish("not_done", said, "Not low.")
    grams = 4 if value < 1 else 2 if value < Decimal("1.5") else 1
    chart.create(drug_request(patient, told["order"], grams, chart.clock))
    return Finish("done", said)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always order the smallest dose."""
    patient = chart.patient(told["patient"])
    chart.create(drug_request(patient, told["order"], 1, chart.clock))
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="magnesium-replacement",
    about="magnesium by tier where the last day's result is low",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "Kraft MD et al. Treatment of electrolyte disorders in adult patients in the intensive care unit."
        " Am J Health Syst Pharm 62:1663, 2005",
        "Jiang Y et al. MedAgentBench: a virtual EHR environment to benchmark medical LLM agents. NEJM AI 2, 2025"
        " (the doses by tier)",
    ),
)
