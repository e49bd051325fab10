"""Match addresses: `identifier=http://hospital.example/mrn|S1` as a condition of a write or as a reference."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from ehr.sandbox.body import Tree, compact
from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.searching.ranges import check_ranges
from ehr.sandbox.searching.search import SearchError, search
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key

_PROBE = "matched-against-its-own-condition"


class Matched(NamedTuple):
    """How many resources a match address names, and the one where it is one."""

    total: int
    key: Key | None


def matching(state: State, type: str, query: str, but: Collection[Key] = ()) -> Matched:
    """The stored resources that a match address names, those aside that are about to go (`but`).

    Raises `RefusedError` (HAPI-0488, HAPI-0518).
    """
    parameters = _parameters(type, query)
    try:
        check_ranges(type, parameters, {"_lastUpdated"})
        found = search(state.overlay, type, parameters)
        going = [key.id for key in but if key.type == type]
        count = found.total
        if going:
            count -= search(state.overlay, type, [*parameters, ("_id", ",".join(going))]).total
    except SearchError as error:
        raise _refusal(type, query, error) from None
    first = [Key(*match) for match in found.matches[: len(going) + 1]]
    return Matched(count, next((key for key in first if key.id not in going), None) if count == 1 else None)


def satisfies(state: State, tree: Tree, query: str, key: Key | None = None) -> bool:
    """Whether a body that is not stored yet would be found by a match address, as far as HAPI looks (`_is_looked_at`).

    `key` is the resource that the body will replace.
    """
    type, id = tree["resourceType"], _PROBE if key is None else key.id
    asked = _parameters(type, query)
    if any(name.startswith("_lastUpdated") for name, _ in asked):
        return True
    asked = [(name, value) for name, value in asked if _is_looked_at(type, name, value)]
    alone = Overlay(state.record, state.clock)
    alone.put(type, id, compact(tree | {"id": id}))
    try:
        found = search(alone, type, [*asked, ("_id", id)])
    except SearchError as error:
        raise _refusal(type, query, error) from None
    return any(True for _ in found.matches)


_MODIFIERS: Mapping[str, tuple[str, ...]] = {"token": ("", "not", "in", "not-in")}
_PREFIXES: Mapping[str, str] = {"date": "eq|ge|gt|le|lt", "number": "eq", "quantity": "eq"}


def _is_looked_at(type: str, name: str, value: str) -> bool:
    """Whether HAPI asks a body that is not stored yet: no chain, no composite, few modifiers and prefixes."""
    code, _, modifier = name.partition(":")
    parameter = parameters(type).get(code)
    if parameter is None:
        return False
    if parameter.kind == "reference" and modifier in resource_types():
        return True
    prefix = re.match(r"[a-z]{2}(?=[\d-])", value)
    if prefix and not re.fullmatch(_PREFIXES.get(parameter.kind, ".*"), prefix[0]):
        return False
    return parameter.kind not in ("composite", "special") and modifier in _MODIFIERS.get(parameter.kind, ("",))


def _parameters(type: str, query: str) -> list[tuple[str, str]]:
    """The parameters of a match address, with or without `Type?` in front. A raw `+` is a plus, as in HAPI."""
    text = query.partition("?")[2] if "?" in query else query
    parameters = parse_qsl(text.replace("+", "%2B"), keep_blank_values=True)
    if not any(value and _counts(name) for name, value in parameters):
        raise RefusedError(400, f"HAPI-0518: Invalid match URL[{_shown(type, query)}] - URL has no search parameters")
    return parameters


def _counts(name: str) -> bool:
    """Whether a parameter narrows at all: those about the answer, and unknown ones with `_`, do not."""
    code = name.partition(":")[0]
    return not code.startswith("_") or code in (
        "_id",
        "_lastUpdated",
        "_tag",
        "_profile",
        "_security",
        "_has",
        "_filter",
    )


def _refusal(type: str, query: str, error: SearchError) -> RefusedError:
    unknown = re.match(r'HAPI-0524: Unknown search parameter "([^"]*)"', error.diagnostics)
    if not unknown:
        return RefusedError(error.status, error.diagnostics)
    reason = f"Resource type {type} does not have a parameter with name: {unknown.group(1)}"
    return RefusedError(400, f"HAPI-0488: Failed to parse match URL[{_shown(type, query)}] - {reason}")


def _shown(type: str, query: str) -> str:
    return query if "?" in query else f"{type}?{query}"
