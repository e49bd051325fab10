"""FHIRPath Patch: Parameters that name elements by FHIRPath and say what becomes of them.

The five operations of the specification, `add`, `insert`, `delete`, `replace` and `move`, with HAPI's words where it
refuses.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.definitions import Field, base_type, element_types, fields, primitive, resource_types
from ehr.sandbox.intake.body import mend
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.writing.places import PathError, Place, find

MOST_OPERATIONS = 1000


class Given(NamedTuple):
    """The parts of one operation."""

    type: str
    path: str
    name: str
    value: Any
    value_type: str
    place: int | None
    source: int | None
    destination: int | None
    has_value: bool


def fhirpath_patch(parameters: Tree) -> Callable[[Tree], Tree]:
    """What a patch does to a resource. Raises `RefusedError` for one that cannot be read."""
    operations = [_operation(part) for part in parameters.get("parameter", [])]
    if len(operations) > MOST_OPERATIONS:
        raise _faulty(f"a patch may have {MOST_OPERATIONS} operations, this one has {len(operations)}")

    def apply(tree: Tree) -> Tree:
        result = copy.deepcopy(tree)
        issues: list[str] = []
        for given in operations:
            try:
                _operate(result, given)
            except _IssueError as issue:
                issues.append(issue.reason)
                continue
            result = _mended(result)
        if issues:
            raise RefusedError(400, f"HAPI-1267: [{', '.join(issues)}]")
        return result

    return apply


def _mended(tree: Tree) -> Tree:
    """The result of an operation as it would be read from a body."""
    try:
        return mend(tree, tree["resourceType"])
    except RefusedError as error:
        said = error.diagnostics.partition(" Error was: ")[2] or error.diagnostics
        raise RefusedError(400, said.rpartition('Invalid attribute value "')[2].partition('": ')[2] or said) from None


class _IssueError(RefusedError):
    """What keeps one operation from being done: HAPI looks at the others too, and names all that could not."""

    def __init__(self, reason: str) -> None:
        super().__init__(400, f"HAPI-1267: [{reason}]")
        self.reason = reason


def _faulty(reason: str, number: str = "1267") -> RefusedError:
    return _IssueError(reason) if number == "1267" else RefusedError(400, f"HAPI-{number}: {reason}")


def _operate(tree: Tree, given: Given) -> None:
    if given.type not in _OPERATIONS:
        raise _faulty(f"Unknown patch operation type: {given.type}")
    _OPERATIONS[given.type](tree, given)


def _operation(part: Tree) -> Given:
    if part.get("name") != "operation":
        raise _faulty(f"Unknown patch parameter name: {part.get('name', '')}")
    parts = {inner.get("name"): inner for inner in part.get("part", [])}

    def value_of(name: str) -> Any:
        return next((value for key, value in parts.get(name, {}).items() if key.startswith("value")), None)

    def number(name: str) -> int | None:
        value = value_of(name)
        return int(value) if isinstance(value, Number) and value.lstrip("-").isdigit() else None

    value, value_type = _value(parts["value"]) if "value" in parts else (None, "")
    return Given(
        str(value_of("type") or ""),
        str(value_of("path") or ""),
        str(value_of("name") or ""),
        value,
        value_type,
        number("index"),
        number("source"),
        number("destination"),
        "value" in parts and value is not None,
    )


def _value(part: Tree) -> tuple[Any, str]:
    """The value of a part with its type: `value[x]`, a resource, or the elements of a backbone element as parts."""
    for key, value in part.items():
        if key.startswith("value"):
            code = key.removeprefix("value")
            return value, code if code in element_types() else code[:1].lower() + code[1:]
    if "resource" in part:
        return part["resource"], "Resource"
    inner: Tree = {}
    for child in part.get("part", []):
        value, type = _value(child)
        name = str(child.get("name", ""))
        inner.setdefault(name, []).append((value, type))
    return inner or None, ""


# ---- the five operations


def _places(tree: Tree, given: Given) -> list[Place]:
    """The places that the path names; a path that begins with another type names none."""
    first = re.split(r"[.\[]", given.path.strip(), maxsplit=1)[0]
    if first in resource_types() and first != tree["resourceType"]:
        return []
    try:
        return find(given.path, tree)
    except PathError:
        if _is_relative(given):
            raise _without_definition() from None
        raise _faulty(f" {given.path} is not a valid fhir path", "2726") from None


def _is_relative(given: Given) -> bool:
    """Whether a path begins with an element in place of the type."""
    return given.path.split(".")[0].isidentifier() and not given.path[0].isupper()


def _without_definition() -> RefusedError:
    return _faulty(" No runtime definition found for patch operation.", "2719")


def _one(tree: Tree, given: Given) -> Place:
    places = _places(tree, given)
    if not places:
        raise _faulty(f"No element matches the specified path: {given.path}", "2761")
    if len(places) > 1:
        raise _faulty(f" FhirPath returns more than 1 element: {given.path}", "2704")
    return places[0]


def _add(tree: Tree, given: Given) -> None:
    parents = _places(tree, given)
    if not parents:
        raise _faulty(f"No content found at {given.path} when adding")
    for parent in parents:
        if not isinstance(parent.value, dict):
            raise _faulty(f"{given.path} is no element with elements")
        found = _field(parent, given)
        _check_type(found, given)
        value = _shaped(found, given)
        if found.element.many:
            parent.value.setdefault(found.key, []).append(copy.deepcopy(value))
        else:
            for key, other in fields(_type(parent)).items():
                if other.element is found.element:
                    parent.value.pop(key, None)
            parent.value[found.key] = copy.deepcopy(value)


def _type(place: Place) -> str:
    return str(place.value["resourceType"]) if place.type == "Resource" else place.type


def _field(parent: Place, given: Given) -> Field:
    """The key of an element of `parent` for the value that is given."""
    known = fields(_type(parent))
    if given.name in known:
        return known[given.name]
    fitting = [found for found in known.values() if found.element.name == given.name]
    exact = [found for found in fitting if found.type == given.value_type]
    if not fitting:
        raise _faulty(f"Unknown element {given.name!r} of {_type(parent)}")
    return (exact or fitting)[0]


def _check_type(found: Field, given: Given) -> None:
    """Refuse a value of a type that the element does not have. Without one it is given as parts."""
    if not given.has_value or not given.value_type or _fits(found, given.value_type):
        return
    raise RefusedError(
        400,
        f"HAPI-1831: {found.element.name} has type {given.value_type} but this is not a valid type for this element"
        + (f" - Expected one of: [{', '.join(found.element.types)}]" if found.element.choice else ""),
    )


def _fits(found: Field, type: str) -> bool:
    """Whether a value of the type may stand in the element, where a derived type stands for its base (Age, Quantity)
    and a text for a code."""
    wanted = {*found.element.types} if found.element.choice else {found.type}
    return bool(wanted & {type, _base(type)}) or ("code" in wanted and type == "string")


def _base(type: str) -> str | None:
    known = primitive(type)
    return known.base if known else base_type(type) if type in element_types() else None


def _shaped(found: Field, given: Given) -> Any:
    if not given.has_value:
        raise _faulty(" No valid replacement value for patch operation.")
    if given.value_type or not isinstance(given.value, dict):
        return given.value
    return _backbone(found.type, given.value)


def _backbone(type: str, parts: Tree) -> Tree:
    """A backbone element from its parts."""
    known = fields(type) if type in element_types() else {}
    result: Tree = {}
    for name, values in parts.items():
        for value, value_type in values:
            found = next((f for f in known.values() if f.element.name == name and f.type == value_type), None)
            found = found or next((f for f in known.values() if f.element.name == name or f.key == name), None)
            if found is None:
                raise _faulty(f"Unknown element {name!r} of {type}")
            shaped = value if value_type or not isinstance(value, dict) else _backbone(found.type, value)
            if found.element.many:
                result.setdefault(found.key, []).append(shaped)
            else:
                result[found.key] = shaped
    return result


def _insert(tree: Tree, given: Given) -> None:
    if given.place is None:
        raise RefusedError(400, "No index supplied for insert operation")
    head, _, name = given.path.rpartition(".")
    if not head:
        raise _faulty(f"Invalid path for insert operation (must point to a repeatable element): {given.path}")
    places = _places(tree, given)
    if not 0 <= given.place <= len(places):
        size = f"Only have {len(places)} existing entries"
        raise _faulty(f"Invalid insert index {given.place} for path {given.path} - {size}")
    if not places:
        _add(tree, given._replace(path=head, name=name))
        return
    place = places[0]
    if place.owner is None:
        raise _faulty(f"Invalid path for insert operation (must point to a repeatable element): {given.path}")
    found = fields(place.owner_type)[place.key]
    _check_type(found, given)
    value = copy.deepcopy(_shaped(found, given))
    if place.index is not None:
        place.owner[place.key].insert(given.place, value)
    elif given.place:  # of an element that is no list the last stands, as in HAPI
        place.owner[place.key] = value


def _delete(tree: Tree, given: Given) -> None:
    absolute = given._replace(path=f"{tree['resourceType']}.{given.path}") if _is_relative(given) else given
    places = _places(tree, absolute)
    if len(places) > 1:
        raise _faulty(f"Multiple elements found at {given.path} when deleting")
    for place in places:
        if place.owner is None:
            raise _faulty(f"{given.path} is the resource itself")
        place.remove()


def _replace(tree: Tree, given: Given) -> None:
    if not given.has_value:
        _places(tree, given)
        raise _faulty(" No valid replacement value for patch operation.")
    place = _one(tree, given)
    if place.owner is None or place.element is None:
        raise _without_definition()
    known = fields(place.owner_type)
    fitting = [f for f in known.values() if f.element is place.element and f.type == given.value_type]
    found = fitting[0] if fitting else known[place.key]
    if given.value_type:
        _check_replacement(known[place.key], given)
        place.replace(found.key, copy.deepcopy(given.value))
    elif isinstance(place.value, dict):  # parts are elements of what stands: the others stay, as in HAPI
        place.replace(place.key, place.value | copy.deepcopy(_shaped(known[place.key], given)))
    else:
        place.replace(found.key, copy.deepcopy(_shaped(found, given)))


def _check_replacement(standing: Field, given: Given) -> None:
    """Refuse a value that cannot stand for the one that is there. Of primitives any can, within its choice of types."""
    simple = [primitive(type) is not None for type in (standing.type, given.value_type)]
    if all(simple) and standing.element.choice:
        _check_type(standing, given)
    elif not all(simple) and standing.type not in (given.value_type, _base(given.value_type)):
        raise _without_definition()


def _move(tree: Tree, given: Given) -> None:
    if given.source is None or given.destination is None:
        raise RefusedError(400, "No index supplied for move operation")
    places = _places(tree, given)
    if not places and not _places(tree, given._replace(path=given.path.rpartition(".")[0] or given.path)):
        return  # nothing has such a list, so that there is none to change, as at HAPI
    if not 0 <= given.source < len(places):
        size = f"Only have {len(places)} existing entries"
        raise _faulty(f"Invalid move source index {given.source} for path {given.path} - {size}", "1268")
    if not 0 <= given.destination < len(places):  # HAPI counts those that are left without the one that moves
        size = f"Only have {len(places) - 1} existing entries"
        raise _faulty(f"Invalid move destination index {given.destination} for path {given.path} - {size}", "1269")
    place = places[0]
    if place.owner is None:
        raise _faulty(f"{given.path} is the resource itself")
    if place.index is None or any(p.owner is not place.owner for p in places):
        return  # there is no order to change
    items = place.owner[place.key]
    items.insert(given.destination, items.pop(given.source))


_OPERATIONS: dict[Any, Callable[[Tree, Given], None]] = {
    "add": _add,
    "insert": _insert,
    "delete": _delete,
    "replace": _replace,
    "move": _move,
}
