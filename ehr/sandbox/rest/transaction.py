"""Transactions and batches: many requests in one Bundle, answered in their order.

A transaction is decided whole before anything is written: deletions first, then creates, updates and patches, then
reads. A refusal of one entry is the refusal of all, and leaves no trace. In a batch each entry stands alone; only a
body that cannot be parsed fails it whole, for the Bundle is read first.

What the reads of one Bundle bring together is bounded, unlike in HAPI: a few lines could ask for all of the memory.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import unquote

from ehr.sandbox.body import Tree, compact, parse_object
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Request, Response
from ehr.sandbox.intake.body import receive
from ehr.sandbox.intake.full import refuse_invalid
from ehr.sandbox.intake.syntax import json_object
from ehr.sandbox.outcome import RefusedError, issue, not_known, outcome
from ehr.sandbox.rest.call import Call, body_check
from ehr.sandbox.rest.rendering import answer
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token
from ehr.sandbox.versions import Key
from ehr.sandbox.writing.patch import json_patch
from ehr.sandbox.writing.patch_fhirpath import fhirpath_patch
from ehr.sandbox.writing.plan import Plan
from ehr.sandbox.writing.verbs import (
    Done,
    Patch,
    Pending,
    check_conditions,
    create,
    delete,
    delete_matching,
    gone,
    patch,
    patch_matching,
    stored_tree,
    update,
    update_matching,
)

VERBS = ("DELETE", "POST", "PUT", "PATCH", "GET")
"""The order in which a transaction's entries are carried out."""

_PHRASES = {413: "Request Entity Too Large", 422: "Unprocessable Entity"}
"""As HAPI has them, and Python until 3.13 renamed them."""

MOST_READ = 16 * 1024 * 1024
"""Bytes that the reads of one Bundle bring together; once there are more, no further read is answered."""

Inner = Callable[[Request], Response]
"""Answers a read that stands inside a Bundle."""


class Entry(NamedTuple):
    """One entry of a Bundle: its request, and the resource it carries."""

    position: int
    method: str
    url: str
    resource: Tree | None
    full_url: str
    if_match: str | None
    if_none_exist: str | None
    if_none_match: str | None

    def needed(self) -> Tree:
        """The resource, where the method cannot do without."""
        if self.resource is None:
            raise RefusedError(
                400,
                f"HAPI-0543: Missing required resource in Bundle.entry[{self.position}].resource "
                f"for operation {self.method}",
            )
        return self.resource

    @property
    def names(self) -> list[str]:
        """How other entries may refer to this one: its `fullUrl`, and its type with the id it came with."""
        if self.resource is None:
            return []
        found = []
        type = self.resource["resourceType"]
        if self.full_url.startswith("urn:"):
            found.append(self.full_url)
        elif self.full_url:
            found.append(f"{type}/{self.full_url.rstrip('/').rpartition('/')[2]}")
        if isinstance(self.resource.get("id"), str):
            found.append(f"{type}/{self.resource['id']}")
        return found


def post_bundle(state: State, call: Call, inner: Inner) -> Response:
    """`POST` of a transaction or batch to the base address."""
    body_check(call, "TRANSACTION")
    bundle = receive(call.request.body, "Bundle")
    if state.validation == "full":
        refuse_invalid(json_object(call.request.body))
    type = bundle.get("type")
    if type not in ("transaction", "batch", None):
        raise RefusedError(400, f"HAPI-0527: Unable to process transaction where incoming Bundle.type = {type}")
    entries = [_entry(item, position) for position, item in enumerate(bundle.get("entry", []))]
    inner = _bounded(inner)
    if type == "batch":
        answered = [_batched(state, call, entry, inner) for entry in entries]
    else:
        answered = _transacted(state, call, entries, inner)
    result: Tree = {
        "resourceType": "Bundle",
        "id": token(state.clock, "bundle", call.number),
        "type": "batch-response" if type == "batch" else "transaction-response",
        "link": [{"relation": "self", "url": call.base}],
    }
    if answered:
        result["entry"] = answered
    place = call.address("Bundle", result["id"])
    return answer(call, 200, result, {"Content-Location": place, "Location": place})


def _bounded(inner: Inner) -> Inner:
    size = 0

    def read(request: Request) -> Response:
        nonlocal size
        if size > MOST_READ:
            said = f"The reads of this Bundle brought more than {MOST_READ} bytes; ask for the rest in another"
            return Response(413, {}, compact(outcome(issue("error", "processing", said))))
        response = inner(request)
        size += len(response.body)
        return response

    return read


def _entry(item: Tree, position: int) -> Entry:
    request = item.get("request", {})
    method = request.get("method")
    if method is None:
        raise RefusedError(
            400,
            "HAPI-0529: Transaction bundle entry has missing or invalid HTTP Verb specified in "
            f'Bundle.entry({position}).request.method. Found value: "null"',
        )
    if method not in VERBS:
        raise RefusedError(400, f"HAPI-0538: Unable to handle verb in transaction: {method}")
    return Entry(
        position,
        method,
        request.get("url", "").removeprefix("/"),
        item.get("resource"),
        item.get("fullUrl", ""),
        request.get("ifMatch"),
        request.get("ifNoneExist"),
        request.get("ifNoneMatch"),
    )


