"""The differences between two resources as a FHIRPath Patch, in the form of HAPI's `$diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.definitions import element_types, field, fields


def differences(before: Tree | None, after: Tree, with_meta: bool = False) -> list[Tree]:
    """Operations that make `after` of `before`; with nothing before, one that inserts it whole."""
    type = after["resourceType"]
    if before is None:
        return [_operation("insert", type, value={"name": "value", "resource": after})]
    return list(_compared(before, after, type, type, top=not with_meta))


def _compared(before: Tree, after: Tree, type: str, path: str, *, top: bool = False) -> Iterator[Tree]:
    for key in fields(type):
        if top and key == "meta":
            continue
        if key in before or key in after:
            yield from _element(before.get(key), after.get(key), type, key, path)


def _element(before: Any, after: Any, type: str, key: str, path: str) -> Iterator[Tree]:
    found = field(type, key)
    assert found is not None
    old = before if isinstance(before, list) else [] if before is None else [before]
    new = after if isinstance(after, list) else [] if after is None else [after]
    name = f"{path}.{found.element.name}"
    for index in range(max(len(old), len(new))):
        place = f"{name}[{index}]" if found.element.many else name
        if index >= len(new):
            yield _operation("delete", place)
        elif index >= len(old):
            yield _operation("insert", name, index=index, value=_part("value", found.type, new[index]))
        elif isinstance(old[index], dict) and isinstance(new[index], dict):
            below = old[index].get("resourceType", found.type) if found.type == "Resource" else found.type
            yield from _compared(old[index], new[index], below, place)
        elif old[index] != new[index]:
            yield _operation(
                "replace",
                place,
                before=_part("previousValue", found.type, old[index]),
                value=_part("value", found.type, new[index]),
            )


def _operation(
    type: str, path: str, *, index: int | None = None, before: Tree | None = None, value: Tree | None = None
) -> Tree:
    parts: list[Tree] = [{"name": "type", "valueCode": type}, {"name": "path", "valueString": path}]
    if index is not None:
        parts.append({"name": "index", "valueInteger": Number(index)})
    parts += [part for part in (before, value) if part is not None]
    return {"name": "operation", "part": parts}


def _part(name: str, type: str, value: Any) -> Tree:
    if type == "Resource":
        return {"name": name, "resource": value}
    if "." in type and type in element_types():  # a backbone element has no value[x]: its elements are parts
        return {"name": name, "part": [_inner(type, key, item) for key, item in value.items()]}
    return {"name": name, f"value{type[0].upper()}{type[1:]}": value}


def _inner(type: str, key: str, item: Any) -> Tree:
    found = field(type, key)
    first = item[0] if isinstance(item, list) else item
    return {"name": key} if found is None else _part(found.element.name, found.type, first)
