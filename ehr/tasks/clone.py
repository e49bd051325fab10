"""A copy of a resource for another patient: same elements, other id, times and references."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.truth import instant
from ehr.tasks.ward import Person, Resource, Ward

_SHARED = {"Practitioner", "PractitionerRole", "Organization", "Location", "Device", "HealthcareService", "Medication"}
_TIMES = {
    "effectiveDateTime", "effectiveInstant", "issued", "authoredOn", "recordedDate", "onsetDateTime",
    "abatementDateTime", "occurrenceDateTime", "start", "end", "lastUpdated", "date", "lastOccurrence", "time",
}  # fmt: skip


def clone(
    example: Resource,
    ward: Ward,
    dice: Draw,
    person: Person,
    id: str,
    *,
    at: datetime | None = None,
    moved: timedelta = timedelta(),
) -> Resource:
    """`example` as a resource of `person` under `id`, every time in it `moved`.

    Narrative is left out. References to the example's patient become references to the person, one to an encounter to
    the person's encounter of the time `at` (the last that had begun, or else the first). Staff and places stay; other
    references are left out, as they would lead into another chart. Digits of identifiers are drawn anew.
    """
    copier = _Copier(ward, dice, person, at or ward.now, moved)
    made = copier.copy({name: value for name, value in example.items() if name not in ("text", "contained")})
    assert isinstance(made, dict), "a resource is copied to a resource"
    made["id"] = id
    return made


def leads_elsewhere(row: Any) -> bool:
    """Whether a resource refers to anything but its patient, an encounter, staff and places."""
    if isinstance(row, dict):
        kind = str(row.get("reference", "Patient")).split("/")[0]
        return kind not in (*_SHARED, "Patient", "Encounter") or any(leads_elsewhere(value) for value in row.values())
    return isinstance(row, list) and any(leads_elsewhere(item) for item in row)


def elements(row: Any, path: str = "") -> frozenset[str]:
    """The paths of all elements of a resource; places in lists, narrative and `meta` are left out."""
    found: set[str] = set()
    if isinstance(row, dict):
        for name, value in row.items():
            if path or name not in ("meta", "text"):
                found |= {f"{path}.{name}"} | elements(value, f"{path}.{name}")
    elif isinstance(row, list):
        for item in row:
            found |= elements(item, path)
    return frozenset(found)


def scrambled(text: str, dice: Draw) -> str:
    """`text` with every digit drawn anew; a first digit of 1 to 9 stays one."""
    made = []
    for place, letter in enumerate(text):
        if not (letter.isascii() and letter.isdigit()):
            made.append(letter)
        else:
            made.append(str(dice.whole(1, 9) if place == 0 and letter != "0" else dice.below(10)))
    return "".join(made)


def written_like(example: str, at: datetime) -> str:
    """An instant in the zone and to the precision of an example: a day, a second, or its number of decimals."""
    if len(example) <= 10:
        return at.astimezone(UTC).date().isoformat()[: len(example)]
    zone = instant(example).tzinfo
    decimals = example[20:].rstrip("Z").split("+")[0].split("-")[0] if example[19:20] == "." else ""
    moment = at.astimezone(zone)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    if decimals:
        text += "." + f"{moment.microsecond:06d}".ljust(len(decimals), "0")[: len(decimals)]
    return text + ("Z" if example.endswith("Z") else moment.isoformat()[-6:])


class _Copier:
    def __init__(self, ward: Ward, dice: Draw, person: Person, at: datetime, moved: timedelta) -> None:
        self.ward, self.dice, self.person, self.at, self.moved = ward, dice, person, at, moved

    def copy(self, value: Any, name: str = "") -> Any:
        """A copy, or None where nothing of it may be copied."""
        if isinstance(value, dict):
            return self._copy_object(value, name)
        if isinstance(value, list):
            items = [self.copy(item, name) for item in value]
            return [item for item in items if item is not None] or None
        if name in _TIMES and isinstance(value, str) and self.moved:
            return written_like(value, instant(value) + self.moved)
        return value

    def _copy_object(self, value: dict[str, Any], name: str) -> Any:
        if "reference" in value:
            return self._reference(value)
        if name == "identifier" and "value" in value:
            value = {**value, "value": scrambled(str(value["value"]), self.dice)}
        copied = {key: self.copy(item, key) for key, item in value.items()}
        return {key: item for key, item in copied.items() if item is not None} or None

    def _reference(self, value: dict[str, Any]) -> dict[str, Any] | None:
        kind = str(value["reference"]).split("/")[0]
        if kind in _SHARED:
            return dict(value)
        if kind == "Patient":
            shown = {"display": self.person.name} if "display" in value else {}
            return {"reference": self.person.reference, **shown}
        encounters = self.ward.chart(self.person, "Encounter") if kind == "Encounter" else []
        begun = sorted(encounters, key=lambda row: instant(row.get("period", {}).get("start", "1900-01-01")))
        if not begun:
            return None
        past = [row for row in begun if instant(row.get("period", {}).get("start", "1900-01-01")) <= self.at]
        return {"reference": f"Encounter/{(past or begun[:1])[-1]['id']}"}
