"""The expressions of search parameters, compiled to closures over plain JSON.

They are a small part of FHIRPath: paths, unions, `as`, `where(a='b')`, `where(resolve() is T)`, `[0]`. A path is
followed through the element tables, so that each closure knows the type of the values it finds; a choice becomes a
path a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from ehr.sandbox.definitions import Element, element_types, fields
from ehr.sandbox.parameters.values import referenced_type

__all__ = ["Path", "Step", "compiled", "getter"]

Json = dict[str, Any]


class Step(NamedTuple):
    """One step of a compiled path: `key` takes a JSON key, `where` and `resolve` filter, `index` takes one."""

    kind: Literal["key", "where", "resolve", "index"]
    name: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """One term of an expression down to one JSON key: where the values are, and of which type they are."""

    steps: tuple[Step, ...]
    type: str
    element: Element | None
    term: str
    whole: bool = False
    """The steps begin at the whole resource although the value is looked for below a component's element."""


_TOKEN = re.compile(
    r"""\s*\.?\s*(?:
        (?P<cast>as|ofType)\((?P<type>\w+)\)
      | where\(resolve\(\)\s+is\s+(?P<target>\w+)\)
      | where\((?P<field>\w+)\s*=\s*'(?P<equals>[^']*)'\)
      | \[(?P<index>\d+)\]
      | as\s+(?P<type2>\w+)
      | (?P<name>%?[A-Za-z]\w*)
    )""",
    re.VERBOSE,
)


@cache
def compiled(expression: str, type: str) -> tuple[Path, ...]:
    """The paths of an expression on a type, one for each JSON key that may hold a value.

    Raises `ValueError` for what is none of the constructs above.
    """
    return tuple(path for term in _terms(expression) for path in _paths(term, type))


def _terms(expression: str) -> list[str]:
    """The terms of a union; brackets around a cast are no part of it, and no term of R4 has a bar inside brackets."""
    return [term.strip() for term in expression.split("|") if term.strip()]


def _paths(term: str, type: str) -> Iterator[Path]:
    parsed = _parse(term)
    place = parsed[0]
    whole = place == ("name", "%resource")
    if place in (("name", type), ("name", "Resource"), ("name", "DomainResource")) or whole:
        parsed = parsed[1:]
    start = type.split(".")[0] if whole else type
    if not parsed:
        yield Path((), start, None, term)
    else:
        yield from _walk(parsed, start, None, (), term, whole)


def _parse(term: str) -> list[tuple[str, ...]]:
    flat = term.replace("(", " ( ").replace(")", " ) ") if " as " in term else term
    if " as " in term:  # (a.b as T).c reads like a.b.as(T).c
        flat = re.sub(r"\s*\(\s*([\w.]+) as (\w+)\s*\)\s*", r"\1.as(\2)", flat).strip()
    position = 0
    parsed: list[tuple[str, ...]] = []
    while position < len(flat):
        found = _TOKEN.match(flat, position)
        if found is None or found.end() == position:
            raise ValueError(f"{term!r} is no expression this compiler knows, at {flat[position:]!r}")
        position = found.end()
        if found["type"] or found["type2"]:
            parsed.append(("as", found["type"] or found["type2"]))
        elif found["target"]:
            parsed.append(("resolve", found["target"]))
        elif found["field"]:
            parsed.append(("where", found["field"], found["equals"]))
        elif found["index"]:
            parsed.append(("index", found["index"]))
        else:
            parsed.append(("name", found["name"]))
    return parsed


def _walk(
    parsed: list[tuple[str, ...]], type: str, element: Element | None, steps: tuple[Step, ...], term: str, whole: bool
) -> Iterator[Path]:
    """Follow the parsed steps from a type, one branch for each type of a choice."""
    if not parsed:
        yield Path(steps, type, element, term, whole)
        return
    head, rest = parsed[0], parsed[1:]
    if head[0] == "as":
        if _same_type(type, head[1]):
            yield from _walk(rest, type, element, steps, term, whole)
    elif head[0] == "resolve":
        yield from _walk(rest, type, element, (*steps, Step("resolve", head[1])), term, whole)
    elif head[0] == "where":
        yield from _walk(rest, type, element, (*steps, Step("where", head[1], head[2])), term, whole)
    elif head[0] == "index":
        yield from _walk(rest, type, element, (*steps, Step("index", head[1])), term, whole)
    else:
        found = [f for f in fields(type).values() if f.element.name == head[1]] if type in element_types() else []
        if not found:
            raise ValueError(f"{term!r} names {head[1]!r}, which {type} does not have")
        for field in found:
            yield from _walk(rest, field.type, field.element, (*steps, Step("key", field.key)), term, whole)


def _same_type(type: str, asked: str) -> bool:
    """Whether a cast keeps a type; one definition writes `DateTime` for `dateTime`."""
    return type.lower() == asked.lower()


# ---- taking values out of JSON


def getter(steps: tuple[Step, ...]) -> Callable[[Json], Iterable[Any]]:
    """The steps as a closure from a JSON object to the values found. Whatever does not fit is passed over."""
    if all(step.kind == "key" for step in steps):
        keys = [step.name for step in steps]
        if len(keys) == 1:
            return _one_key(keys[0])
        if len(keys) == 2:
            return _two_keys(keys[0], keys[1])
    moves = [_MOVES[step.kind](step) for step in steps]

    def get(resource: Json) -> Iterable[Any]:
        current: list[Any] = [resource]
        for move in moves:
            current = move(current)
            if not current:
                break
        return current

    return get


def _one_key(key: str) -> Callable[[Json], Iterable[Any]]:
    def get(resource: Json) -> Iterable[Any]:
        value = resource.get(key)
        if value is None:
            return ()
        return value if type(value) is list else (value,)

    return get


def _two_keys(first: str, second: str) -> Callable[[Json], Iterable[Any]]:
    def get(resource: Json) -> Iterable[Any]:
        value = resource.get(first)
        if value is None:
            return ()
        found: list[Any] = []
        for item in value if type(value) is list else (value,):
            inner = item.get(second) if type(item) is dict else None
            if inner is not None:
                if type(inner) is list:
                    found += inner
                else:
                    found.append(inner)
        return found

    return get


def _key_move(step: Step) -> Callable[[list[Any]], list[Any]]:
    key = step.name

    def move(current: list[Any]) -> list[Any]:
        found: list[Any] = []
        for item in current:
            value = item.get(key) if type(item) is dict else None
            if value is not None:
                if type(value) is list:
                    found += value
                else:
                    found.append(value)
        return found

    return move


def _where_move(step: Step) -> Callable[[list[Any]], list[Any]]:
    return lambda current: [item for item in current if type(item) is dict and item.get(step.name) == step.value]


def _resolve_move(step: Step) -> Callable[[list[Any]], list[Any]]:
    return lambda current: [item for item in current if type(item) is dict and referenced_type(item) == step.name]


def _index_move(step: Step) -> Callable[[list[Any]], list[Any]]:
    place = int(step.name)
    return lambda current: current[place : place + 1]


_MOVES: Mapping[str, Callable[[Step], Callable[[list[Any]], list[Any]]]] = {
    "key": _key_move,
    "where": _where_move,
    "resolve": _resolve_move,
    "index": _index_move,
}
