"""History at all three levels: every version, newest first.

Unlike HAPI, the list is never cut to a total that was counted earlier. `_since` is inclusive and leaves the total out,
as there; pages are live offsets. What a record holds counts as created at its clock, or when its `meta.lastUpdated`
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ehr.sandbox.body import Tree
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Response
from ehr.sandbox.intake.primitives import UnreadableError, moment
from ehr.sandbox.outcome import RefusedError, not_known
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.parameters.values import EARLIEST, LATEST, searched_date
from ehr.sandbox.rest.bundle import history
from ehr.sandbox.rest.call import Call, self_address
from ehr.sandbox.rest.paging import LARGEST_PAGE, count_of, lenient, offset_of
from ehr.sandbox.rest.rendering import answer, http_date, shown, summarised
from ehr.sandbox.searching.search import search
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token
from ehr.sandbox.versions import Key, Version, served

_STATUS = {"POST": "201 Created", "PUT": "200 OK", "DELETE": "200 OK"}
Past = list[tuple[Key, Version]]


def history_of_one(state: State, call: Call, key: Key) -> Response:
    """`GET Type/id/_history`."""
    versions = state.versions.all(key)
    if not versions:
        raise not_known(key.reference)
    return _answer(state, call, [(key, version) for version in reversed(versions)], ())


def history_of(state: State, call: Call, types: Sequence[str]) -> Response:
    """`GET Type/_history`, and `GET _history` with all types."""
    wanted = frozenset(types)
    written = [(key, version) for key, version in reversed(state.versions.timeline) if key.type in wanted]
    forgotten = state.versions.forgotten
    laid = [(key, state.versions.all(key)[0]) for key in state.laid if key.type in wanted and key not in forgotten]
    return _answer(state, call, written + laid, [type for type in types if type in state.record.counts])


def history_of_all(state: State, call: Call) -> Response:
    """`GET _history`."""
    return history_of(state, call, resource_types())


def _answer(state: State, call: Call, past: Past, types: Sequence[str]) -> Response:
    """A page of what was written (`past`) and, after it, of what the record holds of `types`."""
    asked = lenient(count_of, call.first("_count"))
    offset = offset_of(call.first("_offset"))
    count = min(max(asked, 0), LARGEST_PAGE)
    since, at = _since(call), call.first("_at")
    if since is not None:
        past = [item for item in past if datetime.fromisoformat(item[1].at) >= since]
    if at:
        past = _current(past, at)
    held = _held(state, types, since)
    total = len(past) + sum(map(len, held))
    counted = total if since is None and not at else None
    id = token(state.clock, "history", call.number)
    if asked == 0 or call.summary == "count":
        return _sent(state, call, history(id, state.now, total=counted, links=(), entries=(), subsetted=True))
    page = past[offset : offset + count]
    start = max(0, offset - len(past))
    for hits in held:
        keys = [Key(*hit) for hit in hits[start : start + count - len(page)]] if count > len(page) else []
        page += [(key, state.versions.all(key)[0]) for key in keys]
        start = max(0, start - len(hits))
    links = [{"relation": "self", "url": self_address(call.base + _path(call), call.query)}]
    if count and offset + count < total:
        links.append({"relation": "next", "url": _at(call, count, offset + count)})
    if count and offset:
        links.append({"relation": "previous", "url": _at(call, count, max(0, offset - count))})
    entries = [_entry(call, key, version) for key, version in page]
    bundle = history(id, state.now, total=counted, links=links, entries=entries, subsetted=summarised(call))
    return _sent(state, call, bundle)


def _sent(state: State, call: Call, bundle: Tree) -> Response:
    place = call.address("Bundle", bundle["id"])
    return answer(call, 200, bundle, {"Content-Location": place, "Last-Modified": http_date(state.now)})


def _current(past: Past, at: str) -> Past:
    """The versions that stood at some time of the period that `_at` names."""
    prefix = at[:2] if at[:2].isalpha() else "eq"
    try:
        span = searched_date(at.removeprefix(prefix) if at[:2].isalpha() else at).span
    except ValueError:
        raise RefusedError(400, f'HAPI-1940: Invalid date/time/quantity format: "{at}"') from None
    low = EARLIEST if prefix in ("lt", "le", "eb") else span.end if prefix in ("gt", "sa") else span.start
    high = LATEST if prefix in ("gt", "ge", "sa") else span.start if prefix in ("lt", "eb") else span.end
    ends: dict[Key, int] = {}
    found: Past = []
    for key, version in past:  # newest first: each ended when the one before it in this list began
        begin, end = int(datetime.fromisoformat(version.at).timestamp() * 1000), ends.get(key, LATEST)
        ends[key] = begin
        if begin <= high and end > low:
            found.append((key, version))
    return found


def _held(state: State, types: Sequence[str], since: datetime | None) -> list[Sequence[tuple[str, str]]]:
    """What the record holds of the types, newest first, without what the setup replaces or what was expunged."""
    if not types:
        return []
    record = Overlay(state.record, state.clock)
    for key in {*state.laid, *state.versions.forgotten}:
        record.remove(key.type, key.id)
    dated = () if since is None else (("_lastUpdated", f"ge{since.isoformat(timespec='milliseconds')}"),)
    return [search(record, type, [*dated, ("_sort", "-_lastUpdated")]).matches for type in types]


def _path(call: Call) -> str:
    return call.request.path.partition("?")[0]


def _at(call: Call, count: int, offset: int) -> str:
    kept = tuple((name, value) for name, value in call.query if name not in ("_count", "_offset"))
    return self_address(call.base + _path(call), (*kept, ("_count", str(count)), ("_offset", str(offset))))


def _entry(call: Call, key: Key, version: Version) -> Tree:
    entry: Tree = {"fullUrl": call.address(key.reference)}
    if version.body is not None:
        entry["resource"] = shown(call, served(version))
    entry["request"] = {"method": version.method, "url": f"{key.reference}/_history/{version.number}"}
    entry["response"] = {"status": _STATUS[version.method], "etag": f'W/"{version.number}"'}
    return entry


_PRECISIONS = {4: "YEAR", 7: "MONTH", 10: "DAY"}


def _since(call: Call) -> datetime | None:
    """The instant that `_since` names; less than seconds is refused, as HAPI does."""
    given = call.every("_since")
    if len(given) > 1:
        said = "Multiple values detected for non-repeatable parameter '_since'"
        reason = "This server is not configured to allow multiple (AND) values for this param."
        raise RefusedError(400, f"HAPI-1955: {said}. {reason}")
    if not given or not given[0]:
        return None
    text = given[0].replace(" ", "+")
    try:
        moment(text)
        precision = _PRECISIONS.get(len(text)) or ("MINUTE" if text[16:17] != ":" else None)
        if precision is not None:
            said = f"Invalid date/time string (datatype InstantDt does not support {precision} precision): {text}"
            raise RefusedError(400, f"HAPI-1885: {said}")
        found = datetime.fromisoformat(text.replace(":60", ":59"))
    except UnreadableError as error:
        raise RefusedError(400, f"HAPI-1882: {error}") from None
    except ValueError:
        raise RefusedError(400, f'HAPI-1882: Invalid date/time format: "{text}"') from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