# ---- transaction


def _transacted(state: State, call: Call, entries: list[Entry], inner: Inner) -> list[Tree]:
    _check_names(entries)
    entries, same = _consolidated(entries)
    for entry in _in_order(entries, "GET"):
        _check_read(entry)
    plan = Plan(state)
    done: dict[int, Done] = {}
    pending: list[tuple[Entry, Pending]] = []
    placeholders: dict[str, str] = {}
    for entry in _in_order(entries, "DELETE"):
        done[entry.position] = _delete(plan, entry)
    for entry in [*_in_order(entries, "POST"), *_in_order(entries, "PUT")]:
        waiting = _create(plan, entry) if entry.method == "POST" else _update(plan, entry)
        names = [*entry.names, *(name for other in same.get(entry.position, ()) for name in other.names)]
        placeholders |= dict.fromkeys(names, waiting.key.reference)
        plan.expect(waiting.key)
        pending.append((entry, waiting))
    for entry in _in_order(entries, "PATCH"):
        _check_patched(plan, entry, entries)
    for entry, waiting in pending:
        done[entry.position] = waiting.finish(placeholders)
    for entry in _in_order(entries, "PATCH"):
        done[entry.position] = _patch(plan, entry).finish(placeholders)
    plan.check_deletions()
    check_conditions(plan)
    plan.carry_out(call.by, call.number)
    return [
        _read(call, entry, inner) if entry.method == "GET" else _written(call, entry, done[entry.position])
        for entry in entries
    ]


def _consolidated(entries: list[Entry]) -> tuple[list[Entry], dict[int, list[Entry]]]:
    """Entries that write under one condition are one: the first stands for the others, which get no answer."""
    kept: list[Entry] = []
    same: dict[int, list[Entry]] = {}
    first: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        condition = _condition(entry)
        if condition is not None and entry.resource is not None:
            named = first.setdefault((entry.method, entry.resource["resourceType"], condition), entry)
            if named is not entry:
                same.setdefault(named.position, []).append(entry)
                continue
        kept.append(entry)
    return kept, same


def _condition(entry: Entry) -> str | None:
    """What a create or update asks for first."""
    if entry.method == "POST":
        return entry.if_none_exist or None
    return entry.url if entry.method == "PUT" and "?" in entry.url else None


def _in_order(entries: list[Entry], method: str) -> list[Entry]:
    return [entry for entry in entries if entry.method == method]


def _check_names(entries: list[Entry]) -> None:
    """Refuse a Bundle in which two entries are the same resource, or meet the same condition without a name."""
    seen: set[str] = set()
    conditions: set[str] = set()
    for entry in entries:
        if entry.method not in ("POST", "PUT") or entry.resource is None:
            continue
        name = next(iter(entry.names), None)
        if name in seen:
            number = "0534" if name.startswith("urn:") else "0535"
            raise RefusedError(400, f"HAPI-{number}: Transaction bundle contains multiple resources with ID: {name}")
        condition = _condition(entry)
        if condition and not entry.full_url:
            type = entry.resource["resourceType"]
            shown = condition if "?" in condition else f"{type}?{condition}"
            if shown in conditions:
                raise RefusedError(
                    400,
                    "HAPI-2008: Unable to process Transaction - Request contains multiple anonymous entries "
                    f'(Bundle.entry.fullUrl not populated) with conditional URL: "{shown}". '
                    "Does transaction request contain duplicates?",
                )
            conditions.add(shown)
        if name:
            seen.add(name)


# ---- batch


def _batched(state: State, call: Call, entry: Entry, inner: Inner) -> Tree:
    """One entry of a batch, as a transaction of its own."""
    try:
        return _transacted(state, call, [entry], inner)[0]
    except RefusedError as refused:
        words = refused.diagnostics
        if words.startswith("Unable to delete "):  # here the refusal has its numbers
            words = f"HAPI-0550: HAPI-0515: {words}"
        said = outcome(issue("error", "exception", words))
        return {"response": {"status": _status(refused.status), "outcome": said}}


# ---- one entry


def _create(plan: Plan, entry: Entry) -> Pending:
    tree = dict(entry.needed())
    tree.pop("id", None)
    if entry.url and _first(entry) not in resource_types():
        raise _invalid_address(entry)
    return create(plan, tree, entry.if_none_exist)


def _update(plan: Plan, entry: Entry) -> Pending:
    tree = entry.needed()
    if "?" in entry.url:
        return update_matching(plan, tree["resourceType"], entry.url, tree)
    key = _key(entry)
    return update(plan, key, tree | {"id": key.id}, entry.if_match)


