"""How two versions of a resource differ, element by element, and whose element it is under `may_change`.

No difference: `meta.versionId` and `meta.lastUpdated` (the server's own), decimals of equal value, instants of equal
moment. Everything else counts, the narrative, tags and the order of a list too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ehr.sandbox import definitions
from ehr.verify.instants import instant

Path = tuple[str | int, ...]

ABSENT: Any = object()

_SERVERS_OWN = frozenset({("meta", "versionId"), ("meta", "lastUpdated")})


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two versions differ. `before` or `after` is `ABSENT` where there is nothing at that place."""

    path: Path
    before: Any
    after: Any

    def __str__(self) -> str:
        return shown(self.path)


def parse(body: str | bytes) -> dict[str, Any]:
    """A stored body as a JSON object, decimals as `Decimal`. Raises `ValueError` where it is none."""
    value = json.loads(body, parse_float=Decimal)
    if not isinstance(value, dict):
        raise ValueError(f"a resource is a JSON object, not {type(value).__name__}")
    return value


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Every place where `after` differs from `before`, as deep as the two still have the same shape."""
    return [d for d in _walk((), dict(before), dict(after)) if d.path not in _SERVERS_OWN]


def is_same(a: Any, b: Any) -> bool:
    """Whether two JSON values mean the same: equal, equal decimals, or equal instants."""
    return next(_walk((), a, b), None) is None


def covers(type_name: str, may_change: Sequence[str], path: Path) -> bool:
    """Whether `path` lies at an element path of `may_change` or below it; a choice goes by its stem (`value`)."""
    elements = stems(type_name, path)
    return any(tuple(allowed.split(".")) == elements[: allowed.count(".") + 1] for allowed in may_change)


def stems(type_name: str, path: Path) -> tuple[str, ...]:
    """The path as element names of the specification: no list positions, `valueQuantity` as `value`, `_value` too."""
    names = []
    place: str | None = type_name
    for key in (part.removeprefix("_") for part in path if isinstance(part, str)):
        known = definitions.field(place, key) if place in definitions.element_types() else None
        names.append(known.element.name if known else key)
        place = known.type if known else None
    return tuple(names)


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
    elif not _is_equal(before, after):
        yield Difference(path, before, after)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT


def _is_empty_meta(path: Path, value: Any) -> bool:
    """A `meta` that holds nothing but the server's own is the same as none."""
    return path == ("meta",) and (
        value is ABSENT or (isinstance(value, dict) and all(("meta", key) in _SERVERS_OWN for key in value))
    )


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float | Decimal) and isinstance(b, int | float | Decimal):
        return bool(a == b)
    if a is ABSENT or b is ABSENT:
        return a is b
    if type(a) is not type(b):
        return False
    if isinstance(a, str) and a != b:
        moment = instant(a)
        return moment is not None and moment == instant(b)
    return bool(a == b)
