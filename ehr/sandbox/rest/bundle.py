"""Bundles that the server hands out: searchsets and histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.searching.subsetting import SUBSETTED


def searchset(
    id: str,
    instant: str,
    *,
    total: int | None,
    links: Sequence[Tree] = (),
    entries: Sequence[Tree] = (),
    subsetted: bool = False,
) -> Tree:
    """A searchset. Without links or entries their keys are not there, as at HAPI."""
    return _bundle(id, instant, "searchset", total, links, entries, subsetted)


def history(
    id: str, instant: str, *, total: int | None, links: Sequence[Tree], entries: Sequence[Tree], subsetted: bool
) -> Tree:
    """A history."""
    return _bundle(id, instant, "history", total, links, entries, subsetted)


def _bundle(
    id: str,
    instant: str,
    type: str,
    total: int | None,
    links: Sequence[Tree],
    entries: Sequence[Tree],
    subsetted: bool,
) -> Tree:
    meta: dict[str, Any] = {"lastUpdated": instant}
    if subsetted:
        meta["tag"] = [SUBSETTED]
    bundle: Tree = {"resourceType": "Bundle", "id": id, "meta": meta, "type": type}
    if total is not None:
        bundle["total"] = Number(total)
    if links:
        bundle["link"] = list(links)
    if entries:
        bundle["entry"] = list(entries)
    return bundle


def entry(full_url: str, resource: Tree, mode: str) -> Tree:
    """One hit of a search."""
    return {"fullUrl": full_url, "resource": resource, "search": {"mode": mode}}
