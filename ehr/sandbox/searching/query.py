"""From one parameter of a request to a criterion: modifiers, prefixes, values. The refusals are HAPI's own.

An unknown modifier is passed over, as HAPI does, except on references, where it names a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ehr.sandbox.definitions import Component, Parameter, codes, resource_types
from ehr.sandbox.parameters.searchparams import at_root
from ehr.sandbox.parameters.values import folded, searched_date, split_reference
from ehr.sandbox.searching.criteria import (
    AnyOf,
    Composite,
    Criterion,
    DatesMatch,
    DateTest,
    KeysMatch,
    Not,
    Nothing,
    NumbersMatch,
    NumberTest,
    Present,
)
from ehr.sandbox.searching.near import Near, Place
from ehr.sandbox.searching.refusals import SearchError
from ehr.sandbox.store.index import IntArray, Keys

__all__ = ["alternatives", "criterion", "date_test", "parts", "unescaped"]

LONGEST = 768
MODIFIERS = "[:contains, :exact, :in, :iterate, :missing, :not-in, :of-type, :recurse, :text]"
Take = Callable[[Keys], IntArray]


# ---- values


def parts(text: str, separator: str) -> list[str]:
    """The text split at a separator that no backslash escapes. Escapes stay: `unescaped` takes them away."""
    return re.split(rf"(?<!\\){re.escape(separator)}", text) if separator in text else [text]


def unescaped(text: str) -> str:
    """The text without the backslashes that escape a comma, a bar, a dollar or a backslash."""
    return re.sub(r"\\([,|$\\])", r"\1", text) if "\\" in text else text


def alternatives(text: str) -> list[str]:
    """The alternatives of a value: split at commas, empty ones and repeats left out. Raises `SearchError` for one
    that is too long.
    """
    found = [part for part in dict.fromkeys(parts(text, ",")) if part]
    longest = max(map(len, found), default=0)
    if longest > LONGEST:
        raise SearchError(
            400, f"HAPI-1260: Search parameter value is {longest} characters long, {LONGEST} is the most allowed"
        )
    return found


# ---- criteria


def criterion(parameter: Parameter, modifier: str, text: str) -> Criterion | None:
    """The criterion of a parameter with its modifier and value; `None` where the value is empty."""
    if modifier == "missing":
        return _missing(parameter, text.strip().lower() == "true") if text else None
    found = alternatives(text)
    if not found:
        return Nothing() if modifier == "exact" and parameter.kind == "string" else None
    return _KINDS[parameter.kind](parameter, modifier, found)


def _missing(parameter: Parameter, missing: bool) -> Criterion:
    present: Criterion = Present(parameter.code)
    if parameter.kind == "composite" and at_root(parameter):
        present = AnyOf((tuple(Present(component.code) for component in parameter.components),))
    return Not(present) if missing else present


# ---- tokens


def _token(parameter: Parameter, modifier: str, found: list[str]) -> Criterion | None:
    if parameter.code in _LABELS:
        return _label(parameter, modifier, found)
    if modifier == "of-type":
        raise SearchError(405, "HAPI-2012: The :of-type modifier is not enabled on this server")
    if modifier == "text":
        return KeysMatch(parameter.code, "text", tuple(_starting(unescaped(value)) for value in found))
    if modifier in ("above", "below"):
        return _hierarchy(parameter, found)
    if modifier in ("in", "not-in"):
        takes = tuple(take for value in found for take in _in_value_set(value))
        match = KeysMatch(parameter.code, "", takes)
        return Not(match) if modifier == "not-in" else match
    takes = tuple(_coded(value) for value in found if value != "|")
    if not takes:
        return None
    return Not(KeysMatch(parameter.code, "", takes)) if modifier == "not" else KeysMatch(parameter.code, "", takes)


_LABELS = frozenset({"_tag", "_security"})


def _label(parameter: Parameter, modifier: str, found: list[str]) -> Criterion | None:
    """Tags and security labels: `|code` has any system, and no modifier but `:not` counts, as at HAPI."""
    takes = []
    for value in found:
        if value == "|":
            continue
        if value.endswith("|"):
            raise SearchError(
                400,
                f"HAPI-1218: Missing {parameter.code} parameter (must supply a value/code and not just a system): "
                f"{value}",
            )
        takes.append(_coded(value.removeprefix("|")))
    if not takes:
        return None
    match = KeysMatch(parameter.code, "", tuple(takes))
    return Not(match) if modifier == "not" else match


def _hierarchy(parameter: Parameter, found: list[str]) -> Criterion:
    """`:above` and `:below` find nothing without a terminology server; they want `system|code`."""
    for value in found:
        system, *rest = parts(value, "|")
        code = "|".join(rest) if rest else system
        if not rest or not system:
            number, missing, shown = "1240", "code", f"(missing)|{unescaped(code)}"
        elif not code:
            number, missing, shown = "1239", "system", f"{unescaped(system)}|(missing)"
        else:
            continue
        raise SearchError(
            400,
            f"HAPI-{number}: Invalid token specified for parameter {parameter.code} - No {missing} specified: {shown}",
        )
    return Nothing()


def _coded(text: str) -> Take:
    """`code`, `system|code`, `|code` without a system, `system|` with any code."""
    first, *rest = parts(text, "|")
    if not rest:
        code = unescaped(first)
        return lambda keys: keys.exact(code, None)
    system, code = unescaped(first), unescaped("|".join(rest))
    if not code:
        return lambda keys: keys.qualified(system)
    return lambda keys: keys.exact(code, system)


def _in_value_set(text: str) -> list[Take]:
    """The codes of a value set; HAPI takes what stands behind a bar for its address."""
    url = unescaped(parts(text, "|")[-1])
    listed = codes(url)
    if listed is None:
        raise SearchError(404, f"HAPI-2788: Unknown ValueSet: {quote(url, safe='')}")
    return [_coded(f"{system}|{code}") for code, system in listed.items()]


# ---- strings and addresses


def _string(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    make = {"exact": _exactly, "contains": _containing}.get(modifier, _starting)
    return KeysMatch(parameter.code, "", tuple(make(unescaped(value)) for value in found))


def _starting(text: str) -> Take:
    prefix = folded(text)
    return lambda keys: keys.starting(prefix)


def _exactly(text: str) -> Take:
    value = folded(text)
    return lambda keys: keys.exact(value, text)


def _containing(text: str) -> Take:
    inside = folded(text)
    return lambda keys: keys.where(lambda value: inside in value)


def _uri(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    make = {"below": _below, "above": _above}.get(modifier, _addressed)
    return KeysMatch(parameter.code, "", tuple(make(unescaped(value)) for value in found))


def _addressed(text: str) -> Take:
    return lambda keys: keys.exact(text, "")


def _below(text: str) -> Take:
    return lambda keys: keys.starting(text)


def _above(text: str) -> Take:
    """The address itself and those that it goes on from after a slash."""
    steps = [text, *(text[: found.start()] for found in re.finditer("/", text))]
    return lambda keys: _union_of(keys, steps)


def _union_of(keys: Keys, values: list[str]) -> IntArray:
    from ehr.sandbox.store.index import union

    return union([keys.exact(value, "") for value in values if value])


# ---- references


def _reference(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    check_reference_modifier(parameter.type, modifier)
    return KeysMatch(parameter.code, "", tuple(_referring(unescaped(value), modifier or None) for value in found))


def check_reference_modifier(type: str, modifier: str) -> None:
    """Raises `SearchError` for a modifier of a reference that is no resource type."""
    if not modifier or modifier in resource_types():
        return
    if f":{modifier}" in MODIFIERS[1:-1].split(", "):
        raise SearchError(400, f'HAPI-1250: Invalid/unsupported resource type: "{modifier}"')
    raise SearchError(
        400,
        f'HAPI-2498: Unsupported search modifier(s): "[:{modifier}]" for resource type "{type}". '
        f"Valid search modifiers are: {MODIFIERS}",
    )


def _referring(text: str, type: str | None) -> Take:
    pair = split_reference(text)
    if pair is not None:
        return lambda keys: keys.exact(pair[1], pair[0])
    if "/" in text:
        return lambda keys: keys.exact(text, "")
    return lambda keys: keys.exact(text, type)


# ---- dates, numbers, quantities


_OLD_PREFIXES = {"": "eq", "=": "eq", ">": "gt", ">=": "ge", "<": "lt", "<=": "le", "~": "ap"}
_PREFIXES = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "sa", "eb", "ap"})


def _prefixed(text: str) -> tuple[str, str]:
    """The prefix and the rest, which begins with the first digit or minus. Raises `SearchError` where there is none."""
    found = re.search(r"[0-9-]", text)
    if found is None:
        raise SearchError(400, f'HAPI-1940: Invalid date/time/quantity format: "{text}"')
    prefix, rest = text[: found.start()], text[found.start() :]
    prefix = _OLD_PREFIXES.get(prefix, prefix)
    if prefix not in _PREFIXES:
        raise SearchError(400, f'HAPI-1941: Invalid prefix: "{prefix}"')
    return prefix, rest


def _date(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    return DatesMatch(parameter.code, tuple(date_test(value) for value in found))


def date_test(text: str) -> DateTest:
    """One date with its prefix. Raises `SearchError` where it is none."""
    prefix, date = _prefixed(unescaped(text).replace(" ", "+"))
    if prefix == "ap":
        raise SearchError(400, "HAPI-1925: Unknown comparator: APPROXIMATE")
    try:
        return DateTest(prefix, searched_date(date))
    except ValueError:
        raise SearchError(400, f'HAPI-1882: Invalid date/time format: "{date}"') from None


def _number(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    tests = []
    for text in found:
        prefix, number = _prefixed(unescaped(text))
        if prefix in ("sa", "eb"):
            raise SearchError(400, f'HAPI-1235: Unable to handle number prefix "{prefix}" for value: {text}')
        tests.append(NumberTest(prefix, _decimal(number, text)))
    return NumbersMatch(parameter.code, tuple(tests))


def _quantity(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    return NumbersMatch(parameter.code, tuple(_quantity_test(value) for value in found))


def _quantity_test(text: str) -> NumberTest:
    first, *unit = parts(text, "|")
    prefix, number = _prefixed(first or text)
    if prefix in ("sa", "eb"):
        raise SearchError(400, f'HAPI-1235: Unable to handle quantity prefix "{prefix}" for value: {first}||')
    value = _decimal(number, first)
    if len(unit) < 2 or not unit[1]:  # HAPI passes over a single bar with what follows, and a system without a unit
        return NumberTest(prefix, value)
    return NumberTest(prefix, value, unescaped(unit[0]) or None, unescaped(unit[1]))


_LARGEST = 1.7e308
_DECIMAL = re.compile(r"-?\d+(\.\d*)?([eE][+-]?\d{1,3})?", re.ASCII)


def _decimal(text: str, whole: str) -> float:
    if _DECIMAL.fullmatch(text) is None:
        raise SearchError(400, f'HAPI-1940: Invalid date/time/quantity format: "{whole}"')
    return max(-_LARGEST, min(_LARGEST, float(text)))  # more than that nothing has


# ---- composites and places


def _composite(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    if any(component.kind == "reference" for component in parameter.components):
        raise SearchError(400, "HAPI-1204: Don't know how to handle composite parameter with type of REFERENCE")
    matches = [match for text in found if (match := _components(parameter, text)) is not None]
    if not matches:
        return Nothing()
    return AnyOf(tuple(matches)) if at_root(parameter) else Composite(parameter.code, tuple(matches))


def _components(parameter: Parameter, text: str) -> tuple[Any, ...] | None:
    """A match for each component; `None` where a value is missing."""
    values = parts(text, "$")
    if len(values) > len(parameter.components):
        raise SearchError(
            400,
            "HAPI-1947: Invalid value for composite parameter (only one '$' is valid for this parameter, "
            f"others must be escaped). Value was: {text}",
        )
    if len(values) < len(parameter.components) or not all(values):
        return None
    pairs = zip(parameter.components, values, strict=True)
    matches = [_KINDS[component.kind](_standing_for(parameter, component), "", [value]) for component, value in pairs]
    return None if any(match is None for match in matches) else tuple(matches)


def _standing_for(composite: Parameter, component: Component) -> Parameter:
    return Parameter(composite.type, component.code, component.kind, "", "", (), (), "")


_METRES = {
    "m": 1.0,
    "km": 1000.0,
    "cm": 0.01,
    "[mi_i]": 1609.344,
    "[ft_i]": 0.3048,
    "[yd_i]": 0.9144,
    "[nmi_i]": 1852.0,
}
"""Units of length that a distance may have; UCUM gives the factors."""


def _special(parameter: Parameter, modifier: str, found: list[str]) -> Criterion:
    return Near(parameter.code, tuple(_place(value) for value in found))


def _place(text: str) -> Place:
    values = [unescaped(value) for value in parts(text, "|")]
    if len(values) < 2:
        raise SearchError(
            400,
            f"HAPI-1230: Invalid position format '{text}'.  Required format is 'latitude|longitude' or "
            "'latitude|longitude|distance' or 'latitude|longitude|distance|units'",
        )
    numbers = []
    for value in values[:3]:
        if _DECIMAL.fullmatch(value) is None:
            raise SearchError(400, f"HAPI-2308: Invalid lat/lon parameter value: {value}")
        numbers.append(float(value))
    unit = values[3] if len(values) > 3 and values[3] else "km"
    if unit not in _METRES:
        raise SearchError(
            400, f"HAPI-2309: Error processing unit '{unit}': The unit '{unit}' is unknown' at position 0"
        )
    distance = numbers[2] if len(numbers) > 2 else 0.0
    if distance < 0:
        raise SearchError(400, f"HAPI-1233: Invalid near-distance parameter '{distance}' must be >= 0.0")
    return Place(numbers[0], numbers[1], distance * _METRES[unit])


_KINDS: dict[str, Callable[[Parameter, str, list[str]], Criterion | None]] = {
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