def _delete(plan: Plan, entry: Entry) -> Done:
    if not entry.url:
        raise RefusedError(400, "HAPI-0545: Unable to perform DELETE, no URL provided.")
    type, mark, _ = entry.url.partition("?")
    if mark:
        return delete_matching(plan, _known_type(type.rstrip("/")), entry.url)
    return delete(plan, _key(entry))


def _patch(plan: Plan, entry: Entry) -> Pending:
    tree = entry.needed()
    type, mark, _ = entry.url.partition("?")
    apply = _patch_of(tree)
    if mark:
        return patch_matching(plan, _known_type(type.rstrip("/")), entry.url, apply)
    return patch(plan, _key(entry), apply, entry.if_match)


def _check_patched(plan: Plan, entry: Entry, entries: list[Entry]) -> None:
    """Refuse a patch of what is not there, before any reference is looked at; a PUT of the Bundle may make it."""
    if "?" in entry.url or any(other.method == "PUT" and other.url == entry.url for other in entries):
        return
    key = _key(entry)
    version = plan.current(key)
    if version is None:
        raise RefusedError(404, f"HAPI-1997: {key.reference}")
    if version.body is None:
        raise gone(key, version)


def _patch_of(tree: Tree) -> Patch:
    """A patch inside a Bundle: Parameters, or JSON Patch in a Binary."""
    if tree["resourceType"] == "Parameters":
        return fhirpath_patch(tree)
    kind = tree.get("contentType", "")
    if tree["resourceType"] != "Binary" or kind.partition(";")[0].strip() != "application/json-patch+json":
        raise RefusedError(400, f"HAPI-1965: Invalid Content-Type for PATCH operation: {kind}")
    try:
        return json_patch(base64.b64decode(tree.get("data", "")))
    except binascii.Error:
        raise RefusedError(400, "HAPI-1272: the Binary's data is no base64") from None


def _key(entry: Entry) -> Key:
    """The resource that an address names: `Patient/1`, a version behind it left aside."""
    segments = [unquote(part) for part in entry.url.split("/") if part]
    if len(segments) in (2, 4) and segments[0] in resource_types() and segments[2:3] in ([], ["_history"]):
        return Key(segments[0], segments[1])
    if len(segments) == 1 and segments[0] in resource_types():
        raise RefusedError(
            400, f"HAPI-0518: Invalid match URL[{segments[0]}?{entry.url}] - URL has no search parameters"
        )
    raise _invalid_address(entry)


def _invalid_address(entry: Entry) -> RefusedError:
    return RefusedError(400, f"HAPI-2006: Unable to perform {entry.method}, URL provided is invalid: {entry.url}")


def _first(entry: Entry) -> str:
    """What an address begins with."""
    return re.split(r"[/?]", entry.url, maxsplit=1)[0]


def _known_type(type: str) -> str:
    if type not in resource_types():
        raise unknown_type(type)
    return type


def unknown_type(type: str) -> RefusedError:
    """The refusal of a resource type that R4 does not have."""
    known = ", ".join(resource_types())
    return RefusedError(404, f"HAPI-0302: Unknown resource type '{type}' - Server knows how to handle: [{known}]")


# ---- answers


def _written(call: Call, entry: Entry, done: Done) -> Tree:
    response: Tree = {"status": "204 No Content" if entry.method == "DELETE" else _status(done.status)}
    if done.version is not None:
        response["location"] = done.location
        response["etag"] = str(done.version.number)
        if done.status == 201 and done.version.number == 1:
            response["lastModified"] = done.version.at
    issue = done.issue
    if entry.method in ("PUT", "PATCH") and done.status == 200:  # in a Bundle HAPI does not say how long these took
        issue = issue | {"diagnostics": issue["diagnostics"].removesuffix(" Took 1ms.")}
    response["outcome"] = outcome(issue)
    if call.prefer == "representation" and done.version is not None and done.version.body is not None:
        return {"resource": stored_tree(done), "response": response}
    return {"response": response}


def _check_read(entry: Entry) -> None:
    """An unknown type in a read fails the whole, as in HAPI; any other fault of a read is its own."""
    first = _first(entry)
    if first not in resource_types() and first not in ("metadata", "_history", "") and not first.startswith("$"):
        raise unknown_type(first)


def _read(call: Call, entry: Entry, inner: Inner) -> Tree:
    """A read inside a Bundle, answered after everything was written."""
    headers = {"Accept": "application/fhir+json"}
    if entry.if_none_match:
        headers["If-None-Match"] = entry.if_none_match
    response = inner(Request("GET", f"/{entry.url}", headers))
    tree: Any = parse_object(response.body) if response.body else None
    if response.status >= 400:
        said = [i | {"code": "exception"} for i in (tree or {}).get("issue", [])]
        return {"response": {"status": _status(response.status), "outcome": outcome(*said)}}
    if tree is None:
        return {"response": {"status": _status(response.status)}}
    return {"resource": tree, "response": {"status": _status(response.status)}}


def _status(code: int) -> str:
    return f"{code} {_PHRASES.get(code) or HTTPStatus(code).phrase}"


__all__ = ["not_known", "post_bundle", "unknown_type"]
