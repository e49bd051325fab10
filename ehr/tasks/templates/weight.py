"""Chart a weight in the unit in which it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.drugs import concept
from ehr.tasks.expectations import charted
from ehr.tasks.measures import WEIGHT
from ehr.tasks.synthetic.codes import LOINC, TERMINOLOGY, UCUM
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_time
from ehr.verify.expected import Expected

_UNITS = (("kg", "kg", 46, 128), ("[lb_av]", "lb", 101, 280), ("kg", "kg", 46, 128))


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """In kilograms or in pounds, of this morning; for every fifth or so, somebody who has a namesake."""
    dice = drawing.dice
    is_namesake = drawing.index % 5 == 1
    person = drawing.person(namesake=is_namesake)
    who, told = drawing.call(person)
    ucum, shown, low, high = _UNITS[drawing.index % len(_UNITS)]
    value = dice.whole(low * 10, high * 10) / 10
    at = (drawing.now - timedelta(minutes=dice.whole(5, 180))).replace(second=0, microsecond=0)
    instruction = drawing.say(
        f"{who} weighed {value} {shown} on {spoken_time(at)}. Please chart that, in {shown} as measured"
        f" (LOINC {WEIGHT.unit.code}).",
        f"New weight for {who}: {value} {shown}, scale reading of {spoken_time(at)}. Record it in the unit given, under"
        f" LOINC {WEIGHT.unit.code}.",
        f"Put a body weight (LOINC {WEIGHT.unit.code}) of {value} {shown} on the chart of {who}, measured"
        f" {spoken_time(at)}; keep it in {shown}.",
    )
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "value": value, "unit": ucum, "shown": shown, "at": at.isoformat()},
            setup=person.planted,
            expected=Expected(creates=(charted(person, WEIGHT, str(value), ucum, at.isoformat()),)),
            traps=drawing.namesake_traps(person),
        ),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """One weight, in its unit."""
    patient = chart.patient(told["patient"])
    category = {"system": TERMINOLOGY + "observation-category", "code": "vital-signs", "display": "Vital Signs"}
    chart.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "category": [{"coding": [category]}],
            "code": concept({"system": LOINC, "code": WEIGHT.unit.code, "display": WEIGHT.unit.display}),
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": told["at"],
            "valueQuantity": {"value": told["value"], "unit": told["shown"], "system": UCUM, "code": told["unit"]},
        }
    )
    return Finish("done")


TEMPLATE = Template(
    name="record-weight",
    about="chart a weight in the unit in which it was measured",
    draw=draw,
    oracle=oracle,
    blind=oracle,
    needs_chart=False,
)
