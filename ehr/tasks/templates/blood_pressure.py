"""Chart a blood pressure that was just measured."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, concept
from ehr.tasks.measures import LOINC
from ehr.tasks.synthetic.codes import BLOOD_PRESSURE, TERMINOLOGY, UCUM, VITALS
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_time
from ehr.verify.expected import Create, Expected, clause, coded, instant, quantity, refers_to

_PANEL = Code(LOINC, BLOOD_PRESSURE[0], BLOOD_PRESSURE[1])
_SYSTOLIC = Code(LOINC, VITALS["systolic"].code, VITALS["systolic"].display)
_DIASTOLIC = Code(LOINC, VITALS["diastolic"].code, VITALS["diastolic"].display)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """A reading of a few minutes ago; for every fifth or so, somebody who has a namesake."""
    dice = drawing.dice
    is_namesake = drawing.index % 5 == 3
    person = drawing.person(namesake=is_namesake)
    who, told = drawing.call(person)
    systolic, diastolic = dice.whole(96, 178), dice.whole(54, 92)
    at = (drawing.now - timedelta(minutes=dice.whole(2, 50))).replace(second=0, microsecond=0)
    codes = f"{_PANEL.spoken}, with systolic {_SYSTOLIC.code} and diastolic {_DIASTOLIC.code}"
    instruction = drawing.say(
        f"I measured a blood pressure of {systolic}/{diastolic} mmHg in {who} on {spoken_time(at)}. Please chart it as"
        f" one entry ({codes}).",
        f"Chart this for {who}: BP {systolic} over {diastolic} mmHg, taken {spoken_time(at)}. One blood pressure entry,"
        f" {codes}.",
        f"{spoken_time(at)}: the cuff showed {systolic}/{diastolic} mmHg for {who}. Put it on the chart as a single"
        f" final blood pressure reading ({codes}).",
    )
    component = "component.where(code.coding.where(system = '{0.system}' and code = '{0.code}').exists()).value"
    expected = Create(
        type="Observation",
        clauses=(
            refers_to("patient", "subject", person.reference),
            coded("panel", "code", _PANEL.system, _PANEL.code, display="Blood pressure"),
            quantity("systolic", component.format(_SYSTOLIC), systolic, "mm[Hg]"),
            quantity("diastolic", component.format(_DIASTOLIC), diastolic, "mm[Hg]"),
            instant("when", "effective", at.isoformat(), within=timedelta(minutes=1)),
            clause("is final", "status = 'final'", label="WRONG_STATUS"),
        ),
    )
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "systolic": systolic, "diastolic": diastolic, "at": at.isoformat()},
            setup=person.planted,
            expected=Expected(creates=(expected,)),
            traps=drawing.namesake_traps(person),
        ),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """One panel with two components."""
    patient = chart.patient(told["patient"])
    components = [
        {"code": concept(code.as_parameters()), "valueQuantity": _pressure(told[name])}
        for name, code in (("systolic", _SYSTOLIC), ("diastolic", _DIASTOLIC))
    ]
    category = {"system": TERMINOLOGY + "observation-category", "code": "vital-signs", "display": "Vital Signs"}
    chart.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "category": [{"coding": [category]}],
            "code": concept(_PANEL.as_parameters()),
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": told["at"],
            "component": components,
        }
    )
    return Finish("done")


def _pressure(value: int) -> dict[str, Any]:
    return {"value": value, "unit": "mmHg", "system": UCUM, "code": "mm[Hg]"}


TEMPLATE = Template(
    name="record-blood-pressure",
    about="chart a blood pressure that was just measured",
    draw=draw,
    oracle=oracle,
    blind=oracle,
    needs_chart=False,
)
