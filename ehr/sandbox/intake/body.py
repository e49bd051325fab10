"""What HAPI's parser makes of a body before it is stored: refuse, drop, wrap, strip, mend, and put into order.

A default HAPI acknowledges a careless body with 201 and stores less, or something else, than was sent; only reading
back shows it. As measured on HAPI 8.8:

- unknown elements, elements of a type that is not allowed there, nulls, blanks, `{}` and `[]` are dropped;
- an object for a list becomes a list of one, a list for one element its first, lists in lists are flattened;
- of two `value[x]` the first in the body stays (in an extension the last);
- scalars are read as the element's type (`intake_values.py`), and what cannot be read is refused;
- keys are put into the order of the specification, `_key` after its `key`.

With `strict`, as HAPI reads the result of a JSON Patch, what would be dropped or mended is refused instead.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.definitions import Field, element_types, fields, resource_types
from ehr.sandbox.intake.primitives import UnreadableError, refusal, scalar, text_of
from ehr.sandbox.intake.syntax import json_object
from ehr.sandbox.outcome import RefusedError, malformed, not_parsed

DEEPEST = 100
"""Levels of elements in elements. FHIR needs about ten; a stack has its end."""

_NAMESPACE = uuid.UUID("5a3c1f0e-7a52-4ac4-9f0d-2f1de7a9a0b7")


def receive(body: bytes, type: str | None) -> Tree:
    """The resource that a body holds, of `type` or (`None`) of any, as HAPI reads it. Raises `RefusedError` (400)."""
    return mend(json_object(body), type)


def mend(tree: Tree, type: str | None, *, strict: bool = False) -> Tree:
    """The resource as HAPI reads it; `type` is what it must be, `None` for any. Raises `RefusedError` (400)."""
    found = tree.get("resourceType")
    if found is None:
        raise not_parsed("HAPI-1838: Invalid JSON content detected, missing required element: 'resourceType'")
    if type is not None and found != type:
        raise not_parsed(f'HAPI-1814: Incorrect resource type found, expected "{type}" but found "{_shown(found)}"')
    return _Reader(strict).resource(tree)


def _shown(value: Any) -> str:
    return text_of(value) if isinstance(value, bool) else str(value)


class _Place(NamedTuple):
    """A key of a type: its place in the order, and what may stand there."""

    order: int
    field: Field
    complex: bool


@cache
def _places(type: str) -> Mapping[str, _Place]:
    complex = element_types()
    return {key: _Place(order, field, field.type in complex) for order, (key, field) in enumerate(fields(type).items())}


class _Reader:
    """Reads one body; where it is `strict`, what HAPI drops is refused."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict

    def resource(self, tree: Tree, depth: int = 0) -> Tree:
        type = tree.get("resourceType")
        if not isinstance(type, str):
            raise not_parsed(
                "HAPI-1843: Missing required element 'resourceType' from JSON resource object, unable to parse"
            )
        if type not in resource_types():
            raise not_parsed(f'HAPI-1684: Unknown resource name "{type}" (this name is not known in FHIR version "R4")')
        read = self.element(tree, type, depth)
        read.pop("_id", None)
        result = {"resourceType": type} | read
        if "contained" in result:
            self.settle_contained(result)
        return result

    def settle_contained(self, resource: Tree) -> None:
        """Give contained resources their ids, and move those inside contained ones up."""
        listed: list[Tree] = []
        for position, item in enumerate(resource["contained"]):
            listed += item.pop("contained", [])
            name = str(item.get("id", "")).removeprefix("#") or str(uuid.uuid5(_NAMESPACE, f"contained {position}"))
            meta = {
                key: value for key, value in item.get("meta", {}).items() if key not in ("versionId", "lastUpdated")
            }
            rest = {key: value for key, value in item.items() if key not in ("resourceType", "id", "meta")}
            listed.append({"resourceType": item["resourceType"], "id": name} | ({"meta": meta} if meta else {}) | rest)
        resource["contained"] = listed

    def element(self, tree: Tree, type: str, depth: int) -> Tree:
        """The elements of an object, in the order of the specification."""
        if depth > DEEPEST:
            raise malformed(f"Document nesting depth exceeds the maximum allowed ({DEEPEST})")
        places = _places(type)
        found: list[tuple[int, str, Any]] = []
        taken: dict[str, str] = {}
        for key, value in tree.items():
            if key.startswith("_"):
                name = key[1:]
                if name in tree or name not in places:
                    continue
                place, sent, beside = places[name], None, value
                if place.complex or isinstance(beside, list) or place.field.element.many:
                    continue
            elif key in places:
                place, name, sent, beside = places[key], key, value, tree.get("_" + key)
            else:
                if self.strict and key not in ("resourceType", "fhir_comments"):
                    raise not_parsed(f"HAPI-1825: Unknown element '{key}' found during parse")
                continue
            if key in ("extension", "modifierExtension") and sent is not None and not isinstance(sent, list):
                expected = f"Expected ARRAY at element '{key}', found '{_json_type(sent)}'"
                raise not_parsed(f"HAPI-1841: Syntax error parsing JSON FHIR structure: {expected}")
            stem = place.field.element.name
            if stem in taken and taken[stem] != name:
                if self.strict:
                    raise _repeated(stem)
                if type != "Extension":
                    continue
                found = [item for item in found if item[1] not in (taken[stem], "_" + taken[stem])]
            taken[stem] = name
            found += self.key(name, place, sent, beside, depth)
        found.sort(key=lambda item: item[0])
        result = {name: value for _, name, value in found}
        if type == "Extension":
            return self.extension(tree, result)
        return result

    def extension(self, tree: Tree, result: Tree) -> Tree:
        """An extension holds a value or extensions, never both; one with neither is dropped."""
        values = [key for key in result if key.lstrip("_").startswith("value")]
        if values and "extension" in result:
            named = f"Extension (URL='{_shown(tree.get('url'))}')"
            raise not_parsed(f"HAPI-1811: {named} must not have both a value and other contained extensions")
        return result if values or "extension" in result else {}

    def key(self, name: str, place: _Place, sent: Any, beside: Any, depth: int) -> list[tuple[int, str, Any]]:
        """What is stored for one key: its value, and `_key` where a primitive has an id or extensions."""
        many = place.field.element.many
        items = _flat(sent) if isinstance(sent, list) else [sent]
        self.check_shape(name, place, sent, items)
        if place.complex:
            read = [self.complex(place, item, depth) for item in (items if many else items[:1])]
            kept = [item for item in read if item]
            if not kept:
                return []
            return [(place.order, name, kept if many else kept[0])]
        asides = (
            beside if isinstance(beside, list) and isinstance(sent, list) else [beside] * (not isinstance(sent, list))
        )
        pairs = [
            (self.primitive(name, place, item), self.aside(asides[i] if i < len(asides) else None, depth))
            for i, item in enumerate(items if many else items[:1])
        ]
        pairs = [(value, aside) for value, aside in pairs if value is not None or aside]
        if not pairs:
            return []
        if not many:
            value, aside = pairs[0]
            plain = [] if value is None else [(place.order, name, value)]
            return plain + ([(place.order, "_" + name, aside)] if aside else [])
        values = [(place.order, name, [value for value, _ in pairs])]
        if not any(aside for _, aside in pairs):
            return values
        return [*values, (place.order, "_" + name, [aside or None for _, aside in pairs])]

    def check_shape(self, name: str, place: _Place, sent: Any, items: list[Any]) -> None:
        """Strictly read, a list stands where a list belongs, an object where an object belongs, and one where one."""
        if not self.strict:
            return
        if place.field.element.many and isinstance(sent, dict):
            raise _wrong_type(name, "ARRAY", "OBJECT")
        if not place.field.element.many and len(items) > 1:
            raise _repeated(name)
        for item in items:
            if item is not None and place.complex is not isinstance(item, dict):
                expected = "OBJECT" if place.complex else "SCALAR"
                raise _wrong_type(name, expected, _json_type(item))

    def complex(self, place: _Place, item: Any, depth: int) -> Tree:
        if not isinstance(item, dict):
            return {}
        if place.field.type == "Resource":
            return self.resource(item, depth + 1)
        return self.element(item, place.field.type, depth + 1)

    def primitive(self, name: str, place: _Place, item: Any) -> Any:
        if item is None or isinstance(item, dict):
            return None
        try:
            return scalar(place.field.element, place.field.type, item)
        except UnreadableError as error:
            raise refusal(name, item, error) from None

    def aside(self, beside: Any, depth: int) -> Tree:
        """The id and extensions of a primitive."""
        return self.element(beside, "Element", depth + 1) if isinstance(beside, dict) else {}


def _repeated(name: str) -> RefusedError:
    return not_parsed(f"HAPI-1823: Multiple repetitions of non-repeatable element '{name}' found during parse")


def _wrong_type(name: str, expected: str, found: str) -> RefusedError:
    return not_parsed(f"HAPI-1820: Found incorrect type for element {name} - Expected {expected} and found {found}")


def _flat(items: list[Any]) -> list[Any]:
    """The items of lists in lists, one after the other."""
    if not any(isinstance(item, list) for item in items):
        return items
    result: list[Any] = []
    waiting = [iter(items)]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, list):
                waiting.append(iter(item))
                break
            result.append(item)
        else:
            waiting.pop()
    return result


def _json_type(value: Any) -> str:
    if isinstance(value, dict):
        return "OBJECT"
    if isinstance(value, list):
        return "ARRAY"
    if value is None:
        return "NULL"
    kind = "NUMBER" if isinstance(value, Number) else "BOOLEAN" if isinstance(value, bool) else "STRING"
    return f"SCALAR ({kind})"
