"""As much FHIRPath as a FHIRPath Patch needs: which places in a resource a path names.

    find("Patient.telecom.where(system = 'phone' and use = 'home').value", tree)   -> [Place, ...]

Steps are element names (a choice by its stem), `[n]`, `first()`, `last()`, `where(...)`, `ofType(T)`, `as(T)` and
`extension('url')`; criteria compare paths and literals with `=`, `!=`, `and`, `or`, and know `exists()`, `empty()` and
`not()`. Anything else is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.definitions import Element, fields

LONGEST = 2000
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*|`[^`]*`)|(?P<number>\d+(?:\.\d+)?)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<sign>!=|[.()\[\]=,$]))"
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class PathError(ValueError):
    """A path that is not understood."""


@dataclass(frozen=True)
class Place:
    """A value in a resource and where it stands: `owner[key]`, and `[index]` of it where that is a list.

    `type` is the value's type, `element` what it stands for; both are of the resource itself for the root, whose owner
    is `None`.
    """

    value: Any
    type: str
    owner: Tree | None = None
    key: str = ""
    index: int | None = None
    element: Element | None = None
    owner_type: str = ""

    def remove(self) -> None:
        """Take the value away."""
        assert self.owner is not None
        if self.index is None:
            del self.owner[self.key]
        else:
            self.owner[self.key].pop(self.index)

    def replace(self, key: str, value: Any) -> None:
        """Put another value in its place, under another key of the same choice where its type is another."""
        assert self.owner is not None
        if self.index is not None:
            self.owner[self.key][self.index] = value
            return
        del self.owner[self.key]
        self.owner[key] = value


Finder = Callable[[list[Place]], list[Place]]
Criterion = Callable[[Place], list[Any]]


def find(path: str, tree: Tree) -> list[Place]:
    """The places that a path names, beginning at the resource's type. Raises `PathError`."""
    tokens = _tokens(path)
    parser = _Parser(tokens)
    type = tree["resourceType"]
    if parser.take("name") != type:
        raise PathError(f"a path of a patch begins with the type of the resource, {type}")
    steps = parser.steps()
    parser.end()
    places = [Place(tree, type)]
    for step in steps:
        places = step(places)
    return places


def _tokens(path: str) -> list[tuple[str, str]]:
    if len(path) > LONGEST:
        raise PathError("the path is too long")
    result, position = [], 0
    while path[position:].strip():
        found = _TOKEN.match(path, position)
        if found is None:
            raise PathError(f"unexpected {path[position:].strip()[0]!r}")
        kind = found.lastgroup or ""
        result.append((kind, found[kind]))
        position = found.end()
    return result


