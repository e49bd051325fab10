"""From the parameters of a request to criteria: names, modifiers, prefixes, values. The refusals are HAPI's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ehr.sandbox.criteria import (
    AnyOf,
    Composite,
    Criterion,
    DatesMatch,
    DateTest,
    KeysMatch,
    Missing,
    Not,
    Nothing,
    NumbersMatch,
    NumberTest,
)
from ehr.sandbox.definitions import Parameter, parameters, resource_types
from ehr.sandbox.index import IntArray, Keys
from ehr.sandbox.searchparams import at_root
from ehr.sandbox.sorting import SortKey
from ehr.sandbox.values import folded, searched_date, split_reference

__all__ = ["SearchError", "criterion", "sort_keys", "valid_codes", "values"]

HIDDEN = frozenset({"_content", "_query", "_text"})
"""Parameters of the specification that HAPI does not list."""
LONGEST = 768


class SearchError(Exception):
    """A search that the server refuses: the HTTP status and HAPI's diagnostics."""

    def __init__(self, status: int, diagnostics: str, code: str = "processing") -> None:
        super().__init__(f"{status}: {diagnostics}")
        self.status = status
        self.diagnostics = diagnostics
        self.code = code
        """The issue type of the OperationOutcome."""


def valid_codes(type: str) -> str:
    """The parameters of a type as HAPI lists them in a refusal."""
    return "[" + ", ".join(code for code in parameters(type) if code not in HIDDEN) + "]"


def known(type: str, code: str) -> Parameter:
    """The parameter of a type. Raises `SearchError` (400) where it has none of that name."""
    found = parameters(type).get(code)
    if found is None or code in HIDDEN:
        raise SearchError(
            400,
            f'HAPI-0524: Unknown search parameter "{code}" for resource type "{type}". '
            f"Valid search parameters for this search are: {valid_codes(type)}",
        )
    return found


# ---- values


