"""Plants rows that cannot be told from the record's own: copies of its rows with another id, patient, time and value.

A template says what it wants as `Row`s, in storage order: the order in which a search without `_sort` lists them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from ehr.tasks import truth
from ehr.tasks.clone import clone, elements, leads_elsewhere, written_like
from ehr.tasks.measures import LOINC, Measure, Unit
from ehr.tasks.synthetic.codes import TERMINOLOGY, UCUM
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.template import Drawing
from ehr.tasks.ward import Person, Resource

_LONG_DECIMALS = 4
_TRIES = 20
_MANY = 20
_LOADED_LATER = timedelta(days=1)
_CATEGORIES = {"laboratory": "Laboratory", "vital-signs": "Vital Signs"}


@dataclass(frozen=True)
class Row:
    """A result to plant: when it was taken, its value, in `unit` (the measure's own where none is given).

    `lag` is how long after that it was reported; without it, as long as in the record's rows. `exact` keeps the second.
    """

    at: datetime
    value: float
    unit: Unit | None = None
    status: str = "final"
    lag: timedelta | None = None
    exact: bool = False


def results(drawing: Drawing, person: Person, measure: Measure, rows: Sequence[Row]) -> list[Resource]:
    """The rows as Observations of the person, in storage order."""
    ids = new_ids(drawing, "Observation", len(rows))
    return [_observation(drawing, person, measure, row, id) for row, id in zip(rows, ids, strict=True)]


def new_ids(drawing: Drawing, type: str, number: int) -> list[str]:
    """Free ids of the record's kind, in storage order."""
    ward = drawing.ward
    return ward.shape(type).several(number, drawing.dice, partial(ward.is_taken, type))


def made_like(
    drawing: Drawing, person: Person, type: str, id: str, skeleton: Resource, at: datetime,
    *suits: tuple[object, Callable[[Resource], bool]],
) -> Resource:  # fmt: skip
    """A copy for the person of one of the record's rows of a type: one that suits, or suits the next best, or any.

    Each of `suits` is a test of rows with a key that names it. A row is taken only if nothing of it leads into another
    chart; where there is none, the skeleton is. What the caller then sets is what the row says; what is left is what
    such rows look like in this record.
    """
    dice = drawing.dice_of(id)
    for key, suit in (*suits, ("any", lambda row: True)):
        fitting = _fitting(drawing, type, key, suit)
        start = dice.below(len(fitting) or 1)
        for example in (*fitting[start : start + _TRIES], *fitting[:_TRIES]):
            made = clone(example, drawing.ward, dice, person, id, at=at)
            if elements(made) == elements(example):
                return made
    return clone({"resourceType": type, **skeleton}, drawing.ward, dice, person, id, at=at)


def _fitting(drawing: Drawing, type: str, key: object, suit: Callable[[Resource], bool]) -> list[Resource]:
    """The record's rows of a type that suit and refer to nothing but their patient, an encounter, staff and places."""
    ward = drawing.ward

    def of_one_chart() -> list[Resource]:
        return [row for row in ward.examples(type) if not leads_elsewhere(row)]

    rows = ward.once(("of one chart", type), of_one_chart)
    return ward.once(("fitting", type, key), lambda: [row for row in rows if suit(row)])


def stamped(drawing: Drawing, resource: Resource, known: datetime) -> Resource:
    """The row with a `meta` as the record's rows of that time have it: entered then, or loaded in one night later."""
    entries = _entries(drawing, resource["resourceType"])
    if not entries:
        return resource
    place = bisect_left(entries, known.timestamp(), key=lambda entry: entry[0])
    _, lag, meta = entries[min(place, len(entries) - 1)]
    if "lastUpdated" not in meta:
        return {**resource, "meta": meta} if meta else resource
    dice = drawing.dice_of(resource["id"])
    updated = truth.instant(meta["lastUpdated"])
    if lag < _LOADED_LATER:
        updated = min(known, drawing.now - timedelta(minutes=dice.whole(1, 40)))
    moment = updated + timedelta(milliseconds=dice.below(59_000))
    return {**resource, "meta": {**meta, "lastUpdated": written_like(meta["lastUpdated"], moment)}}


def places(drawing: Drawing, measure: Measure, unit: Unit) -> int:
    """How many decimals the record's values of a measure have; the measure's own where it has none."""
    values = [row["valueQuantity"]["value"] for row in _examples(drawing, measure, unit)[:200]]
    seen = max((max(0, -int(Decimal(str(value)).as_tuple().exponent)) for value in values), default=0)
    return seen if len(values) >= _MANY else max(seen, unit.places)


def _observation(drawing: Drawing, person: Person, measure: Measure, row: Row, id: str) -> Resource:
    unit, dice = row.unit or measure.unit, drawing.dice_of(id)
    examples = [found for found in _examples(drawing, measure, unit) if _is_as_high(found, row.value)]
    if examples:
        near = sorted(examples, key=lambda found: abs(found["valueQuantity"]["value"] - row.value))[:5]
        made = clone(dice.pick(near), drawing.ward, dice, person, id, at=row.at)
    else:
        made = _unlike(drawing, person, measure, unit, id, row.at, row.value)
    made["status"] = row.status
    made["valueQuantity"]["value"] = _number(row.value, places(drawing, measure, unit), unit, dice)
    taken, reported = made["effectiveDateTime"], made.get("issued")
    at = row.at if row.exact or truth.instant(taken).second else row.at.replace(second=0, microsecond=0)
    made["effectiveDateTime"] = written_like(taken, at)
    known = at
    if reported:
        usual = min(max(timedelta(), truth.instant(reported) - truth.instant(taken)), timedelta(hours=3))
        known = at + (usual if row.lag is None else row.lag)
        if at < drawing.now:  # what the chart shows has been reported
            known = max(at, min(known, drawing.now - timedelta(minutes=1)))
        made["issued"] = written_like(reported, known)
    return stamped(drawing, made, known)


def _number(value: float, decimals: int, unit: Unit, dice: Draw) -> float:
    """The value as the record's values are written: rounded, or with as many decimals as a computed value has."""
    if decimals > _LONG_DECIMALS:
        value += dice.between(0, 0.4) * 10.0**-unit.places  # upwards, so that no limit is crossed
    number = round(value) if decimals == 0 else round(value, decimals)
    if decimals == unit.places > 1 and number == round(value, decimals - 1):
        number = round(number + 10**-decimals, decimals)  # JSON would not keep a last digit 0
    return number


def _unlike(
    drawing: Drawing, person: Person, measure: Measure, unit: Unit, id: str, at: datetime, value: float
) -> Resource:
    """A row of a measure that the record does not have, made like another of its category that is as high or low."""
    flag = _flag(unit.reference, value)

    def is_like_it(found: Resource) -> bool:
        is_alike = measure.category in truth.codes((found.get("category") or [{}])[0])
        return is_alike and _marks(found) == flag and _is_plain(found)

    concept = {"coding": [{"system": LOINC, "code": unit.code, "display": unit.display}], "text": measure.label}
    skeleton: Resource = {
        "status": "final",
        "category": [{"coding": [{"system": TERMINOLOGY + "observation-category", "code": measure.category,
                                  "display": _CATEGORIES[measure.category]}]}],
        "code": concept, "subject": {"reference": person.reference},
        "effectiveDateTime": drawing.clock, "issued": drawing.clock,
    }  # fmt: skip
    made = made_like(drawing, person, "Observation", id, skeleton, at, ((measure.category, *flag), is_like_it))
    for name in ("component", "valueString", "valueCodeableConcept", "dataAbsentReason", "note"):
        made.pop(name, None)
    if measure.category not in truth.codes((made.get("category") or [{}])[0]):
        made["category"] = skeleton["category"]
    made.setdefault("effectiveDateTime", drawing.clock)
    made["code"] = concept
    made["valueQuantity"] = _quantity(0, unit)
    if "referenceRange" in made:
        ends = zip(("low", "high"), unit.reference, strict=True)
        made["referenceRange"] = [{name: _quantity(end, unit) for name, end in ends if end is not None}]
    return made


def _is_as_high(found: Resource, value: float) -> bool:
    """Whether the row's mark for high or low, or that it has none, fits this value in the row's own range."""
    ranges = found.get("referenceRange")
    if not ranges:
        return "interpretation" not in found
    low, high = (ranges[0].get(end, {}).get("value") for end in ("low", "high"))
    return _marks(found) == _flag((low, high), value)


def _marks(found: Resource) -> set[str]:
    return {code[0] for code in truth.codes((found.get("interpretation") or [{}])[0])}


def _flag(reference: tuple[float | None, float | None], value: float) -> set[str]:
    low, high = reference
    if high is not None and value > high:
        return {"H"}
    return {"L"} if low is not None and value < low else set()


def _quantity(value: float, unit: Unit) -> Resource:
    return {"value": value, "unit": unit.shown, "system": UCUM, "code": unit.ucum}


def _examples(drawing: Drawing, measure: Measure, unit: Unit) -> list[Resource]:
    """The record's rows of a measure in a unit, with nothing unusual about them."""

    def examples() -> list[Resource]:
        wanted = {unit.code} | (set(measure.also) if unit == measure.unit else set())
        return [
            row
            for row in drawing.ward.examples("Observation")
            if _is_plain(row) and truth.codes(row["code"]) & wanted and row["valueQuantity"].get("code") == unit.ucum
        ]

    return drawing.ward.once(("measured", unit.code, unit.ucum), examples)


def _is_plain(row: Resource) -> bool:
    quantity = row.get("valueQuantity", {})
    return (
        row.get("status") == "final"
        and isinstance(quantity.get("value"), int | float)
        and len(row.get("effectiveDateTime", "")) > 10
        and "note" not in row
        and "comparator" not in quantity
    )


def _known(row: Resource, otherwise: datetime) -> datetime:
    """When the hospital knew what a row says."""
    for name in ("issued", "authoredOn", "recordedDate", "effectiveDateTime", "occurrenceDateTime"):
        text: Any = row.get(name)
        if isinstance(text, str) and len(text) >= 10:
            return truth.instant(text)
    return otherwise


def _entries(drawing: Drawing, type: str) -> list[tuple[float, timedelta, Resource]]:
    """For the record's rows of a type, in order: when known, how much later entered, and the `meta`."""

    def entries() -> list[tuple[float, timedelta, Resource]]:
        found = []
        for row in drawing.ward.examples(type):
            known, meta = _known(row, drawing.now), row.get("meta", {})
            entered = truth.instant(meta["lastUpdated"]) if "lastUpdated" in meta else known
            found.append((known.timestamp(), entered - known, meta))
        return sorted(found, key=lambda entry: entry[0])

    return drawing.ward.once(("entries", type), entries)
