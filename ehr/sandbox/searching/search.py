"""Searching a record seen through an episode's writes.

    found = search(overlay, "Observation", [("patient", "p1"), ("code", "http://loinc.org|2823-3"), ("_sort", "-date")])
    found.total                     # exact
    page = found.matches[0:20]      # [("Observation", "o7"), ...] in order; later writes do not change it
    found.included(page)            # what `_include` and `_revinclude` add to this page, as it stands now

Names and values are as sent, decoded. A repeated parameter narrows, a comma widens. Parameters about the answer
(`_count`, `_summary` ...) are the server's; unknown ones that begin with `_` are passed over, as HAPI does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ehr.sandbox.definitions import resource_types
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.searching.chains import Ids, chained, reversed_chain
from ehr.sandbox.searching.criteria import Criterion, Not, Nothing, Side, intersect, subtract
from ehr.sandbox.searching.filtering import filtered
from ehr.sandbox.searching.including import Include, Name, include_of, included
from ehr.sandbox.searching.query import alternatives, criterion, unescaped
from ehr.sandbox.searching.refusals import SearchError, known
from ehr.sandbox.searching.sorting import Hits, Matches, SortKey, hits
from ehr.sandbox.searching.sortkeys import sort_keys
from ehr.sandbox.store.index import IntArray, no_rows

__all__ = ["Found", "SearchError", "evaluated", "search"]

Parameters = Sequence[tuple[str, str]]

COMMON = frozenset({"_lastUpdated", "_tag", "_profile", "_security"})
"""Parameters of every resource that are searched like any other."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search: a fixed list of hits in order, how many they are, and what is to be sent with them."""

    overlay: Overlay
    type: str
    total: int
    matches: Hits
    includes: tuple[Include, ...]

    def included(self, page: Sequence[Name]) -> list[Name]:
        """What the includes add to a page of hits: looked up anew, none of the page's own."""
        return included(self.overlay, page, self.includes) if self.includes else []


def search(overlay: Overlay, type: str, parameters: Parameters) -> Found:
    """The resources of a type that match all parameters. Raises `SearchError` for what the server refuses."""
    if type not in resource_types():
        listed = ", ".join(resource_types())
        raise SearchError(404, f"HAPI-0302: Unknown resource type '{type}' - Server knows how to handle: [{listed}]")
    criteria: list[Criterion] = []
    keys: list[SortKey] = []
    includes: list[Include] = []
    for name, value in (tuple(map(_encodable, parameter)) for parameter in parameters):
        plain, _, modifier = name.partition(":")
        if plain == "_sort":
            keys += sort_keys(type, modifier, value)
        elif plain in ("_include", "_revinclude"):
            include = include_of(plain, modifier, value)
            if include is not None:
                includes.append(include)
        else:
            made = _criterion(overlay, type, name, value)
            if made is not None:
                criteria.append(made)
    found = hits(overlay, type, evaluated(overlay, type, criteria), keys)
    return Found(overlay, type, len(found), found, tuple(includes))


def _encodable(text: str) -> str:
    """Text that UTF-8 can hold: half a surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def evaluated(overlay: Overlay, type: str, criteria: Sequence[Criterion]) -> Matches:
    """The rows of the record and of the writes that satisfy all criteria and stand."""
    ordered = sorted(criteria, key=lambda one: one.cost)
    first, size = overlay.stretch(type)
    base = no_rows
    if size:
        side = Side(True, overlay.record.index, type, np.arange(first, first + size, dtype=np.int32))
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
    """The criterion of one parameter; `None` where it asks for nothing."""

    def further(target: str, rest: str, text: str) -> Matches:
        made = _criterion(overlay, target, rest, text)
        return evaluated(overlay, target, [] if made is None else [made])

    if name.startswith("_"):
        if name.partition(":")[0] == "_has":
            return reversed_chain(overlay, name, value, further)
        code = name.partition(":")[0]
        if code not in COMMON:
            return _special(overlay, type, code, name.partition(":")[2], value)
    head, dot, rest = name.partition(".")
    if dot:
        return chained(overlay, type, head, rest, value, further) if value else None
    code, _, modifier = name.partition(":")
    return criterion(known(type, code), modifier, value)


def _special(overlay: Overlay, type: str, code: str, modifier: str, value: str) -> Criterion | None:
    """Parameters that begin with `_`. Unknown ones are passed over."""
    if code == "_id":
        if modifier == "missing":
            return Nothing() if value == "true" else None
        ids = tuple(unescaped(id) for id in alternatives(value))
        match = Ids(overlay, type, ids)
        return None if not ids else Not(match) if modifier == "not" else match
    if code == "_filter":
        return filtered(type, value, lambda name, text: _criterion(overlay, type, name, text))
    if code == "_list":
        return Nothing()
    if code in _REFUSED:
        status, diagnostics, issue = _REFUSED[code]
        raise SearchError(status, diagnostics.format(code=code, type=type), issue)
    if code == "_contained" and value in ("true", "both"):
        mode = "HAPI-0983: Contained mode 'both' is not currently supported"
        if value == "true":
            mode = "HAPI-0984: Searching with _contained mode enabled is not enabled on this server"
        raise SearchError(405, mode)
    return None


_FULL_TEXT = "HAPI-1192: Fulltext search is not enabled on this service, can not process parameter: {code}"
_REFUSED: dict[str, tuple[int, str, str]] = {
    "_text": (400, _FULL_TEXT, "processing"),
    "_content": (400, _FULL_TEXT, "processing"),
    "_source": (400, "HAPI-1216: The _source parameter is disabled on this server", "processing"),
    "_query": (
        400,
        "Invalid request: The FHIR endpoint on this server does not know how to handle GET operation[{type}] with "
        "parameters [[_query]]",
        "not-supported",
    ),
}
