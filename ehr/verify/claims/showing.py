"""What a trace showed: values under their codes, people, and nothing else that stands in the JSON.

Rules for counting:

- A call counts if its status is ok, the server answered with 2xx, and it is no write. Of its result, resources count:
  the one that was read, or those in a Bundle's entries (matches and includes), and what they contain. An
  OperationOutcome, links, full addresses, search parameters, headers, totals and texts never count.
- Each call counts by itself: a retry after a failed call counts, the failed one does not, and a row that was shown
  twice is one row.
- A resource that the agent wrote supports nothing from that write on, whoever's it was before: neither the answer to
  the write nor a later read. So does a row that says what a body says that the agent sent, where the server did not
  tell its id. What was read before the write counts.
- A value is a Quantity or a whole number: of an Observation and of its components, under their codes; a dose of an
  order or an administration of a drug, and a strength or dose in the names and texts of it, under the drug's. A value
  with a comparator (`<5`) is none, nor is one that is entered in error or cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ehr.verify.claims.drugs import drug_readings
from ehr.verify.claims.fhir import (
    dict_of,
    list_of,
    local,
    number_of,
    quantity_of,
    reference_of,
    resources_in,
    times_of,
)
from ehr.verify.claims.names import concept_of
from ehr.verify.claims.reading import Person, Reading
from ehr.verify.claims.words import phrase

_DRUGS = frozenset({"MedicationRequest", "MedicationStatement", "MedicationAdministration", "MedicationDispense"})
_VOID = frozenset({"entered-in-error", "cancelled"})


@dataclass
class Showing:
    """What the calls of a trace showed. `void` are values that were entered in error, `totals` those of searches."""

    readings: list[Reading] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    void: list[Reading] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)


def show(into: Showing, body: Any, call: int, series: int, hidden: Hidden) -> None:
    """Add what a result's body shows."""
    medications: dict[str, Any] = {}
    resources = list(resources_in(body, hidden.references))
    for resource in resources:
        reference = reference_of(resource)
        if resource.get("resourceType") == "Medication" and reference:
            medications[reference] = resource.get("code")
    for resource in resources:
        kind, reference = resource["resourceType"], reference_of(resource)
        if kind == "Patient":
            into.people.append(_person(resource, call, reference))
        elif kind == "Observation" or kind in _DRUGS:
            found = (
                _observed(resource, call, series, reference)
                if kind == "Observation"
                else drug_readings(resource, call, series, reference, medications)
            )
            is_void = str(resource.get("status")) in _VOID
            (into.void if is_void else into.readings).extend(each for each in found if not hidden.says(each))


class Hidden:
    """What the agent wrote so far: references, and what the bodies that it sent say."""

    def __init__(self) -> None:
        self.references: set[str] = set()
        self._said: set[tuple[Any, ...]] = set()

    def wrote(self, body: Any) -> None:
        """The agent sent this body (a resource, or a Bundle of them)."""
        for resource in resources_in(body):
            kind = resource["resourceType"]
            if kind == "Observation":
                self._said |= {_saying(each) for each in _observed(resource, 0, 0, "")}
            elif kind in _DRUGS:
                self._said |= {_saying(each) for each in drug_readings(resource, 0, 0, "", {})}

    def says(self, reading: Reading) -> bool:
        """Whether a body that the agent sent says what this row says."""
        return bool(self._said) and _saying(reading) in self._said


def _saying(reading: Reading) -> tuple[Any, ...]:
    return reading.codes, reading.value, reading.unit, reading.patient, reading.times[:1], reading.path


def _observed(resource: Mapping[str, Any], call: int, series: int, reference: str) -> Iterator[Reading]:
    times = times_of(resource)
    patient = local(resource.get("subject"))
    parts = [("", resource)]
    parts += [(f"component[{n}].", dict_of(part)) for n, part in enumerate(list_of(resource.get("component")))]
    for place, part in parts:
        amount = _amount(part)
        if amount is None:
            continue
        value, unit, element = amount
        codes, names, measure = concept_of(part.get("code"))
        yield Reading(
            call,
            series,
            reference,
            f"{place}{element}",
            codes,
            names,
            measure,
            patient,
            value,
            unit,
            times,
            "observation",
        )


def _amount(part: Mapping[str, Any]) -> tuple[Decimal, str | None, str] | None:
    quantity = part.get("valueQuantity")
    if isinstance(quantity, dict):
        found = quantity_of(quantity)
        return (*found, "valueQuantity") if found else None
    whole = part.get("valueInteger")
    if isinstance(whole, int) and not isinstance(whole, bool):
        value = number_of(whole)
        return (value, None, "valueInteger") if value is not None else None
    return None


def _person(resource: Mapping[str, Any], call: int, reference: str) -> Person:
    born = resource.get("birthDate")
    identifiers = [dict_of(each).get("value") for each in list_of(resource.get("identifier"))]
    names = [
        phrase(" ".join([*(str(given) for given in list_of(name.get("given"))[:1]), str(name.get("family", ""))]))
        for name in map(dict_of, list_of(resource.get("name")))
    ]
    return Person(
        call,
        reference,
        born if isinstance(born, str) else None,
        tuple(value for value in identifiers if isinstance(value, str) and value),
        tuple(words for words in names if len(words) > 1),
    )
