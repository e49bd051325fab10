"""`_filter`, as far as HAPI has it: comparisons joined by `and` and `or`, with brackets.

    name co "ann" and (birthdate ge 1980 or gender eq female)

`eq` compares a whole text, unlike a search by parameter; `ne` asks for a value that differs. What HAPI does not know is
refused with its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ehr.sandbox.definitions import Parameter
from ehr.sandbox.parameters.values import folded
from ehr.sandbox.searching.criteria import AnyOf, Criterion, KeysMatch, Not, Nothing, Present
from ehr.sandbox.searching.query import criterion, parts, unescaped
from ehr.sandbox.searching.refusals import SearchError, known
from ehr.sandbox.store.index import IntArray, Keys

__all__ = ["filtered"]

OPERATIONS = ("eq", "ne", "co", "sw", "ew", "gt", "lt", "ge", "le", "pr", "po", "ss", "sb", "in", "re")
_TOKEN = re.compile(r"""\s*(?:(?P<bracket>[()])|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<word>[^\s()"]+))""")
DEEPEST = 32

Plain = Callable[[str, str], Criterion | None]
"""Name and value of a parameter -> its criterion: what a search without `_filter` would do."""


def filtered(type: str, text: str, plain: Plain) -> Criterion:
    """The criterion of a filter. Raises `SearchError` (400) where it cannot be read."""
    reader = _Reader(type, text, plain)
    found = reader.either(0)
    if reader.left():
        raise reader.wrong("HAPI-1056: Expression did not terminate")
    return found


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    quoted: bool
    place: int


class _Reader:
    """Reads a filter from left to right."""

    def __init__(self, type: str, text: str, plain: Plain) -> None:
        self._type = type
        self._plain = plain
        self._text = text
        self._words = list(self._split())
        self._next = 0

    def _split(self) -> Iterator[_Word]:
        place = 0
        while self._text[place:].strip():
            found = _TOKEN.match(self._text, place)
            if found is None:
                raise self.wrong("HAPI-1052: Unterminated text", place)
            place = found.end()
            quoted = found["quoted"]
            text = re.sub(r"\\(.)", r"\1", quoted[1:-1]) if quoted is not None else found["bracket"] or found["word"]
            yield _Word(text, quoted is not None, found.end() - len(found[0].lstrip()))

    def wrong(self, what: str, place: int | None = None) -> SearchError:
        """A filter that cannot be read, and where."""
        if place is None:
            place = self._words[self._next].place if self.left() else len(self._text)
        return SearchError(400, f"HAPI-1221: Error parsing _filter syntax: {what} at {place}")

    def left(self) -> bool:
        return self._next < len(self._words)

    def _word(self) -> _Word:
        if not self.left():
            raise self.wrong("HAPI-1056: Expression ended too early")
        self._next += 1
        return self._words[self._next - 1]

    def _take(self, text: str) -> bool:
        word = self._words[self._next] if self.left() else None
        if word is None or word.quoted or word.text.lower() != text:
            return False
        self._next += 1
        return True

    def either(self, depth: int) -> Criterion:
        """Alternatives joined by `or`."""
        found = [self._both(depth)]
        while self._take("or"):
            found.append(self._both(depth))
        return found[0] if len(found) == 1 else AnyOf(tuple((one,) for one in found))

    def _both(self, depth: int) -> Criterion:
        found = [self._one(depth)]
        while self._take("and"):
            found.append(self._one(depth))
        return found[0] if len(found) == 1 else AnyOf((tuple(found),))

    def _one(self, depth: int) -> Criterion:
        if self._take("("):
            if depth >= DEEPEST:
                raise self.wrong(f"HAPI-1056: Brackets are nested deeper than {DEEPEST}")
            found = self.either(depth + 1)
            if not self._take(")"):
                raise self.wrong("HAPI-1056: Expression ended without a closing bracket")
            return found
        name = self._word()
        operation = self._word()
        if operation.quoted or operation.text not in OPERATIONS:
            self._next -= 1
            if name.text == "not":
                self._next -= 1
                raise self.wrong("HAPI-1056: Expression did not terminate", 3)
            raise self.wrong(f"HAPI-1064: Unknown operation {operation.text}")
        return self._comparison(name.text, operation.text, self._word().text)

    def _comparison(self, name: str, operation: str, value: str) -> Criterion:
        if "." in name or name.startswith("_"):
            if operation != "eq" and name != "_lastUpdated":
                raise SearchError(400, f"HAPI-1226: Unsupported operator specified in _filter clause, {operation}")
            prefix = "" if operation == "eq" else operation
            return self._plain(name, prefix + value) or Nothing()
        parameter = known(self._type, name, "HAPI-1206")
        return _KINDS[parameter.kind](parameter, operation, value)


# ---- one comparison


def _text(parameter: Parameter, operation: str, value: str) -> Criterion:
    if operation not in _TEXT_TESTS:
        number, kind = ("HAPI-1261", "string") if parameter.kind == "string" else ("HAPI-1226", "uri")
        if kind == "string":
            raise SearchError(400, f"{number}: Don't yet know how to handle operation {operation} on a string")
        raise SearchError(400, f"{number}: Unsupported operator specified in _filter clause, {operation}")
    wanted = [folded(unescaped(one)) if parameter.kind == "string" else unescaped(one) for one in parts(value, ",")]
    return KeysMatch(parameter.code, "", tuple(_texts(operation, one) for one in wanted))


def _texts(operation: str, asked: str) -> Callable[[Keys], IntArray]:
    test = _TEXT_TESTS[operation]
    if operation == "eq":
        return lambda keys: keys.exact(asked, None)
    if operation == "sw":
        return lambda keys: keys.starting(asked)
    return lambda keys: keys.where(lambda text: test(text, asked))


_TEXT_TESTS: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda text, asked: text == asked,
    "ne": lambda text, asked: text != asked,
    "co": lambda text, asked: asked in text,
    "sw": lambda text, asked: text.startswith(asked),
    "ew": lambda text, asked: text.endswith(asked),
    "gt": lambda text, asked: text > asked,
    "ge": lambda text, asked: text >= asked,
    "lt": lambda text, asked: text < asked,
    "le": lambda text, asked: text <= asked,
}


def _token(parameter: Parameter, operation: str, value: str) -> Criterion:
    if operation not in ("eq", "ne"):
        return Nothing()
    found = criterion(parameter, "", value) or Nothing()
    return AnyOf(((Present(parameter.code), Not(found)),)) if operation == "ne" else found


def _reference(parameter: Parameter, operation: str, value: str) -> Criterion:
    if operation not in ("eq", "ne"):
        raise SearchError(
            400,
            "HAPI-1212: Invalid operator specified for reference predicate.  Supported operators for reference "
            'predicate are "eq" and "ne".',
        )
    return _token(parameter, operation, value)


def _measured(parameter: Parameter, operation: str, value: str) -> Criterion:
    if operation not in ("eq", "ne", "gt", "ge", "lt", "le"):
        raise SearchError(400, f"HAPI-1226: Unsupported operator specified in _filter clause, {operation}")
    found = criterion(parameter, "", operation + value)
    return found or Nothing()


_KINDS: dict[str, Callable[[Parameter, str, str], Criterion]] = {
    "string": _text,
    "uri": _text,
    "token": _token,
    "reference": _reference,
    "date": _measured,
    "number": _measured,
    "quantity": _measured,
    "composite": lambda parameter, operation, value: Nothing(),
    "special": lambda parameter, operation, value: Nothing(),
}
