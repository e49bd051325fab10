"""Searches over HTTP: the first page, the pages that follow, and what a searchset Bundle says."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl

from ehr.sandbox.body import Tree
from ehr.sandbox.bundle import entry, searchset
from ehr.sandbox.call import CONTROL, MOST_PARAMETERS, Call, encoded, self_address
from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.paging import LARGEST_PAGE, Listing, Pages, Parameters, count_of, lenient, offset_of
from ehr.sandbox.rendering import answer, http_date, shown, summarised
from ehr.sandbox.search import SearchError, search
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token
from ehr.sandbox.versions import Key, served

_INCLUDES = ("_include", "_revinclude")


def search_type(state: State, pages: Pages, call: Call, type: str) -> Response:
    """`GET Type?...`, `GET Type/_search?...` and `POST Type/_search`."""
    parameters = _parameters(call)
    listing = _found(state, call, type, parameters)
    given = dict(reversed(parameters))
    count = count_of(given.get("_count"))
    if call.request.method == "POST":
        own = call.address(*call.segments)
    else:
        own = self_address(call.base + _path(call), call.query)
    if count == 0 or given.get("_summary") == "count":
        bundle = searchset(listing.id, state.now, total=listing.total, subsetted=True)
        return _answer(call, state, bundle)
    offset = offset_of(given.get("_offset")) if "_offset" in given else None
    if offset is None:
        pages.keep(listing)
        return _page(state, call, listing, 0, count, own, _opaque_links(call, listing, 0, count))
    return _page(state, call, listing, offset, count, own, _offset_links(call, listing, offset, count))


def next_page(state: State, pages: Pages, call: Call) -> Response:
    """`GET ?_getpages=...`: another page of a search."""
    listing = pages.find(call.first("_getpages") or "")
    offset = lenient(offset_of, call.first("_getpagesoffset"))
    count = lenient(count_of, call.first("_count"))
    if count == 0:
        return _answer(call, state, searchset(listing.id, state.now, total=listing.total, subsetted=True))
    own = f"{call.base}?{call.raw_query}"
    return _page(state, call, listing, offset, count, own, _opaque_links(call, listing, offset, count))


def _parameters(call: Call) -> Parameters:
    """The parameters of the address, and with `POST` those of the form in the body before them."""
    if call.request.method != "POST" or call.content_type() != "application/x-www-form-urlencoded":
        return call.query
    form = call.request.body.decode("utf-8", "replace")
    return tuple(parse_qsl(form, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)) + call.query


def _path(call: Call) -> str:
    return call.request.path.partition("?")[0]


def _found(state: State, call: Call, type: str, parameters: Parameters) -> Listing:
    asked = [(name, value) for name, value in parameters if name not in CONTROL]
    try:
        found = search(state.overlay, type, asked)
    except SearchError as error:
        raise RefusedError(error.status, error.diagnostics, code=error.code) from None
    return Listing(token(state.clock, "search", call.number), type, parameters, found.matches, found.total)


def _page(state: State, call: Call, listing: Listing, offset: int, count: int, own: str, links: list[Tree]) -> Response:
    size = min(max(count, 0), LARGEST_PAGE)
    hits = [Key(*hit) for hit in listing.hits[offset : offset + size]]
    entries = list(_entries(state, call, hits, "match"))
    bundle = searchset(
        listing.id,
        state.now,
        total=listing.total,
        links=[{"relation": "self", "url": own}, *links],
        entries=entries,
        subsetted=summarised(call),
    )
    return _answer(call, state, bundle)


def _entries(state: State, call: Call, keys: Iterable[Key], mode: str) -> Iterable[Tree]:
    for key in keys:
        version = state.versions.current(key)
        if version is not None and version.body is not None:
            yield entry(call.address(key.reference), shown(call, served(version)), mode)


def _answer(call: Call, state: State, bundle: Tree) -> Response:
    return answer(call, 200, bundle, {"Last-Modified": http_date(state.now)})


def _opaque_links(call: Call, listing: Listing, offset: int, count: int) -> list[Tree]:
    links = []
    if count > 0 and offset + count < listing.total:
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

    if offset + count < listing.total:
        links.append({"relation": "next", "url": to(offset + count)})
    if offset > 0:
        links.append({"relation": "previous", "url": to(max(0, offset - count))})
    return links
