"""Searches over HTTP: the first page, the pages that follow, and what a searchset Bundle says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ehr.sandbox.body import Tree
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.rest.bundle import entry, searchset
from ehr.sandbox.rest.call import CONTROL, Call, encoded, self_address
from ehr.sandbox.rest.paging import LARGEST_PAGE, Listing, Pages, count_of, lenient, offset_of
from ehr.sandbox.rest.rendering import answer, http_date, shown, summarised
from ehr.sandbox.searching.ranges import check_ranges
from ehr.sandbox.searching.search import SearchError, search
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token
from ehr.sandbox.versions import Key, served

_INCLUDES = ("_include", "_revinclude")


_MOST_RESULTS = 1000
"""The largest `max-results` that HAPI takes."""


def search_type(state: State, pages: Pages, call: Call, type: str) -> Response:
    """`GET Type?...`, `GET Type/_search?...` and `POST Type/_search`."""
    asked = [(name, value) for name, value in call.query if name not in CONTROL]
    most = _max_results(call)
    try:
        if type in resource_types():
            check_ranges(type, asked)
        found = search(state.overlay, type, asked)
    except SearchError as error:
        raise RefusedError(error.status, error.diagnostics, code=error.code) from None
    hits: Sequence[tuple[str, str]] = found.matches if most is None else found.matches[:most]
    total = found.total if most is None else None
    listing = Listing(new_id(state, call), type, call.query, hits, total, found.included)
    return paged(state, pages, call, listing)


def new_id(state: State, call: Call) -> str:
    """The id of a new search."""
    return token(state.clock, "search", call.number)


def paged(state: State, pages: Pages, call: Call, listing: Listing) -> Response:
    """The first page of a listing, as `_count`, `_offset` and `_summary` ask for it."""
    count = min(count_of(call.first("_count")), LARGEST_PAGE)
    if call.request.method == "POST":
        own = call.address(*call.segments)
    else:
        own = self_address(call.base + _path(call), call.query)
    if count == 0 or call.summary == "count":
        return _answer(call, state, searchset(listing.id, state.now, total=len(listing.hits), subsetted=True))
    if call.first("_offset") is not None:
        offset = offset_of(call.first("_offset"))
        return _page(state, call, listing, offset, count, own, _offset_links(call, listing, offset, count))
    if listing.total is not None and listing.total > max(count, 0):
        pages.keep(listing)
    return _page(state, call, listing, 0, count, own, _opaque_links(call, listing, 0, count))


def next_page(state: State, pages: Pages, call: Call) -> Response:
    """`GET ?_getpages=...`: another page of a search."""
    listing = pages.find(call.first("_getpages") or "")
    offset = lenient(offset_of, call.first("_getpagesoffset"))
    count = min(lenient(count_of, call.first("_count")), LARGEST_PAGE)
    if count == 0:
        return _answer(call, state, searchset(listing.id, state.now, total=len(listing.hits), subsetted=True))
    own = f"{call.base}?{call.raw_query}"
    return _page(state, call, listing, offset, count, own, _opaque_links(call, listing, offset, count))


def _max_results(call: Call) -> int | None:
    """How many results `Cache-Control: no-store, max-results=2` asks for. Raises `RefusedError` (HAPI-1165)."""
    control = call.request.header("Cache-Control") or ""
    found = re.search(r"max-results=(\d{1,9})", control, re.ASCII)
    if found is None or "no-store" not in control:
        return None
    if int(found[1]) > _MOST_RESULTS:
        raise RefusedError(400, f"HAPI-1165: Cache-Control header max-results value must not exceed {_MOST_RESULTS}")
    return int(found[1])


def _path(call: Call) -> str:
    return call.request.path.partition("?")[0]


def _page(state: State, call: Call, listing: Listing, offset: int, count: int, own: str, links: list[Tree]) -> Response:
    hits = listing.hits[offset : offset + max(count, 0)]
    entries = [
        *_entries(state, call, listing.type, hits, "match"),
        *_entries(state, call, listing.type, listing.included(hits), "include"),
    ]
    bundle = searchset(
        listing.id,
        state.now,
        total=listing.total,
        links=[{"relation": "self", "url": own}, *links],
        entries=entries,
        subsetted=summarised(call),
    )
    return _answer(call, state, bundle)


def _entries(state: State, call: Call, about: str, hits: Iterable[tuple[str, str]], mode: str) -> Iterator[Tree]:
    for hit in hits:
        key = Key(*hit)
        version = state.versions.current(key)
        if version is not None and version.body is not None:
            yield entry(call.address(key.reference), shown(call, served(version), about), mode)


def _answer(call: Call, state: State, bundle: Tree) -> Response:
    headers = {"Last-Modified": http_date(state.now)}
    if any(part.startswith("$") for part in call.segments):  # what an operation gives has an address, a search has none
        headers["Content-Location"] = call.address("Bundle", bundle["id"])
    return answer(call, 200, bundle, headers)


def _opaque_links(call: Call, listing: Listing, offset: int, count: int) -> list[Tree]:
    links = []
    if count > 0 and listing.total is not None and offset + count < listing.total:
        links.append({"relation": "next", "url": _opaque(call, listing, offset + count, count)})
    if offset > 0:
        links.append({"relation": "previous", "url": _opaque(call, listing, max(0, offset - count), count)})
    return links


def _opaque(call: Call, listing: Listing, offset: int, count: int) -> str:
    format = call.first("_format")
    parts = [f"_getpages={listing.id}", f"_getpagesoffset={offset}", f"_count={count}"]
    if format is not None:
        parts.append(f"_format={encoded(format)}")
    if call.pretty:
        parts.append("_pretty=true")
    parts += [f"{name}={encoded(value)}" for name, value in listing.parameters if name.startswith(_INCLUDES)]
    parts.append("_bundletype=searchset")
    parts += [f"_elements={encoded(value)}" for value in call.every("_elements")]
    return f"{call.base}?{'&'.join(parts)}"


def _offset_links(call: Call, listing: Listing, offset: int, count: int) -> list[Tree]:
    """With `_offset` the pages are live: each is a search of its own."""
    kept = tuple((name, value) for name, value in call.query if name not in ("_offset", "_count"))
    links = []

    def to(place: int) -> str:
        return self_address(call.base + _path(call), (*kept, ("_count", str(count)), ("_offset", str(place))))

    if offset + count < len(listing.hits):
        links.append({"relation": "next", "url": to(offset + count)})
    if offset > 0:
        links.append({"relation": "previous", "url": to(max(0, offset - count))})
    return links
