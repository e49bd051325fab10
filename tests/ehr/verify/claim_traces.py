"""Traces of an agent on a FHIR server, in few words, for the tests of the clinical claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ehr.verify.claims import CLINICAL, ClinicalClaim
from grounding import Answer, Cache, Grounding, Judged, kappa_ground
from harness.trace import Call

LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
CLOCK = "2026-01-15T10:15:00+00:00"
NOW = f"It is now {CLOCK}."
ASKED = "What is the latest serum potassium of the patient with MRN 40965198?"

CODES = {
    "potassium": ("2823-3", "Potassium [Moles/volume] in Serum or Plasma", "mmol/L"),
    "sodium": ("2951-2", "Sodium [Moles/volume] in Serum or Plasma", "mmol/L"),
    "glucose": ("2345-7", "Glucose [Mass/volume] in Serum or Plasma", "mg/dL"),
    "glucose-molar": ("14749-6", "Glucose [Moles/volume] in Serum or Plasma", "mmol/L"),
    "magnesium": ("19123-9", "Magnesium [Mass/volume] in Serum or Plasma", "mg/dL"),
    "magnesium-molar": ("2601-3", "Magnesium [Moles/volume] in Serum or Plasma", "mmol/L"),
    "weight": ("29463-7", "Body weight", "kg"),
    "temperature": ("8310-5", "Body temperature", "Cel"),
    "heart rate": ("8867-4", "Heart rate", "/min"),
    "saturation": ("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry", "%"),
    "a1c": ("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "%"),
    "inr": ("6301-6", "INR in Platelet poor plasma by Coagulation assay", "{INR}"),
    "cholesterol": ("2093-3", "Total Cholesterol", "mg/dL"),
    "ldl": ("18262-6", "Low Density Lipoprotein Cholesterol", "mg/dL"),
    "platelets": ("777-3", "Platelets [#/volume] in Blood by Automated count", "10*3/uL"),
    "urine glucose": ("5792-7", "Glucose [Mass/volume] in Urine by Test strip", "mg/dL"),
    "fev1/fvc": ("19926-5", "FEV1/FVC", "%"),
    "codfish": ("6082-2", "Codfish IgE Ab in Serum", "kU/L"),
}


def observation(
    what: str, value: Any, at: str = "2026-01-14T09:30:00+00:00", *, id: str = "", unit: str = "", **fields: Any
) -> dict[str, Any]:
    """An Observation of one of `CODES`. Its id is made of what it says, unless one is given."""
    code, display, own = CODES[what]
    return {
        "resourceType": "Observation",
        "id": id or f"{code}-{value}-{at[5:16]}".replace(":", "").replace(".", "-"),
        "status": "final",
        "code": {"coding": [{"system": LOINC, "code": code, "display": display}], "text": display.split(" [")[0]},
        "subject": {"reference": "Patient/p17"},
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit or own, "system": UCUM, "code": unit or own},
    } | fields


def pressure(upper: int, lower: int, at: str = "2026-01-14T09:30:00+00:00", **fields: Any) -> dict[str, Any]:
    """A blood pressure panel."""

    def part(code: str, value: int) -> dict[str, Any]:
        unit = {"unit": "mmHg", "system": UCUM, "code": "mm[Hg]"}
        return {"code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": {"value": value, **unit}}

    return {
        "resourceType": "Observation",
        "id": f"bp-{upper}-{lower}",
        "status": "final",
        "code": {"coding": [{"system": LOINC, "code": "85354-9", "display": "Blood pressure panel"}]},
        "subject": {"reference": "Patient/p17"},
        "effectiveDateTime": at,
        "component": [part("8480-6", upper), part("8462-4", lower)],
    } | fields


def patient(id: str = "p17", mrn: str = "40965198", born: str = "1993-05-04", **fields: Any) -> dict[str, Any]:
    """A Patient."""
    return {
        "resourceType": "Patient",
        "id": id,
        "identifier": [{"system": "http://hospital.example/mrn", "value": mrn}],
        "name": [{"family": "Baker", "given": ["Angela"]}],
        "birthDate": born,
    } | fields


def order(drug: str, dose: float, *, id: str = "o1", **fields: Any) -> dict[str, Any]:
    """A MedicationRequest."""
    unit = {"unit": "mg", "system": UCUM, "code": "mg"}
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": "active",
        "intent": "order",
        "medicationCodeableConcept": {
            "coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "310429", "display": drug}]
        },
        "subject": {"reference": "Patient/p17"},
        "authoredOn": "2026-01-10T08:00:00+00:00",
        "dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": dose, **unit}}]}],
    } | fields


def bundle(*resources: dict[str, Any], following: str | None = None, **fields: Any) -> dict[str, Any]:
    """A searchset of these."""
    base = "http://fhir.hospital.example/fhir"
    links = [{"relation": "self", "url": f"{base}/Observation?value-quantity=9.9&patient=p17"}]
    links += [{"relation": "next", "url": f"{base}?{following}"}] if following else []
    return {
        "resourceType": "Bundle",
        "type": "searchset",
        "total": len(resources),
        "link": links,
        "entry": [
            {
                "fullUrl": f"{base}/{each['resourceType']}/{each.get('id')}",
                "resource": each,
                "search": {"mode": "match"},
            }
            for each in resources
        ],
    } | fields


def call(name: str, arguments: dict[str, Any], body: Any, *, status: int = 200, **fields: Any) -> Call:
    """A call of a tool that answers with this body; `trace` numbers it."""
    made: dict[str, Any] = {
        "position": 1, "step": 1, "name": name, "arguments": arguments, "status": "ok" if status < 400 else "error",
        "result": {"status": status, "headers": {}, "body": body}, "http": {"status": status},
    }  # fmt: skip
    return Call(**made | fields)


def search(*resources: dict[str, Any], following: str | None = None, **fields: Any) -> Call:
    """A search that found these."""
    found = bundle(*resources, following=following)
    return call("fhir_search", {"type": "Observation", "parameters": {"patient": "p17"}}, found, **fields)


def read(resource: dict[str, Any], **fields: Any) -> Call:
    """A read of one resource."""
    return call("fhir_read", {"type": resource["resourceType"], "id": resource["id"]}, resource, **fields)


def create(resource: dict[str, Any], id: str = "new1", **fields: Any) -> Call:
    """A create that the server carried out."""
    sent = {key: value for key, value in resource.items() if key != "id"}
    arguments = {"type": resource["resourceType"], "resource": sent}
    return call("fhir_create", arguments, {**resource, "id": id}, **{"status": 201} | fields)


@dataclass(frozen=True)
class Trace:
    """A trace as the predicate takes it."""

    calls: Sequence[Call]
    loss: Sequence[str] = ()


def trace(*calls: Call, loss: Sequence[str] = ()) -> Trace:
    """The calls in order, numbered from 1."""
    return Trace([each.model_copy(update={"position": at, "step": at}) for at, each in enumerate(calls, 1)], loss)


def judged(answer: str, *calls: Call, asked: str = ASKED, loss: Sequence[str] = ()) -> Grounding:
    """What the predicate says of an answer to an instruction."""
    return kappa_ground(trace(*calls, loss=loss), answer, CLINICAL, given=(asked, NOW), cache=Cache())


def outcome(answer: str, *calls: Call, asked: str = ASKED, loss: Sequence[str] = ()) -> str:
    """The outcome alone."""
    return judged(answer, *calls, asked=asked, loss=loss).outcome


def only(answer: str, *calls: Call, asked: str = ASKED) -> Judged:
    """The one claim of the answer, judged."""
    (one,) = judged(answer, *calls, asked=asked).entities
    return one


def claims(answer: str, asked: str = "Tell me about this patient.") -> list[ClinicalClaim]:
    """The claims of an answer."""
    return CLINICAL.claims(Answer.of(answer), (asked, NOW))


def found(answer: str, asked: str = "Tell me about this patient.") -> list[tuple[str, str]]:
    """The kinds and words of the claims of an answer."""
    return [(claim.kind, claim.text) for claim in claims(answer, asked)]
