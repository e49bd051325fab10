"""Order an urgent ECG where potassium is 6.0 mmol/L or more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.careless import reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, service_request
from ehr.tasks.expectations import answer, number, service_order
from ehr.tasks.measures import POTASSIUM
from ehr.tasks.planting import results
from ehr.tasks.scene import HOUR, Fact, Plan, is_quiet, scene, spread
from ehr.tasks.synthetic.codes import SNOMED
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Expected

_ECG = Code(SNOMED, "268400002", "12 lead ECG")
_LIMIT = Decimal("6.0")
_HIGH, _BELOW = (6.0, 6.1, 6.2, 6.4, 6.6, 6.8), (5.1, 5.4, 5.6, 5.7, 5.8, 5.9)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: at the limit or above, or below it."""
    dice = drawing.dice
    hours = dice.pick((6, 12))
    window = hours * HOUR
    age = window if dice.chance(0.25) else spread(drawing, 2.2 * HOUR, window - HOUR)
    facts = (Fact(dice.pick(_HIGH), age), Fact(dice.pick(_BELOW), age))
    extras = {name for name in ("status", "future") if dice.chance(0.5)}
    if age != window:
        extras.add(dice.pick(("rivals", "tie")))
    plan = Plan(POTASSIUM, facts, window, frozenset(extras), 0.15)
    return twins(drawing, lambda again, fact: _build(again, plan, fact, hours), facts)


def _build(drawing: Drawing, plan: Plan, fact: Fact, hours: int) -> Case:
    person = drawing.person(is_quiet(drawing, POTASSIUM, drawing.now - plan.oldest - HOUR / 10))
    who, told = drawing.call(person)
    tail = "Of two samples of the same time the one reported later counts."
    instruction = drawing.say(
        f"Look at the latest serum potassium of {who} from the last {hours} hours. At 6.0 mmol/L or above order a"
        f" 12-lead ECG as urgent ({_ECG.spoken}), dated now; below that order nothing. Tell me the value either way."
        f" {tail}",
        f"Hyperkalaemia check for {who}: if the newest serum potassium of the past {hours} hours is 6.0 mmol/L or more,"
        f" place an urgent order for a 12-lead ECG ({_ECG.spoken}), dated now. Otherwise leave it. Report the"
        " potassium."
        f" {tail}",
    )
    rows = results(drawing, person, POTASSIUM, scene(drawing, plan, fact))
    chart = drawing.ward.chart(person, "Observation") + rows
    found = truth.readings(chart, POTASSIUM.codes)
    since = drawing.ago(hours=hours)
    last = truth.latest(found, until=drawing.now, since=since)
    assert last is not None, "the fact is inside the window"
    is_high = last.value >= _LIMIT
    order = Expected(creates=(service_order(person, _ECG, drawing.clock, urgent=True),))
    return Case(
        kind="write" if is_high else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "hours": hours, "ecg": _ECG.as_parameters(), **POTASSIUM.as_parameters()},
        setup=(*person.planted, *rows),
        expected=order if is_high else NOTHING,
        answer=answer(number(last.value, POTASSIUM)),
        traps=reading_traps(chart, POTASSIUM.codes, until=drawing.now, since=since),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read, and order or not."""
    patient = chart.patient(told["patient"])
    latest = chart.latest(patient, told["loinc"], since=chart.now - timedelta(hours=told["hours"]))
    if latest is None:
        return Finish("not_done", note="No result in that time.")
    value = chart.number(latest, told["unit"], told["analyte"])
    if value >= 6:
        chart.create(service_request(patient, told["ecg"], chart.clock, priority="urgent"))
    return Finish("done" if value >= 6 else "not_done", [f"{value} {told['unit']}"])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always order it."""
    patient = chart.patient(told["patient"])
    chart.create(service_request(patient, told["ecg"], chart.clock, priority="urgent"))
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="hyperkalaemia-ecg",
    about="an urgent ECG where potassium is 6.0 mmol/L or more",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=("UK Kidney Association. Clinical practice guideline: treatment of acute hyperkalaemia in adults. 2023",),
)
