"""The official R4 search parameters, compiled: what can be searched in a resource.

`program(type).rows(resource)` gives, for each space of the type (a parameter, or one side of it), the index rows of a
resource. Every index is filled from these rows, so a resource is found alike in a record and in the writes over it.

One expression is no path and is written by hand here: `Patient?deceased` is true for a true boolean and for any date,
false for everything else. Composites that pair elements of the resource itself need no rows of their own: their
components are searched one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ehr.sandbox.definitions import Parameter, parameters
from ehr.sandbox.parameters.converters import Convert, Rows, Shape, converter, shape, words
from ehr.sandbox.parameters.expressions import Path, Step, compiled, getter

__all__ = ["Program", "Rows", "Shape", "Space", "at_root", "program", "references"]

Json = dict[str, Any]

UNINDEXED = frozenset({"_id", "_text", "_content", "_query", "_source"})
"""`_id` has its own table; HAPI refuses the others."""
DECEASED = "Patient.deceased.exists() and Patient.deceased != false"


class Space(NamedTuple):
    """One searchable side of a parameter. `role` is empty, `text` for a token's words, or the number of a component."""

    type: str
    code: str
    role: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class _Taken:
    """Values at one place of a resource, and what becomes of them: conversions, each for one or more spaces."""

    get: Callable[[Json], Iterable[Any]]
    conversions: list[tuple[Convert, list[int]]]


class Program:
    """All search parameters of one resource type, ready to run over resources."""

    def __init__(self, type: str) -> None:
        self.type = type
        self.spaces: list[Space] = []
        self.numbers: dict[tuple[str, str], int] = {}
        """Code and role -> the number of the space in `spaces`."""
        self.parts: dict[int, tuple[Shape, ...]] = {}
        """For spaces of items: the shapes of the components."""
        self._taken: dict[str, dict[tuple[Step, ...], _Taken]] = {}
        self._hand_made: list[tuple[int, Callable[[Json], Rows]]] = []
        for parameter in parameters(type).values():
            if parameter.code not in UNINDEXED:
                self._add(parameter)
        self.updated = self.numbers["_lastUpdated", ""]
        """The number of the space of `_lastUpdated`."""
        self._by_key = {key: list(taken.values()) for key, taken in self._taken.items()}

    def rows(self, resource: Json) -> dict[int, Rows]:
        """The index rows of a resource: number of a space in `spaces` -> its rows, spaces without rows left out."""
        found: dict[int, Rows] = {}
        by_key = self._by_key
        for key in resource:
            for taken in by_key.get(key, ()):
                values = taken.get(resource)
                if not values:
                    continue
                for convert, spaces in taken.conversions:
                    rows: Rows = []
                    for value in values:
                        convert(value, rows)
                    if rows:
                        for space in spaces:
                            found[space] = found[space] + rows if space in found else rows
        for space, make in self._hand_made:
            rows = make(resource)
            if rows:
                found[space] = rows
        return found

    def patient(self, rows: dict[int, Rows]) -> str:
        """The id of the patient (or other subject) that a resource is about, from its index rows; empty if there is
        none.
        """
        for code in ("patient", "subject"):
            found = rows.get(self.numbers.get((code, ""), -1))
            if found:
                return str(found[0][0])
        return ""

    def _add(self, parameter: Parameter) -> None:
        if parameter.expression == DECEASED:
            self._hand_made.append((self._space(parameter.code, "", "keys"), _deceased))
        elif parameter.kind == "composite":
            if not at_root(parameter):
                space = self._space(parameter.code, "", "items")
                self.parts[space] = tuple(shape(component.kind) for component in parameter.components)
                self._hand_made.append((space, _composite(parameter)))
        else:
            paths = compiled(parameter.expression, self.type)
            space = self._space(parameter.code, "", shape(parameter.kind))
            for path in paths:
                self._take(path, converter(parameter.kind, path), space)
            if parameter.kind == "token":
                text = self._space(parameter.code, "text", "keys")
                for path in paths:
                    self._take(path, words(path), text)

    def _space(self, code: str, role: str, shape: Shape) -> int:
        self.spaces.append(Space(self.type, code, role, shape))
        self.numbers[code, role] = len(self.spaces) - 1
        return len(self.spaces) - 1

    def _take(self, path: Path, convert: Convert | None, space: int) -> None:
        if convert is None:
            return
        places = self._taken.setdefault(path.steps[0].name, {})
        taken = places.setdefault(path.steps, _Taken(getter(path.steps), []))
        for known, spaces in taken.conversions:
            if known is convert:
                spaces.append(space)
                return
        taken.conversions.append((convert, [space]))


@cache
def program(type: str) -> Program:
    """The compiled program of a resource type. Raises `KeyError` for an unknown type."""
    return Program(type)


def _deceased(resource: Json) -> Rows:
    dead = resource.get("deceasedBoolean") is True or "deceasedDateTime" in resource
    return [("true" if dead else "false", "")]


def at_root(parameter: Parameter) -> bool:
    """Whether a composite pairs elements of the resource itself, so that its components can be searched one by one."""
    return parameter.expression == parameter.type


def _composite(parameter: Parameter) -> Callable[[Json], Rows]:
    """A composite's rows: for each element its expression finds, the rows of each component, where none is empty."""
    elements_of = [
        (
            getter(path.steps) if path.steps else _itself,
            [_component(c.kind, c.expression, path) for c in parameter.components],
        )
        for path in compiled(parameter.expression, parameter.type)
    ]

    def make(resource: Json) -> Rows:
        items: Rows = []
        for get, components in elements_of:
            for element in get(resource):
                if type(element) is dict:
                    item = tuple(component(element, resource) for component in components)
                    if all(item):
                        items.append(item)
        return items

    return make


def _itself(resource: Json) -> Iterable[Any]:
    return (resource,)


def _component(kind: str, expression: str, place: Path) -> Callable[[Json, Json], Rows]:
    """One component: closure from the composite's element (and the whole resource, for `%resource`) to its rows."""
    taken = []
    for path in compiled(expression, place.type):
        convert = converter(kind, path)
        if convert is not None:
            taken.append((getter(path.steps), convert, path.whole))

    def rows_of(element: Json, resource: Json) -> Rows:
        rows: Rows = []
        for get, convert, whole in taken:
            for value in get(resource if whole else element):
                convert(value, rows)
        return rows

    return rows_of


# ---- references, for referential integrity


@cache
def _reference_paths(type: str) -> tuple[tuple[str, Callable[[Json], Iterable[Any]]], ...]:
    """The places of a type where a reference parameter looks, shortest term first, each place once."""
    found: dict[tuple[Step, ...], str] = {}
    for parameter in parameters(type).values():
        if parameter.kind == "reference":
            for path in compiled(parameter.expression, type):
                if path.type == "Reference":
                    plain = tuple(step for step in path.steps if step.kind == "key")
                    name = re.sub(r"\.(where|as|ofType)\(.*|\[\d+\]", "", path.term).strip("( ").split(" as ")[0]
                    found.setdefault(plain, name)
    return tuple((name, getter(steps)) for steps, name in sorted(found.items(), key=lambda pair: pair[1]))


def references(resource: Json) -> Iterator[tuple[str, Json]]:
    """Every Reference that a search parameter looks at, with its path (`Observation.subject`), as HAPI's integrity
    checks.
    """
    for name, get in _reference_paths(resource["resourceType"]):
        for value in get(resource):
            if type(value) is dict:
                yield name, value