def values(text: str) -> list[str]:
    """The alternatives of a value: split at commas that no backslash escapes, empty ones left out."""
    return [part for part in _split(text, ",") if part]


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that no backslash escapes. Escapes stay: `unescaped` takes them away."""
    if separator not in text:
        return [text]
    return re.split(rf"(?<!\\){re.escape(separator)}", text)


def unescaped(text: str) -> str:
    """The text without the backslashes that escape a comma, a bar, a dollar or a backslash."""
    return re.sub(r"\\([,|$\\])", r"\1", text) if "\\" in text else text


# ---- criteria


def criterion(parameter: Parameter, modifier: str, text: str) -> Criterion | None:
    """The criterion of one parameter with its modifier and value; `None` where the value is empty."""
    if modifier == "missing":
        return Missing(parameter.code, text.strip().lower() == "true")
    alternatives = values(text)
    if not alternatives:
        return None
    if any(len(value) > LONGEST for value in alternatives):
        longest = max(map(len, alternatives))
        raise SearchError(
            400, f"HAPI-1260: Search parameter value is {longest} characters long, {LONGEST} is the most allowed"
        )
    return _KINDS[parameter.kind](parameter, modifier, alternatives)


def _token(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    if modifier == "of-type":
        raise SearchError(405, "HAPI-2012: The :of-type modifier is not enabled on this server")
    if modifier == "text":
        return KeysMatch(parameter.code, "text", tuple(_starting(unescaped(value)) for value in alternatives))
    if modifier == "above":
        return Nothing()
    match = KeysMatch(parameter.code, "", tuple(_coded(value) for value in alternatives))
    return Not(match) if modifier == "not" else match


def _coded(text: str) -> Callable[[Keys], IntArray]:
    system, bar, code = (unescaped(part) for part in _partition(text, "|"))
    if not bar:
        return lambda keys: keys.exact(system, None)
    if not code:
        return lambda keys: keys.qualified(system)
    return lambda keys: keys.exact(code, system)


def _partition(text: str, separator: str) -> tuple[str, str, str]:
    first, *rest = _split(text, separator)
    return first, separator if rest else "", separator.join(rest)


def _string(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    texts = [unescaped(value) for value in alternatives]
    if modifier == "exact":
        takes = [_exactly(text) for text in texts]
    elif modifier == "contains":
        takes = [_containing(folded(text)) for text in texts]
    else:
        takes = [_starting(text) for text in texts]
    return KeysMatch(parameter.code, "", tuple(takes))


def _starting(text: str) -> Callable[[Keys], IntArray]:
    prefix = folded(text)
    return lambda keys: keys.starting(prefix)


def _exactly(text: str) -> Callable[[Keys], IntArray]:
    value = folded(text)
    return lambda keys: keys.exact(value, text)


def _containing(text: str) -> Callable[[Keys], IntArray]:
    return lambda keys: keys.containing(text)


def _reference(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    if modifier == "identifier":
        raise SearchError(
            400,
            f'HAPI-2498: Unsupported search modifier(s): "[:{modifier}]" for resource type "{parameter.type}". Valid '
            "search modifiers are: [:contains, :exact, :in, :iterate, :missing, :not-in, :of-type, :recurse, :text]",
        )
    wanted = modifier if modifier in resource_types() else None
    return KeysMatch(parameter.code, "", tuple(_referring(unescaped(value), wanted) for value in alternatives))


def _referring(text: str, type: str | None) -> Callable[[Keys], IntArray]:
    pair = split_reference(text)
    if pair is not None:
        return lambda keys: keys.exact(pair[1], pair[0])
    if "/" in text:
        return lambda keys: keys.exact(text, "")
    return lambda keys: keys.exact(text, type)


def _uri(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    texts = [unescaped(value) for value in alternatives]
    return KeysMatch(parameter.code, "", tuple(_addressed(text, modifier) for text in texts))


def _addressed(text: str, modifier: str) -> Callable[[Keys], IntArray]:
    if modifier == "below":
        return lambda keys: keys.starting(text)
    return lambda keys: keys.exact(text, "")


_PREFIXED = re.compile(r"(eq|ne|gt|ge|lt|le|sa|eb|ap)?(.*)", re.DOTALL)


def _date(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    return DatesMatch(parameter.code, tuple(_date_test(value) for value in alternatives))


def _date_test(text: str) -> DateTest:
    prefix, date = _prefixed(text)
    if prefix == "ap":
        raise SearchError(400, "HAPI-1925: Invalid date prefix: ap")
    try:
        return DateTest(prefix, searched_date(date.replace(" ", "+")))
    except ValueError:
        raise SearchError(400, f'HAPI-1940: Invalid date/time/quantity format: "{text}"') from None


def _prefixed(text: str) -> tuple[str, str]:
    found = _PREFIXED.fullmatch(unescaped(text).strip())
    assert found is not None  # every text matches
    return found[1] or "eq", found[2]


def _number(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    return NumbersMatch(parameter.code, tuple(_number_test(value) for value in alternatives))


def _number_test(text: str) -> NumberTest:
    prefix, number = _prefixed(text)
    if prefix in ("sa", "eb"):
        raise SearchError(400, f'HAPI-1235: Unable to handle number prefix "{prefix}" for value: {text}')
    return NumberTest(prefix, _decimal(number, text))


def _quantity(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    return NumbersMatch(parameter.code, tuple(_quantity_test(value) for value in alternatives))


def _quantity_test(text: str) -> NumberTest:
    first, *unit = _split(text, "|")
    prefix, number = _prefixed(first)
    value = _decimal(number, text)
    if prefix in ("sa", "eb"):
        raise SearchError(400, f'HAPI-1235: Unable to handle quantity prefix "{prefix}" for value: {first}||')
    if len(unit) < 2:  # HAPI passes over what follows a single bar
        return NumberTest(prefix, value)
    system, code = unescaped(unit[0]), unescaped(unit[1])
    return NumberTest(prefix, value, system or None, code or None)


_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _decimal(text: str, whole: str) -> float:
    if _DECIMAL.fullmatch(text) is None:
        raise SearchError(400, f'HAPI-1940: Invalid date/time/quantity format: "{whole}"')
    return float(text)


def _composite(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    found = []
    for value in alternatives:
        parts = _split(value, "$")
        if len(parts) != len(parameter.components):
            raise SearchError(
                400,
                f"HAPI-1947: Invalid value for composite parameter: {value!r} has {len(parts)} parts, "
                f"{len(parameter.components)} are expected, separated by '$'",
            )
        found.append(
            tuple(
                _KINDS[component.kind](_as_parameter(parameter, component), "", [part])
                for component, part in zip(parameter.components, parts, strict=True)
            )
        )
    if at_root(parameter):
        return AnyOf(tuple(found))
    return Composite(parameter.code, tuple(found))


def _as_parameter(composite: Parameter, component: Any) -> Parameter:
    return Parameter(composite.type, component.code, component.kind, "", "", (), (), "")


def _special(parameter: Parameter, modifier: str, alternatives: list[str]) -> Criterion:
    raise SearchError(400, f"HAPI-0524: The search parameter {parameter.code!r} is not supported")


_KINDS: dict[str, Callable[[Parameter, str, list[str]], Criterion]] = {
    "token": _token,
    "string": _string,
    "reference": _reference,
    "uri": _uri,
    "date": _date,
    "number": _number,
    "quantity": _quantity,
    "composite": _composite,
    "special": _special,
}


# ---- sorting


def sort_keys(type: str, text: str) -> list[SortKey]:
    """The keys of `_sort`. Raises `SearchError` (400) for one that is no parameter of the type."""
    keys = []
    for part in values(text):
        code = part.removeprefix("-")
        parameter = parameters(type).get(code)
        if parameter is None or code in HIDDEN or parameter.kind not in _SORTED:
            raise SearchError(
                400,
                f'HAPI-1194: Unknown _sort parameter value "{code}" for resource type "{type}" (Note: sort parameters '
                f"values must use a valid Search Parameter). Valid values for this search are: {valid_codes(type)}",
            )
        keys.append(SortKey(code, "id" if code == "_id" else _SORTED[parameter.kind], part.startswith("-")))
    return keys


_SORTED: dict[str, Any] = {
    "token": "keys",
    "string": "keys",
    "reference": "keys",
    "uri": "keys",
    "date": "dates",
    "number": "numbers",
    "quantity": "numbers",
}
