"""Create, update, patch and delete over HTTP: what the headers and the address ask for, and the answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from ehr.sandbox.body import Tree
from ehr.sandbox.http import Response
from ehr.sandbox.intake.body import receive
from ehr.sandbox.intake.full import refuse_invalid
from ehr.sandbox.intake.syntax import json_object
from ehr.sandbox.outcome import RefusedError, outcome
from ehr.sandbox.rest.call import FHIR_JSON, Call, body_check
from ehr.sandbox.rest.rendering import answer, http_date, shown
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key
from ehr.sandbox.writing.patch import json_patch
from ehr.sandbox.writing.patch_fhirpath import fhirpath_patch
from ehr.sandbox.writing.plan import Plan
from ehr.sandbox.writing.verbs import (
    Done,
    Patch,
    check_new_id,
    create,
    delete,
    delete_matching,
    patch,
    patch_matching,
    stored_tree,
    update,
    update_matching,
)


def post(state: State, call: Call, type: str) -> Response:
    """`POST Type`: a new resource; with `If-None-Exist` only where nothing matches."""
    plan = Plan(state)
    done = create(plan, _body(state, call, type, "CREATE"), call.request.header("If-None-Exist")).alone()
    plan.carry_out(call.by, call.number)
    return _answered(call, done, tag=True, location=True)


def put(state: State, call: Call, key: Key, version: str | None = None) -> Response:
    """`PUT Type/id`; a version in the address is an `If-Match`."""
    if version is not None and call.request.header("X-Rewrite-History"):
        raise RefusedError(400, "HAPI-2781: Update with history rewrite is not supported on this server")
    tree = _body(state, call, key.type, "UPDATE")
    if _is_bytes(call, key.type):
        tree["id"] = key.id
    sent = tree.get("id")
    if sent is None:
        raise RefusedError(
            400,
            "HAPI-0419: Can not update resource, resource body must contain an ID element for update (PUT) operation",
        )
    if sent != key.id:
        raise RefusedError(
            400,
            "HAPI-0420: Can not update resource, resource body must contain an ID element which matches the request "
            f'URL for update (PUT) operation - Resource body ID of "{sent}" does not match URL ID of "{key.id}"',
        )
    plan = Plan(state)
    done = update(plan, key, tree, call.request.header("If-Match") or version).alone()
    plan.carry_out(call.by, call.number)
    return _answered(call, done, tag=True)


def put_matching(state: State, call: Call, type: str) -> Response:
    """`PUT Type?condition`."""
    tree = _body(state, call, type, "UPDATE")
    if not call.raw_query:
        raise RefusedError(
            400,
            "HAPI-0418: Can not update resource, request URL must contain an ID element for update (PUT) operation "
            "(it must be of the form [base]/[resource type]/[id])",
        )
    plan = Plan(state)
    done = update_matching(plan, type, call.condition, tree).alone()
    plan.carry_out(call.by, call.number)
    return _answered(call, done, tag=True)


def apply_patch(state: State, call: Call, key: Key) -> Response:
    """`PATCH Type/id`."""
    plan = Plan(state)
    apply = _patch(call)
    done = patch(plan, key, apply, call.request.header("If-Match")).alone()
    plan.carry_out(call.by, call.number)
    return _answered(call, done)


def patch_where(state: State, call: Call, type: str) -> Response:
    """`PATCH Type?condition`."""
    if not call.raw_query:
        raise RefusedError(400, "HAPI-0968: Can not patch, no ID and no condition provided")
    plan = Plan(state)
    done = patch_matching(plan, type, call.condition, _patch(call)).alone()
    plan.carry_out(call.by, call.number)
    return _answered(call, done)


def remove(state: State, call: Call, key: Key) -> Response:
    """`DELETE Type/id`. `If-Match` and `Prefer` change nothing, as in HAPI."""
    plan = Plan(state)
    done = delete(plan, key)
    assert done.key is not None
    place = done.key.reference if done.version is None else done.location
    return _removed(plan, call, done, {"Content-Location": call.address(place)})


def remove_matching(state: State, call: Call, type: str) -> Response:
    """`DELETE Type?condition`."""
    if not call.raw_query:
        raise RefusedError(400, "HAPI-0967: Can not perform delete, no ID provided")
    if call.first("_expunge") == "true":
        raise RefusedError(
            405,
            "HAPI-0963: _expunge is not enabled on this server: Delete Expunge is not supported on this server.  "
            "The following configurations are disabled: Multiple Delete, Delete Expunge",
        )
    plan = Plan(state)
    return _removed(plan, call, delete_matching(plan, type, call.condition), {})


def _removed(plan: Plan, call: Call, done: Done, headers: Mapping[str, str]) -> Response:
    plan.check_deletions()
    plan.carry_out(call.by, call.number)
    return answer(call, 200, outcome(done.issue), headers)


def _body(state: State, call: Call, type: str, operation: str) -> Tree:
    if _is_bytes(call, type):
        data = base64.b64encode(call.request.body).decode()
        kind = call.request.header("Content-Type")
        tree = {"resourceType": "Binary", "contentType": kind, "data": data}
        return {name: value for name, value in tree.items() if value}
    body_check(call, operation)
    tree = receive(call.request.body, type)
    if state.validation == "full":
        refuse_invalid(json_object(call.request.body))
    return tree


def _is_bytes(call: Call, type: str) -> bool:
    """Whether the body of a Binary is what it holds, in its own type, and no FHIR."""
    return type == "Binary" and call.content_type() not in FHIR_JSON


def _patch(call: Call) -> Patch:
    kind = call.content_type()
    if kind == "application/json-patch+json":
        return json_patch(call.request.body)
    if kind == "application/fhir+json":
        return fhirpath_patch(receive(call.request.body, "Parameters"))
    if not kind:
        raise RefusedError(400, "HAPI-1964: Missing or invalid content type for PATCH operation")
    shown = (call.request.header("Content-Type") or "").partition(";")[0].strip()
    raise RefusedError(400, f"HAPI-1965: Invalid Content-Type for PATCH operation: {shown}")


def _answered(call: Call, done: Done, *, tag: bool = False, location: bool = False) -> Response:
    """The answer to a write: headers always, the body as `Prefer` asks."""
    assert done.version is not None
    place = call.address(done.location)
    headers = {"Content-Location": place, "Last-Modified": http_date(done.version.at)}
    if tag:
        headers["ETag"] = f'W/"{done.version.number}"'
    if location:
        headers["Location"] = place
    if call.prefer == "minimal":
        return answer(call, done.status, None, headers)
    if call.prefer == "OperationOutcome":
        return answer(call, done.status, outcome(done.issue), headers)
    return answer(call, done.status, shown(call, stored_tree(done)), headers)


__all__ = ["apply_patch", "check_new_id", "patch_where", "post", "put", "put_matching", "remove", "remove_matching"]
