"""One request in, one answer out: which address means what.

Addresses and methods are HAPI's, down to what it does with those that mean nothing.
"""

from __future__ import annotations

from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Request, Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.rest.call import Call
from ehr.sandbox.rest.capability import metadata
from ehr.sandbox.rest.history import history_of, history_of_all, history_of_one
from ehr.sandbox.rest.operations import OPERATIONS
from ehr.sandbox.rest.paging import Pages
from ehr.sandbox.rest.read import read, vread
from ehr.sandbox.rest.rendering import answer, preflight, refused_address, web_server_page
from ehr.sandbox.rest.search import next_page, search_type
from ehr.sandbox.rest.transaction import post_bundle, unknown_type
from ehr.sandbox.rest.write import apply_patch, patch_where, post, put, put_matching, remove, remove_matching
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LARGEST_BODY = 64 * 1024 * 1024


class Server:
    """The FHIR endpoint of one fork."""

    def __init__(self, state: State, base: str) -> None:
        self.state = state
        self.base = base
        self.pages = Pages()

    def handle(self, request: Request, by: str, number: int) -> Response:
        """The answer to a request. Nothing that a client sends raises."""
        if request.method not in METHODS:
            status, words = (405, "Method Not Allowed") if request.method == "TRACE" else (501, "Not Implemented")
            return web_server_page(status, words)
        early = refused_address(request.path) or preflight(request)
        if early is not None:
            return early
        call = Call(request, self.base, by, number)
        try:
            if len(request.body) > LARGEST_BODY:
                raise RefusedError(413, f"A body may have {LARGEST_BODY} bytes, this one has {len(request.body)}")
            return self._route(call)
        except RefusedError as refusal:
            return _refused(call, refusal)

    # ---- addresses

    def _route(self, call: Call) -> Response:
        call.refuse_too_many()
        _ = call.summary  # refused before anything is written
        segments = call.segments
        if not segments:
            return self._base(call)
        first = segments[0]
        if first == "metadata":
            return self._metadata(call)
        if first == "_history" and len(segments) == 1:
            return history_of_all(self.state, call)
        if first.startswith("$"):
            return self._operation(call, "system", first, None)
        if first not in resource_types():
            raise unknown_type(first)
        if len(segments) == 1:
            return self._type(call, first)
        if segments[1] == "_history":
            return history_of(self.state, call, (first,))
        if segments[1] == "_search":
            return self._search(call, first)
        if segments[1].startswith("$") and len(segments) == 2:
            return self._operation(call, "type", segments[1], Key(first, ""))
        return self._instance(call, Key(first, segments[1]), segments[2:])

    def _base(self, call: Call) -> Response:
        if call.method == "POST":
            return post_bundle(self.state, call, lambda request: self._inner(call, request))
        if call.method == "GET" and call.first("_getpages") is not None:
            return next_page(self.state, self.pages, call)
        if call.method == "OPTIONS":
            return metadata(self.state, call)
        raise RefusedError(
            400,
            "HAPI-0287: This is the base URL of FHIR server. Unable to handle this request, as it does not contain a "
            "resource type or operation name.",
        )

    def _metadata(self, call: Call) -> Response:
        if call.method != "GET":
            raise RefusedError(405, "HAPI-0388: /metadata request must use HTTP GET or HTTP HEAD")
        return metadata(self.state, call)

    def _type(self, call: Call, type: str) -> Response:
        match call.method:
            case "GET" if call.request.method == "GET":
                return search_type(self.state, self.pages, call, type)
            case "POST":
                return post(self.state, call, type)
            case "PUT":
                return put_matching(self.state, call, type)
            case "PATCH":
                return patch_where(self.state, call, type)
            case "DELETE":
                return remove_matching(self.state, call, type)
        raise call.unsupported()

    def _search(self, call: Call, type: str) -> Response:
        if call.method in ("GET", "POST") and len(call.segments) == 2:
            return search_type(self.state, self.pages, call, type)
        raise call.unsupported()

    def _instance(self, call: Call, key: Key, rest: tuple[str, ...]) -> Response:
        version = rest[1] if len(rest) == 2 and rest[0] == "_history" else None
        if len(rest) == 3 and rest[0] == "_history" and rest[2] == "$meta":
            return self._operation(call, "instance", rest[2], key)
        if rest == ("_history",):
            return history_of_one(self.state, call, key)
        if len(rest) == 1 and rest[0].startswith("$"):
            return self._operation(call, "instance", rest[0], key)
        if rest and version is None:
            raise call.unsupported()
        match call.method:
            case "GET":
                return read(self.state, call, key) if version is None else vread(self.state, call, key, version)
            case "PUT":
                return put(self.state, call, key, version)
            case "PATCH":
                return apply_patch(self.state, call, key)
            case "DELETE":
                return remove(self.state, call, key)
            case "POST" if version is None:
                raise RefusedError(
                    400,
                    f'HAPI-0365: Can not create resource with ID "{key.id}", ID must not be supplied on a create '
                    "(POST) operation (use an HTTP PUT / update operation if you wish to supply an ID)",
                )
        raise call.unsupported()

    def _operation(self, call: Call, level: str, name: str, key: Key | None) -> Response:
        found = OPERATIONS.get((level, name))
        if found is None or call.method not in ("GET", "POST"):
            raise call.unsupported()
        return found(self.state, self.pages, call, key)

    def _inner(self, call: Call, request: Request) -> Response:
        """A read inside a Bundle: routed like any other, without compression."""
        inner = Call(request, self.base, call.by, call.number)
        try:
            return self._route(inner)
        except RefusedError as refusal:
            return _refused(inner, refusal)


def _refused(call: Call, refusal: RefusedError) -> Response:
    headers = {} if refusal.location is None else {"Location": call.address(refusal.location)}
    return answer(call, refusal.status, refusal.outcome(), headers)
