"""Plants orders, problems and allergies that look like the record's: what a template says of them, and the rest copied.

All take the id to plant under, so that a template decides the order of ids (`planting.new_ids`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.clone import written_like
from ehr.tasks.drugs import Code, Resource
from ehr.tasks.planting import made_like, stamped
from ehr.tasks.synthetic.codes import ROUTES, SNOMED, TERMINOLOGY, UCUM, Drug
from ehr.tasks.template import Drawing
from ehr.tasks.ward import Person


def medication(
    drawing: Drawing,
    person: Person,
    id: str,
    drug: Drug,
    *,
    at: datetime,
    status: str = "active",
    dose: float | None = None,
) -> Resource:
    """A medication order of a drug of the synthetic record's table, in its usual dose or in another."""
    skeleton: Resource = {
        "status": status, "intent": "order", "subject": {"reference": person.reference}, "authoredOn": drawing.clock,
    }  # fmt: skip

    def is_simple(row: Resource) -> bool:
        is_order = row.get("intent") == "order" and "medicationCodeableConcept" in row
        return is_order and "asNeededBoolean" not in row.get("dosageInstruction", [{}])[0]

    def suits(row: Resource) -> bool:
        return row.get("status") == status and is_simple(row)

    made = made_like(drawing, person, "MedicationRequest", id, skeleton, at, (status, suits), ("simple", is_simple))
    made.pop("medicationReference", None)
    made |= {"status": status, "intent": "order", "medicationCodeableConcept": _drug_concept(drug)}
    made["dosageInstruction"] = [_dosage(drug, dose or drug.dose)]
    return stamped(drawing, _dated(made, "authoredOn", at, drawing), at)


def problem(
    drawing: Drawing, person: Person, id: str, what: Code, *, at: datetime, clinical: str = "active",
    verification: str = "confirmed",
) -> Resource:  # fmt: skip
    """A problem: since when, and whether it is there and confirmed.

    A resolved one ended three weeks later, where the record says of such problems when they ended.
    """
    skeleton: Resource = {"subject": {"reference": person.reference}, "onsetDateTime": drawing.clock}
    if clinical == "resolved":
        skeleton["abatementDateTime"] = drawing.clock

    def suits(row: Resource) -> bool:
        return clinical in truth.codes(row.get("clinicalStatus")) and "onsetDateTime" in row

    made = made_like(drawing, person, "Condition", id, skeleton, at, (clinical, suits))
    if clinical != "resolved":
        made.pop("abatementDateTime", None)
    made["code"] = coded(what)
    made |= _statuses("condition-clinical", "condition-ver-status", clinical, verification)
    made = _dated(made, "onsetDateTime", at, drawing)
    if "recordedDate" in made:
        made = _dated(made, "recordedDate", at, drawing)
    if "abatementDateTime" in made:
        made = _dated(made, "abatementDateTime", at + timedelta(days=21), drawing)
    return stamped(drawing, made, at)


def allergy(
    drawing: Drawing, person: Person, id: str, what: Code, *, at: datetime, category: str = "medication",
    reaction: tuple[str, str, str] | None = None, verification: str = "confirmed",
) -> Resource:  # fmt: skip
    """An active allergy: to what, with which reaction (SNOMED CT code, words, severity), confirmed or not."""
    skeleton: Resource = {"type": "allergy", "patient": {"reference": person.reference}}

    def suits(row: Resource) -> bool:
        return category in row.get("category", ()) and "recordedDate" in row and ("reaction" in row) == bool(reaction)

    made = made_like(drawing, person, "AllergyIntolerance", id, skeleton, at, ((category, bool(reaction)), suits))
    made.pop("note", None)
    made |= {"category": [category], "code": coded(what)}
    made |= _statuses("allergyintolerance-clinical", "allergyintolerance-verification", "active", verification)
    if reaction:
        code, words, severity = reaction
        manifestation = coded(Code(SNOMED, code, words))
        made["reaction"] = [{"manifestation": [manifestation], "severity": severity}]
        made["criticality"] = "high" if severity == "severe" else "low"
    return stamped(drawing, _dated(made, "recordedDate", at, drawing), at)


def request(
    drawing: Drawing, person: Person, id: str, what: Code, *, at: datetime, due: datetime, status: str = "active",
    text: str | None = None,
) -> Resource:  # fmt: skip
    """An order of a test, placed at one time and due at another."""
    skeleton: Resource = {
        "status": status, "intent": "order", "subject": {"reference": person.reference}, "authoredOn": drawing.clock,
    }  # fmt: skip

    def suits(row: Resource) -> bool:
        return row.get("status") == status and row.get("intent") == "order"

    made = made_like(drawing, person, "ServiceRequest", id, skeleton, at, (status, suits))
    for name in ("note", "occurrencePeriod", "occurrenceTiming"):
        made.pop(name, None)
    made |= {"status": status, "intent": "order", "code": {**coded(what), "text": text or what.display}}
    made = _dated(made, "authoredOn", at, drawing)
    return stamped(drawing, _dated(made, "occurrenceDateTime", due, drawing, like="authoredOn"), at)


def coded(what: Code) -> Resource:
    """A concept with one coding; text and display are the same words."""
    return {"coding": [{"system": what.system, "code": what.code, "display": what.display}], "text": what.display}


def _drug_concept(drug: Drug) -> Resource:
    return {"coding": [{"system": drug.system, "code": drug.code, "display": drug.display}], "text": drug.name}


def _dosage(drug: Drug, dose: float) -> Resource:
    number: float = int(dose) if dose == int(dose) else dose
    often = {(1, 1, "d"): "once daily", (2, 1, "d"): "twice daily", (3, 1, "d"): "three times daily"}
    words = often.get((drug.times, drug.per, drug.per_unit), f"{drug.times} per {drug.per} {drug.per_unit}")
    repeat = {"frequency": drug.times, "period": drug.per, "periodUnit": drug.per_unit}
    quantity = {"value": number, "unit": drug.shown, "system": UCUM, "code": drug.unit}
    return {
        "text": f"{number} {drug.shown} {words}",
        "timing": {"repeat": repeat},
        "route": coded(Code(SNOMED, *ROUTES[drug.route])),
        "doseAndRate": [{"doseQuantity": quantity}],
    }


def _statuses(clinical_system: str, verification_system: str, clinical: str, verification: str) -> dict[str, Any]:
    """Clinical and verification status; what was entered in error has no clinical status (con-5, ait-2)."""
    made: dict[str, Any] = {
        "verificationStatus": {"coding": [{"system": TERMINOLOGY + verification_system, "code": verification}]}
    }
    if verification != "entered-in-error":
        made["clinicalStatus"] = {"coding": [{"system": TERMINOLOGY + clinical_system, "code": clinical}]}
    return made


def _dated(made: Resource, element: str, at: datetime, drawing: Drawing, *, like: str | None = None) -> Resource:
    example = str(made.get(element) or made.get(like or element) or drawing.clock)
    if len(example) > 10 and not truth.instant(example).second:
        at = at.replace(second=0, microsecond=0)
    return {**made, element: written_like(example, at)}
