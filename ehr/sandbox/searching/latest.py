"""`$lastn`: of the Observations that a search finds, the latest of each code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehr.sandbox.overlay import Overlay
from ehr.sandbox.searching.criteria import intersect, subtract
from ehr.sandbox.searching.including import Name
from ehr.sandbox.searching.search import search
from ehr.sandbox.searching.sorting import Hits
from ehr.sandbox.store.index import IntArray, no_rows, union

__all__ = ["lastn"]

TYPE = "Observation"


def lastn(overlay: Overlay, parameters: Sequence[tuple[str, str]], most: int = 1) -> list[Name]:
    """The `most` latest Observations of each code among those that match, latest first.

    Two Observations have the same code where they share a coding (system and code); where there is none, the text.
    Those without a date come last. Raises `SearchError` as a search does.
    """
    asked = [(name, value) for name, value in parameters if name.partition(":")[0] != "_sort"]
    hits = search(overlay, TYPE, [*asked, ("_sort", "-date")]).matches
    places = hits.places()
    chosen: set[int] = set()
    for base, new in _groups(overlay, hits):
        of_group = np.sort(np.concatenate([places.base(base), places.new(new)]))
        chosen.update(of_group[:most].tolist())
    return [hits[place] for place in sorted(chosen)]


def _groups(overlay: Overlay, hits: Hits) -> list[tuple[IntArray, IntArray]]:
    """The rows of each code: of the record, and of the writes."""
    found: dict[tuple[str, str, str], list[IntArray]] = {}
    for side, index, rows in ((0, overlay.record.index, hits.rows.base), (1, overlay.index, hits.rows.new)):
        left = rows
        for role in ("", "text"):
            space = index.space(TYPE, "code", role)
            if space is None or not len(left):
                continue
            for value, qualifier, listed in space.listed():
                these = intersect(listed, left)
                if len(these):
                    group = found.setdefault((role, value, "" if role else qualifier), [no_rows, no_rows])
                    group[side] = union([group[side], these])
            left = subtract(left, space.present())
    return [(base, new) for base, new in found.values()]
