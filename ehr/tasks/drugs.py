"""Drugs, tests and referrals as an order set names them, and the resources that order them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ehr.tasks.synthetic.codes import DRUGS, LOINC, NDC, ROUTES, RXNORM, SNOMED, UCUM

_SYSTEM_NAMES: Final = {RXNORM: "RxNorm", NDC: "NDC", LOINC: "LOINC", SNOMED: "SNOMED CT"}

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Code:
    """A code of a terminology and what it stands for."""

    system: str
    code: str
    display: str

    @property
    def spoken(self) -> str:
        """`LOINC 2823-3`: as an order set names it."""
        return f"{_SYSTEM_NAMES[self.system]} {self.code}"

    def as_parameters(self) -> dict[str, str]:
        """For a case's parameters."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DrugOrder:
    """A drug with the unit (UCUM) and route in which it is ordered."""

    drug: Code
    unit: str
    route: str

    def as_parameters(self) -> dict[str, Any]:
        """For a case's parameters."""
        return {"drug": self.drug.as_parameters(), "unit": self.unit, "route": self.route}


def drug(key: str) -> Code:
    """A drug of the synthetic record's table."""
    found = DRUGS[key]
    return Code(found.system, found.code, found.display)


def drug_request(patient: Resource, order: Mapping[str, Any], dose: float, clock: str, **more: Any) -> Resource:
    """The MedicationRequest that orders one dose of a drug; `order` is a `DrugOrder` as parameters."""
    route, shown = ROUTES[order["route"]]
    quantity = {"value": dose, "unit": order["unit"], "system": UCUM, "code": order["unit"]}
    return {
        "resourceType": "MedicationRequest",
        "status": "active",
        "intent": "order",
        "medicationCodeableConcept": concept(order["drug"]),
        "subject": {"reference": f"Patient/{patient['id']}"},
        "authoredOn": clock,
        "dosageInstruction": [
            {
                "route": {"coding": [{"system": SNOMED, "code": route, "display": shown}]},
                "doseAndRate": [{"doseQuantity": quantity}],
            }
        ],
        **more,
    }


def service_request(patient: Resource, test: Mapping[str, str], clock: str, **more: Any) -> Resource:
    """The ServiceRequest that orders a test or a referral; `test` is a `Code` as parameters."""
    return {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "code": concept(test),
        "subject": {"reference": f"Patient/{patient['id']}"},
        "authoredOn": clock,
        **more,
    }


def concept(code: Mapping[str, str]) -> Resource:
    """A CodeableConcept of one `Code` as parameters."""
    coding = {"system": code["system"], "code": code["code"], "display": code["display"]}
    return {"coding": [coding], "text": code["display"]}
