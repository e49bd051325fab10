"""Random resources of any type, from the element tables: few different values, so that searches find something."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ehr.sandbox.definitions import Field, codes, element_types, elements, fields, primitive, resource_types

SYSTEMS = ["http://s.example/one", "http://s.example/two"]
CODES = ["a", "b", "A", "a,b", "x|y", "c$d", "back\\slash"]
WORDS = ["Müller", "MULLER", "mulle", "van der Muller", "Éva Maria", "x,y", "日本", "ß", "a", "B"]
DATES = [
    "2019", "2020", "2020-02", "2020-03", "2020-03-01", "2020-02-29", "2020-03-01T00:00:00Z", "2020-03-01T10:00:00Z",
    "2020-03-01T10:00:00.500Z", "2020-03-01T23:30:00-05:00", "2020-03-02T01:30:00+05:00", "2021-01-01T00:00:00+00:00",
    "2019-12-31T23:59:59.999Z",
]  # fmt: skip
NUMBERS = [0, 1, 5, 5.4, 5.40, 5.44, -3.5, 100, 1e-6, 12345.678]
UNITS = ["mg/dL", "mmol/L", "mg"]
IDS = ["1", "2", "3", "p-1"]
URIS = ["http://u.example/a", "http://u.example/a/b", "http://u.example/a/b/c", "urn:oid:1.2.3", "http://u.example/a|2"]


def random_resource(random: Random, type: str, id: str, named: Sequence[str] = ()) -> dict[str, Any]:
    """A resource of a type: each element is there by chance, and of the right type. References name types in `named`
    where they may.
    """
    made = {"resourceType": type, "id": id, **_complex(random, type, 0)}
    if named:
        _rename(random, type, made, named)
    made["id"] = id
    if random.random() < 0.5:
        made["meta"] = {"lastUpdated": random.choice([d for d in DATES if "T" in d])}
        if random.random() < 0.5:
            made["meta"]["tag"] = [_complex(random, "Coding", 2)]
            made["meta"]["profile"] = [random.choice(URIS)]
    return made


def _rename(random: Random, type: str, made: dict[str, Any], named: Sequence[str]) -> None:
    """Point references at types that are named, most of them plainly."""
    for key, value in made.items():
        field = fields(type).get(key)
        for item in value if isinstance(value, list) else [value]:
            if field is None or not isinstance(item, dict):
                continue
            if field.type == "Reference":
                allowed = [t for t in named if t in field.element.targets.get("Reference", named)]
                if allowed and random.random() < 0.9:
                    item["reference"] = f"{random.choice(allowed)}/{random.choice(IDS)}"
            elif field.type in element_types():
                _rename(random, field.type, item, named)


def _complex(random: Random, type: str, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    chance = 0.45 if depth == 0 else 0.6 if depth < 3 else 0.35
    for element in elements(type).values():
        if element.name in ("id", "extension", "modifierExtension", "contained", "text", "meta", "implicitRules"):
            continue
        if depth > 4 or random.random() > chance:
            continue
        field = random.choice([f for f in fields(type).values() if f.element.name == element.name])
        if field.type in ("Resource", "Extension", "xhtml", "Narrative"):
            continue
        found = [_value(random, field, depth) for _ in range(random.randint(1, 2) if element.many else 1)]
        found = [value for value in found if value != {}]
        if found:
            made[field.key] = found if element.many else found[0]
    return made


def _value(random: Random, field: Field, depth: int) -> Any:
    type = field.type
    if type == "Reference":
        allowed = field.element.targets.get("Reference") or ("Patient", "Observation")
        name = random.choice([*allowed, random.choice(resource_types())])
        form = random.choice(["{}/{}", "{}/{}", "{}/{}/_history/2", "http://x.example/fhir/{}/{}", "#{}{}"])
        return {"reference": form.format(name, random.choice(IDS))}
    if type in ("Quantity", "Age", "Count", "Distance", "Duration"):
        unit = random.choice(UNITS)
        coded = {"system": "http://unitsofmeasure.org", "code": unit} if random.random() < 0.7 else {}
        return {"value": random.choice(NUMBERS), "unit": unit, **coded}
    if primitive(type) is None:
        return _complex(random, type, depth + 1)
    return _primitive(random, field, type)


def _primitive(random: Random, field: Field, type: str) -> Any:
    if type == "code":
        listed = codes(field.element.value_set) if field.element.value_set else None
        return random.choice(sorted(listed)[:3]) if listed else random.choice(CODES[:3])
    if type == "boolean":
        return random.random() < 0.5
    if type == "decimal":
        return random.choice(NUMBERS)
    if type in ("integer", "positiveInt", "unsignedInt"):
        return random.choice([0, 1, 5, 7])
    if type == "date":
        return random.choice([d for d in DATES if "T" not in d])
    if type == "instant":
        return random.choice([d for d in DATES if "T" in d])
    if type == "dateTime":
        return random.choice(DATES)
    if type == "time":
        return "10:00:00"
    if type in ("uri", "url", "canonical", "oid", "uuid"):
        return random.choice(URIS)
    if type == "id":
        return random.choice(IDS)
    if type == "base64Binary":
        return "AAAA"
    return random.choice(WORDS + CODES)
