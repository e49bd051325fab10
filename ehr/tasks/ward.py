"""A record as the templates see it: its people and their charts, read once, and examples to make planted rows like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, TypeVar

import orjson

from ehr.tasks import truth
from ehr.tasks.idshape import IdShape

SAMPLE = 8000
"""How many resources of a type are looked at for examples; a record may hold half a million of one type."""

Resource = dict[str, Any]
Found = TypeVar("Found")


class Records(Protocol):
    """What a ward needs of a record (`ehr.Record` is one)."""

    @property
    def clock(self) -> str:
        """The record's present, an ISO instant with zone."""
        ...

    def ids(self, type: str) -> list[str]:
        """The ids of a type, in a stable order."""
        ...

    def body(self, type: str, id: str) -> bytes | None:
        """A resource as stored, or None."""
        ...

    def iterate(self, type: str | None = None) -> Iterator[bytes]:
        """The resources of a type, as stored."""
        ...

    def of_patient(self, patient_id: str, type: str) -> list[bytes]:
        """A patient's resources of a type, as stored."""
        ...


@dataclass(frozen=True)
class Person:
    """A patient as people speak of one.

    `planted` are the resources that make someone who is not in the record; `double` is the one of the record whose name
    such a person has, where that is meant.
    """

    id: str
    given: str
    family: str
    birth_date: str
    gender: str | None
    mrn: str | None
    resource: Resource
    planted: tuple[Resource, ...] = ()
    double: Person | None = None

    @property
    def reference(self) -> str:
        """`Patient/<id>`."""
        return f"Patient/{self.id}"

    @property
    def name(self) -> str:
        """Given name and family name."""
        return f"{self.given} {self.family}"

    @classmethod
    def of(cls, patient: Resource, planted: tuple[Resource, ...] = ()) -> Person | None:
        """The person a Patient resource describes; None where it has no full name or no full birth date."""
        names = [name for name in patient.get("name", ()) if name.get("family") and name.get("given")]
        if not names or len(patient.get("birthDate", "")) != 10:
            return None
        called = next((name for name in names if name.get("use") == "official"), names[0])
        return cls(
            id=patient["id"],
            given=called["given"][0],
            family=called["family"],
            birth_date=patient["birthDate"],
            gender=patient.get("gender"),
            mrn=medical_record_number(patient),
            resource=patient,
            planted=planted,
        )


def medical_record_number(patient: Resource) -> str | None:
    """The value of the identifier of type MR (table v2-0203), if there is one."""
    for identifier in patient.get("identifier", ()):
        if "MR" in truth.codes(identifier.get("type")) and identifier.get("value"):
            return str(identifier["value"])
    return None


class Ward:
    """One record's people and charts, parsed where they are needed and kept. Not for several threads at once."""

    def __init__(self, record: Records) -> None:
        self._record = record
        self._charts: dict[tuple[str, str], list[Resource]] = {}
        self._shapes: dict[str, IdShape] = {}
        self._kept: dict[object, Any] = {}
        self.clock = record.clock
        self.now: datetime = truth.instant(record.clock)

    @cached_property
    def people(self) -> list[Person]:
        """Everyone alive with a full name, a full birth date and an MRN that is not the id, in the record's order."""
        alive = [orjson.loads(body) for body in self._record.iterate("Patient")]
        found = [Person.of(patient) for patient in alive if not _is_dead(patient)]
        return [person for person in found if person and person.mrn and person.mrn != person.id]

    @cached_property
    def names(self) -> list[tuple[str, str, str]]:
        """Every name of every patient, dead or alive: family and given name in small letters, birth date."""
        found = []
        for body in self._record.iterate("Patient"):
            patient = orjson.loads(body)
            for name in patient.get("name", ()):
                family = str(name.get("family", "")).lower()
                found += [(family, given.lower(), patient.get("birthDate", "")) for given in name.get("given", ())]
        return found

    def has_own_name(self, person: Person) -> bool:
        """Whether a search by this person's name, which matches beginnings, finds nobody else of the record."""
        family, given = person.family.lower(), person.given.lower()
        same = [name for name in self.names if name[0].startswith(family) and name[1].startswith(given)]
        return len(same) <= (0 if person.planted else 1)

    def chart(self, person: Person, type: str) -> list[Resource]:
        """The person's resources of a type, from the record and from what makes the person."""
        key = (person.id, type)
        if key not in self._charts:
            self._charts[key] = [orjson.loads(body) for body in self._record.of_patient(person.id, type)]
        return self._charts[key] + [row for row in person.planted if row["resourceType"] == type]

    def shape(self, type: str) -> IdShape:
        """What ids of a type look like; as those of all types together where the record has fewer than five."""
        if type not in self._shapes:
            ids = self._record.ids(type)
            if len(ids) < 5:
                ids = ids + [id for other in ("Patient", "Observation", "Encounter") for id in self._record.ids(other)]
            self._shapes[type] = IdShape.of(ids)
        return self._shapes[type]

    def blame(self, fault: Exception) -> None:
        """Raise `RecordError` where the record holds what no server keeps so, such as a name that is a number."""
        from ehr.sandbox import RecordError

        for body in chain(self._record.iterate("Patient"), self._record.iterate()):
            if wrong := _unlike_r4(body):
                found = orjson.loads(body)
                raise RecordError(
                    f"{found['resourceType']}/{found['id']} of the record is no valid resource of R4 ({wrong}), and no"
                    f" tasks can be drawn ({fault!r}); mend it, and import it again"
                ) from None

    def is_taken(self, type: str, id: str) -> bool:
        """Whether the record has this resource."""
        return self._record.body(type, id) is not None

    def examples(self, type: str) -> Sequence[Resource]:
        """Up to `SAMPLE` resources of the record of a type, spread over all of them."""

        def sample() -> list[Resource]:
            ids = self._record.ids(type)
            bodies = (self._record.body(type, id) for id in ids[:: len(ids) // SAMPLE + 1])
            return [orjson.loads(body) for body in bodies if body]

        return self.once(("examples", type), sample)

    def once(self, key: object, make: Callable[[], Found]) -> Found:
        """What `make` gives, made once for this record and kept under `key`."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found


def _unlike_r4(body: bytes) -> str | None:
    """Why a server would refuse a resource, or store it otherwise; None where it would not."""
    from ehr.sandbox.intake.body import mend
    from ehr.sandbox.intake.syntax import json_object
    from ehr.sandbox.outcome import RefusedError

    try:
        return None if mend(json_object(body), None, strict=True) == json_object(body) else "an element is misshapen"
    except RefusedError as refusal:
        return refusal.diagnostics.rpartition("Error was: ")[2]


def _is_dead(patient: Resource) -> bool:
    return bool(patient.get("deceasedDateTime") or patient.get("deceasedBoolean"))
