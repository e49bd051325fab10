"""How two versions of a resource differ, element by element, and whose element it is under `may_change`.

No difference: `meta.versionId` and `meta.lastUpdated` (the server's own), decimals of equal value, instants of equal
moment, and a reference that lost its version, which the server drops from whatever is written (a record that was
imported may hold some). Everything else counts, the narrative, tags and the order of a list too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ehr.sandbox import definitions
from ehr.verify.instants import instant

Path = tuple[str | int, ...]

ABSENT: Any = object()

_DEEPEST = 400
_LONGEST_NUMBER = 1_000  # digits before or behind the point
_SERVERS_OWN = frozenset({("meta", "versionId"), ("meta", "lastUpdated")})


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two versions differ. `before` or `after` is `ABSENT` where there is nothing at that place."""

    path: Path
    before: Any
    after: Any

    def __str__(self) -> str:
        return shown(self.path) or "the whole resource"


def parse(body: str | bytes) -> dict[str, Any]:
    """A stored body as a JSON object, see `read_json`. Raises `ValueError` where it is none."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise ValueError(f"a resource is a JSON object, not {type(value).__name__}")
    return value


def read_json(text: str | bytes) -> Any:
    """A JSON value, decimals as `Decimal`. Raises `ValueError` for no JSON, and for more than 400 levels."""
    try:
        value = DECODER.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("JSON nests too deeply") from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Raise `ValueError` where a JSON value has more than 400 levels: what follows walks it by recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            below
            for item in level
            if isinstance(item, dict | list)
            for below in (item.values() if isinstance(item, dict) else item)
            if isinstance(below, dict | list)
        ]
        if not level:
            return
    raise ValueError(f"JSON nests deeper than {_DEEPEST} levels")


def _number(digits: str) -> Decimal | float:
    """A number as it is written. Beyond all measure it is infinite or zero, and no work for anybody."""
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return float(digits)
    return number if abs(number.adjusted()) < _LONGEST_NUMBER else float(digits)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_NUMBER else float(digits)


DECODER = json.JSONDecoder(parse_float=_number, parse_int=_whole)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Every place where `after` differs from `before`, as deep as the two still have the same shape."""
    return list(_walk((), dict(before), dict(after)))


def is_same(a: Any, b: Any) -> bool:
    """Whether two JSON values mean the same: equal, equal decimals, or equal instants."""
    return next(_walk((), a, b), None) is None


def covers(type_name: str, may_change: Sequence[str], difference: Difference) -> bool:
    """Whether all that differs lies at an element path of `may_change` or below it.

    A choice goes by its stem (`value`). An object or list that is there only on one side differs in all that it holds.
    """
    if _is_allowed(type_name, may_change, difference.path):
        return True
    only = [value for value in (difference.before, difference.after) if value is not ABSENT]
    if len(only) != 1 or not isinstance(only[0], dict | list):
        return False
    return all(_is_allowed(type_name, may_change, leaf) for leaf in _leaves(difference.path, only[0]))


def _is_allowed(type_name: str, may_change: Sequence[str], path: Path) -> bool:
    elements = stems(type_name, path)
    return any(tuple(allowed.split(".")) == elements[: allowed.count(".") + 1] for allowed in may_change)


def _leaves(path: Path, value: Any) -> Iterator[Path]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    parts = list(below)
    if not parts:
        yield path
    for key, part in parts:
        yield from _leaves((*path, key), part)


def stems(type_name: str, path: Path) -> tuple[str, ...]:
    """The path as element names of the specification: no list positions, `valueQuantity` as `value`, `_value` too."""
    names = []
    place: str | None = type_name
    for key in (part.removeprefix("_") for part in path if isinstance(part, str)):
        known = definitions.field(place, key) if place in definitions.element_types() else None
        names.append(known.element.name if known else key)
        place = known.type if known else None
    return tuple(names)


def is_element(type_name: str, path: str) -> bool:
    """Whether an element path of `may_change` exists: `telecom`, `dosageInstruction.doseAndRate.dose`, `value`."""
    places = {type_name}
    for name in path.split("."):
        known = [definitions.elements(_with_elements(place)).get(name) for place in places]
        places = {type_ for element in known if element for type_ in element.types}
        if not places:
            return False
        if "Resource" in places:  # contained: of any type
            return True
    return True


def _with_elements(type_name: str) -> str:
    """The type itself, or what a primitive has below it (`_birthDate`: an id, extensions)."""
    return type_name if type_name in definitions.element_types() else "Element"


def second_answer(resource: Mapping[str, Any], path: Path) -> str | None:
    """The key of another value of the same choice, standing beside the one at `path` (`valueString`), if any."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return None
    type_name: str | None = str(resource.get("resourceType"))
    parent: Any = resource
    for part in path[:-1]:
        if isinstance(part, str):
            known = definitions.field(type_name, part) if type_name in definitions.element_types() else None
            type_name = known.type if known else None
        parent = parent[part]
    if type_name not in definitions.element_types():
        return None
    fields = definitions.fields(type_name)
    own = fields.get(str(path[-1]))
    if own is None:
        return None
    of_choice = (key for key, field in fields.items() if field.element == own.element and key != own.key)
    return next((key for key in of_choice if key in parent), None)


def shown(path: Path) -> str:
    """The path in words: `dosageInstruction[0].doseAndRate[0].doseQuantity`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _walk(path: Path, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if path == ("meta",) and (*path, key) in _SERVERS_OWN:
                continue
            yield from _walk((*path, key), before.get(key, ABSENT), after.get(key, ABSENT))
    elif isinstance(before, list) and isinstance(after, list) and before and after:
        for index in range(max(len(before), len(after))):
            yield from _walk((*path, index), _item(before, index), _item(after, index))
    elif _is_empty_meta(path, before) and _is_empty_meta(path, after):
        return
    elif not _is_equal(before, after) and not _is_version_dropped(path, before, after):
        yield Difference(path, before, after)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT


def _is_empty_meta(path: Path, value: Any) -> bool:
    """A `meta` that holds nothing but the server's own is the same as none."""
    return path == ("meta",) and (
        value is ABSENT or (isinstance(value, dict) and all(("meta", key) in _SERVERS_OWN for key in value))
    )


def _is_version_dropped(path: Path, before: Any, after: Any) -> bool:
    is_reference = path[-1:] == ("reference",) and isinstance(before, str) and isinstance(after, str)
    return is_reference and bool(after) and before.partition("/_history/")[0] == after


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float | Decimal) and isinstance(b, int | float | Decimal):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    if isinstance(a, str) and a != b:
        moment = instant(a)
        return moment is not None and moment == instant(b)
    return bool(a == b)