class _Parser:
    """Recursive descent over the tokens of a path."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.position, self.depth = tokens, 0, 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self.position + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "")

    def take(self, kind: str, text: str | None = None) -> str:
        found = self.peek()
        if found[0] != kind or (text is not None and found[1] != text):
            raise PathError(f"expected {text or kind}, found {found[1] or 'the end'!r}")
        self.position += 1
        return found[1].strip("`") if kind == "name" else found[1]

    def end(self) -> None:
        if self.peek()[0] != "end":
            raise PathError(f"unexpected {self.peek()[1]!r}")

    # ---- steps

    def steps(self) -> list[Finder]:
        result: list[Finder] = []
        while True:
            if self.peek() == ("sign", "."):
                self.position += 1
                result.append(self.step())
            elif self.peek() == ("sign", "["):
                self.position += 1
                number = int(Decimal(self.take("number")))
                self.take("sign", "]")
                result.append(lambda places, n=number: places[n : n + 1])  # type: ignore[misc]
            else:
                return result

    def step(self) -> Finder:
        name = self.take("name")
        if self.peek() != ("sign", "("):
            return lambda places: [below for place in places for below in _children(place, name)]
        self.position += 1
        step = self.function(name)
        self.take("sign", ")")
        return step

    def function(self, name: str) -> Finder:
        if name in ("first", "last"):
            return (lambda places: places[:1]) if name == "first" else (lambda places: places[-1:])
        if name in ("ofType", "as"):
            wanted = self.take("name")
            if self.peek() == ("sign", "."):  # FHIR.Quantity, System.String
                self.position += 1
                wanted = self.take("name")
            return lambda places: [place for place in places if place.type == wanted]
        if name == "extension":
            url = _literal(self.take("text"))
            return lambda places: [
                below
                for place in places
                for below in _children(place, "extension")
                if isinstance(below.value, dict) and below.value.get("url") == url
            ]
        if name == "where":
            criterion = self.either()
            return lambda places: [place for place in places if criterion(place) == [True]]
        raise PathError(f"the function {name!r} is not known here")

    # ---- criteria

    def either(self) -> Criterion:
        return self.joined("or", self.both, any)

    def both(self) -> Criterion:
        return self.joined("and", self.comparison, all)

    def joined(self, word: str, part: Callable[[], Criterion], rule: Callable[[Iterator[bool]], bool]) -> Criterion:
        self.depth += 1
        if self.depth > 100:
            raise PathError("the path nests too deeply")
        parts = [part()]
        while self.peek() == ("name", word):
            self.position += 1
            parts.append(part())
        self.depth -= 1
        if len(parts) == 1:
            return parts[0]
        return lambda place: [rule(one(place) == [True] for one in parts)]

    def comparison(self) -> Criterion:
        left = self.term()
        if self.peek() not in (("sign", "="), ("sign", "!=")):
            return left
        equal = self.take("sign") == "="
        right = self.term()

        def compare(place: Place) -> list[Any]:
            one, other = left(place), right(place)
            return [_same(one, other) is equal] if one and other else []

        return compare

    def term(self) -> Criterion:
        kind, text = self.peek()
        if kind == "text":
            self.position += 1
            return lambda place, value=_literal(text): [value]  # type: ignore[misc]
        if kind == "number":
            self.position += 1
            return lambda place, value=Number(text): [value]  # type: ignore[misc]
        if (kind, text) == ("sign", "("):
            self.position += 1
            inner = self.either()
            self.take("sign", ")")
            return self.tested(inner)
        if (kind, text) == ("sign", "$"):
            self.position += 1
            self.take("name", "this")
            return self.path(lambda place: [place])
        name = self.take("name")
        if name in ("true", "false"):
            return lambda place, value=name == "true": [value]  # type: ignore[misc]
        return self.path(lambda place: list(_children(place, name)))

    def path(self, begin: Callable[[Place], list[Place]]) -> Criterion:
        """A path inside a criterion, up to a test of it."""
        steps: list[Finder] = []
        while self.peek() in (("sign", "."), ("sign", "[")):
            if self.peek(1)[1] in ("exists", "empty", "not") and self.peek(2) == ("sign", "("):
                break
            if self.peek() == ("sign", "."):
                self.position += 1
                steps.append(self.step())
            else:
                self.position += 1
                number = int(Decimal(self.take("number")))
                self.take("sign", "]")
                steps.append(lambda places, n=number: places[n : n + 1])  # type: ignore[misc]

        def values(place: Place) -> list[Any]:
            places = begin(place)
            for step in steps:
                places = step(places)
            return [found.value for found in places]

        return self.tested(values)

    def tested(self, of: Criterion) -> Criterion:
        while self.peek() == ("sign", ".") and self.peek(1)[1] in ("exists", "empty", "not"):
            self.position += 1
            of = _test(self.take("name"), of)
            self.take("sign", "(")
            self.take("sign", ")")
        return of


def _test(name: str, of: Criterion) -> Criterion:
    if name == "exists":
        return lambda place: [bool(of(place))]
    if name == "empty":
        return lambda place: [not of(place)]
    return lambda place: [value is not True for value in of(place)[:1]]


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        Decimal(a) == Decimal(b) if isinstance(a, Number) and isinstance(b, Number) else a == b
        for a, b in zip(one, other, strict=True)
    )


def _literal(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])


def _children(place: Place, name: str) -> Iterator[Place]:
    """The values of an element, in order."""
    if not isinstance(place.value, dict):
        return
    type = str(place.value.get("resourceType")) if place.type == "Resource" else place.type
    for key, found in fields(type).items():
        if found.element.name != name or key not in place.value:
            continue
        value = place.value[key]
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield Place(item, found.type, place.value, key, index, found.element, type)
        else:
            yield Place(value, found.type, place.value, key, None, found.element, type)
