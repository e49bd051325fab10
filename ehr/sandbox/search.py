"""Searching a record seen through an episode's writes.

    found = search(overlay, "Observation", [("patient", "p1"), ("code", "http://loinc.org|2823-3"), ("_sort", "-date")])
    found.total                # exact
    found.matches[0:20]        # [("Observation", "o7"), ...] in order; later writes do not change it

Names and values are as sent, decoded. A repeated parameter narrows, a comma widens. Parameters about the answer
(`_count`, `_summary` ...) are the server's; unknown ones that begin with `_` are passed over, as HAPI does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ehr.sandbox.criteria import Criterion, Nothing, Side, intersect, subtract
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.index import IntArray, no_rows
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.query import SearchError, criterion, known, sort_keys
from ehr.sandbox.sorting import Hits, Matches, SortKey, hits

__all__ = ["Found", "SearchError", "search"]

Parameters = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search: a fixed list of hits in order, and how many they are."""

    type: str
    total: int
    matches: Hits


def search(overlay: Overlay, type: str, parameters: Parameters) -> Found:
    """The resources of a type that match all parameters. Raises `SearchError` for what the server refuses."""
    if type not in resource_types():
        listed = ", ".join(resource_types())
        raise SearchError(404, f"HAPI-0302: Unknown resource type '{type}' - Server knows how to handle: [{listed}]")
    criteria: list[Criterion] = []
    keys: list[SortKey] = []
    for name, value in parameters:
        if name == "_sort":
            keys += sort_keys(type, value)
            continue
        made = _criterion(overlay, type, name, value)
        if made is not None:
            criteria.append(made)
    matches = evaluated(overlay, type, criteria)
    found = hits(overlay, type, matches, keys)
    return Found(type, len(found), found)


def evaluated(overlay: Overlay, type: str, criteria: Sequence[Criterion]) -> Matches:
    """The rows of the record and of the writes that satisfy all criteria and stand."""
    ordered = sorted(criteria, key=lambda one: one.cost)
    first, size = overlay.stretch(type)
    base = no_rows
    if size:
        stretch = np.arange(first, first + size, dtype=np.int32)
        side = Side(True, overlay.record.index, type, stretch)
        base = subtract(_satisfying(side, ordered), overlay.hidden(type))
    alive = overlay.alive(type)
    new = no_rows
    if len(alive):
        new = intersect(_satisfying(Side(False, overlay.index, type, alive), ordered), alive)
    return Matches(base, new)


def _satisfying(side: Side, criteria: Sequence[Criterion]) -> IntArray:
    rows: IntArray | None = None
    for one in criteria:
        rows = one.rows(side, rows)
        if not len(rows):
            return no_rows
    return side.universe if rows is None else rows


def _criterion(overlay: Overlay, type: str, name: str, value: str) -> Criterion | None:
    code, _, modifier = name.partition(":")
    if code == "_id":
        return _Ids(overlay, type, tuple(value.split(",")))
    if code in _ANSWER:
        return None
    if code in ("_text", "_content"):
        raise SearchError(
            400, f"HAPI-1192: Fulltext search is not enabled on this service, can not process parameter: {code}"
        )
    if code == "_list":
        return Nothing()
    if code == "_source":
        raise SearchError(400, "HAPI-1216: The _source parameter is disabled on this server")
    if code.startswith("_") and code not in ("_lastUpdated", "_tag", "_profile", "_security"):
        return None
    return criterion(known(type, code), modifier, value)


_ANSWER = frozenset({"_count", "_total", "_summary", "_elements", "_format", "_pretty"})


@dataclass(frozen=True, slots=True)
class _Ids:
    """One of the ids."""

    overlay: Overlay
    type: str
    ids: tuple[str, ...]
    cost: int = 0

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        found = []
        for text in self.ids:
            id = text.removeprefix(f"{self.type}/")
            if side.base:
                row = self.overlay.base_row(self.type, id)
            else:
                written = self.overlay.find(self.type, id)
                row = None if written is None else written.number
            if row is not None:
                found.append(row)
        return intersect(np.unique(np.array(found, np.int32)), within)
