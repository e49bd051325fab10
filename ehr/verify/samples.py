"""Made-up resources in which every element stands once: what a sound expression can be tried on.

An expression that breaks on every one of them is broken itself; one that works on some, and breaks on what an agent
wrote, found something in the agent's resource that does not belong there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ehr.sandbox import definitions

_DEEPEST = 4
_PRIMITIVES: Mapping[str, Any] = {
    "boolean": True,
    "integer": 1,
    "unsignedInt": 1,
    "positiveInt": 1,
    "decimal": 1,
    "date": "2026-01-15",
    "dateTime": "2026-01-15T10:15:00+00:00",
    "instant": "2026-01-15T10:15:00+00:00",
    "time": "10:15:00",
}


@lru_cache(maxsize=64)
def samples(type_name: str) -> tuple[Mapping[str, Any], ...]:
    """Full resources of the type, as many as its widest choice has types (each takes another); none of no R4 type."""
    if type_name not in definitions.resource_types():
        return ()
    widest = max((len(e.types) for e in definitions.elements(type_name).values() if e.choice), default=1)
    return tuple({"resourceType": type_name, **_filled(type_name, turn, 0)} for turn in range(widest))


def _filled(type_name: str, turn: int, depth: int) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for element in definitions.elements(type_name).values():
        taken = element.types[turn % len(element.types)]
        key = element.name + taken[0].upper() + taken[1:] if element.choice else element.name
        value = _value(taken, turn, depth)
        if value is not None:
            filled[key] = [value] if element.many else value
    return filled


def _value(type_name: str, turn: int, depth: int) -> Any:
    if definitions.primitive(type_name):
        return _PRIMITIVES.get(type_name, "text")
    if depth >= _DEEPEST or type_name in ("Resource", "Extension", "xhtml", "Meta", "Narrative"):
        return None
    return _filled(type_name, turn, depth + 1) or None
