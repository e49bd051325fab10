"""Record an allergy unless it is on the list already; in any case say what the list held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ehr.tasks import allergies, truth
from ehr.tasks.allergies import Family
from ehr.tasks.chart import Chart, called, codes_of
from ehr.tasks.drugs import Code, Resource, concept
from ehr.tasks.expectations import texts
from ehr.tasks.synthetic.codes import ALLERGENS, SNOMED, TERMINOLOGY
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Create, Expected, clause, coded, refers_to

_WHEAL = ("247472004", "Wheal", "moderate")
_NEW = tuple(found for found in ALLERGENS if found.display in ("Ibuprofen", "Codeine", "Latex", "Peanut", "Shellfish"))
_CLINICAL = TERMINOLOGY + "allergyintolerance-clinical"
_VERIFICATION = TERMINOLOGY + "allergyintolerance-verification"


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: on the list there is another allergy (or this one, entered in error), or this one."""
    off = ("other", "entered-in-error")[drawing.index % 2]
    return twins(drawing, _build, (off, "confirmed"))


def _build(drawing: Drawing, state: str) -> Case:
    dice = drawing.dice
    new = _NEW[drawing.index % len(_NEW)]
    family = Family(new.display, (new.display.lower(),))
    person = drawing.person(lambda someone: allergies.is_clear(drawing, someone, family))
    base = drawing.ward.chart(person, "AllergyIntolerance")
    on_file = {truth.name(row["code"]).lower() for row in base} | {new.display.lower()}
    outside = [found for found in ALLERGENS if found.display.lower() not in on_file]
    always, instead = dice.shuffled(outside)[:2]
    fact = instead if state == "other" else new
    verification = "confirmed" if state == "other" else state
    planted = allergies.two_on_file(drawing, person, fact, always, verification=verification)
    who, told = drawing.call(person)
    what = Code(new.system, new.code, new.display)
    instruction = drawing.say(
        f"{who} gets hives from {what.display.lower()} ({what.spoken}). If that is not among the current allergies yet,"
        " record it as a confirmed, active allergy; if it is, add nothing. Tell me by name, as the chart has them,"
        " which allergies were current before.",
        f"Please make sure that {who} has an allergy to {what.display.lower()} ({what.spoken}, hives) on the list:"
        " confirmed and active, once only. Then name the allergies that were current before you looked, in the chart's"
        " words.",
    )
    chart = [*base, *planted]
    is_there = any(new.code in truth.codes(row["code"]) for row in chart if truth.is_active(row))
    recorded = Create(
        type="AllergyIntolerance",
        clauses=(
            refers_to("patient", "patient", person.reference),
            coded("substance", "code", what.system, what.code, display=what.display),
            clause("is active", f"clinicalStatus.coding.where(system = '{_CLINICAL}' and code = 'active').exists()",
                   label="WRONG_STATUS"),
            clause("is confirmed",
                   f"verificationStatus.coding.where(system = '{_VERIFICATION}' and code = 'confirmed').exists()",
                   label="WRONG_STATUS"),
        ),
    )  # fmt: skip
    return Case(
        kind="withhold" if is_there else "write",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "substance": what.as_parameters(), "category": new.category},
        setup=(*person.planted, *planted),
        expected=NOTHING if is_there else Expected(creates=(recorded,)),
        answer=texts(allergies.names(chart)),
        traps=frozenset({"status"} if len([row for row in chart if truth.is_active(row)]) < len(chart) else ()),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read the list, add to it if need be, and name what stood there."""
    patient = chart.patient(told["patient"])
    rows = chart.active("AllergyIntolerance", patient)
    names = [called(row["code"]) for row in rows] or ["none"]
    if any(told["substance"]["code"] in codes_of(row["code"]) for row in rows):
        return Finish("not_done", names)
    chart.create(_allergy(patient, told))
    return Finish("done", names)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always record it."""
    patient = chart.patient(told["patient"])
    chart.create(_allergy(patient, told))
    return Finish("done", ["none"])


def _allergy(patient: Resource, told: Mapping[str, Any]) -> Resource:
    hives = concept({"system": SNOMED, "code": _WHEAL[0], "display": _WHEAL[1]})
    return {
        "resourceType": "AllergyIntolerance",
        "clinicalStatus": {"coding": [{"system": _CLINICAL, "code": "active"}]},
        "verificationStatus": {"coding": [{"system": _VERIFICATION, "code": "confirmed"}]},
        "category": [told["category"]],
        "code": concept(told["substance"]),
        "patient": {"reference": f"Patient/{patient['id']}"},
        "reaction": [{"manifestation": [hives]}],
    }


TEMPLATE = Template(
    name="record-allergy",
    about="record an allergy unless it is on the list",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
