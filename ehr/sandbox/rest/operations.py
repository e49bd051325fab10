"""Operations: `$meta`, `$diff`, `$expunge` and their like, by level and name.

An operation that writes needs `POST`, any other takes `GET` too, with its parameters in the address or in a Parameters
body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ehr.sandbox.body import Number, Tree, compact, parse_object
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Response
from ehr.sandbox.intake.body import receive
from ehr.sandbox.outcome import RefusedError, not_known
from ehr.sandbox.rest.call import Call
from ehr.sandbox.rest.everything import everything_of
from ehr.sandbox.rest.lastn import lastn
from ehr.sandbox.rest.paging import Pages
from ehr.sandbox.rest.rendering import answer
from ehr.sandbox.rest.validate import validate
from ehr.sandbox.searching.search import search
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key, Version, served, stamped
from ehr.sandbox.writing.diff import differences
from ehr.sandbox.writing.meta import added, removed
from ehr.sandbox.writing.verbs import gone

Operation = Callable[[State, Pages, Call, Key | None], Response]


_MOST_LABELLED = 1000


def parameters(*parts: Tree) -> Tree:
    """A Parameters resource."""
    result: Tree = {"resourceType": "Parameters"}
    return result | {"parameter": list(parts)} if parts else result


def posted(call: Call) -> None:
    """Refuse anything but `POST`, for an operation that writes."""
    if call.method != "POST":
        raise RefusedError(
            405, f"HAPI-0426: HTTP Method {call.method} is not allowed for this operation. Allowed method(s): POST"
        )


def given(call: Call) -> dict[str, Any]:
    """The parameters of an operation by name: of the address, and of a Parameters body."""
    found: dict[str, Any] = dict(reversed(call.query))
    if call.method == "POST" and call.request.body.strip():
        for part in receive(call.request.body, "Parameters").get("parameter", []):
            value = next((v for k, v in part.items() if k.startswith("value") or k == "resource"), None)
            found.setdefault(part.get("name", ""), value)
    return found


# ---- $meta, $meta-add, $meta-delete


def meta(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """What a resource says of itself in `meta`; without a resource, the labels that are in use."""
    if key is not None and key.id:
        version = _standing_version(state, call, key)
        stood = _meta_of(version)
        return answer(call, 200, parameters({"name": "return", "valueMeta": stood}))
    found: Tree = {}
    for other in _labelled_ones(state, key):
        stood = other.get("meta", {})
        for name in ("security", "tag"):
            found[name] = added(found.get(name, []), stood.get(name, []))
        found["profile"] = sorted({*found.get("profile", []), *stood.get("profile", [])})
    used = {name: found[name] for name in ("profile", "security", "tag") if found.get(name)}
    return answer(call, 200, parameters({"name": "return", **({"valueMeta": used} if used else {})}))


def _labelled_ones(state: State, key: Key | None) -> Iterator[Tree]:
    """Resources of one type or of all that have labels, of each type and kind of label the first `_MOST_LABELLED`."""
    for type in sorted(state.counts()) if key is None else (key.type,):
        for name in ("_tag", "_security", "_profile"):
            for hit in search(state.overlay, type, [(f"{name}:missing", "false")]).matches[:_MOST_LABELLED]:
                body = state.overlay.get(*hit)
                if body is not None:
                    yield parse_object(body)


def _standing_version(state: State, call: Call, key: Key) -> Version:
    versions = state.versions.all(key)
    if not versions:
        raise not_known(key.reference)
    if len(call.segments) == 5:
        number = call.segments[3]
        found = next((v for v in versions if str(v.number) == number), None)
        if found is None:
            raise RefusedError(404, f'HAPI-0979: Version "{number}" is not valid for resource {key.reference}')
        return found
    return versions[-1]


def _meta_of(version: Version) -> Tree:
    if version.body is None:
        return {"versionId": str(version.number), "lastUpdated": version.at}
    meta: Tree = served(version)["meta"]
    return meta


def meta_add(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """Add labels and profiles, without a new version."""
    return _labelled(state, call, key, added, lambda old, new: sorted({*old, *new}))


def meta_delete(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """Take labels and profiles away, without a new version."""
    return _labelled(state, call, key, removed, lambda old, new: [p for p in old if p not in new])


def _labelled(
    state: State,
    call: Call,
    key: Key | None,
    codings: Callable[[list[Tree], list[Tree]], list[Tree]],
    profiles: Callable[[list[str], list[str]], list[str]],
) -> Response:
    posted(call)
    if key is None or not key.id:
        raise call.unsupported()
    named = _meta_parameter(call)
    version = state.versions.current(key)
    if version is None:
        raise not_known(key.reference)
    if version.body is None:
        raise gone(key, version)
    tree = parse_object(version.body)
    old = tree.get("meta", {})
    new = {name: value for name, value in old.items() if name not in ("profile", "security", "tag")}
    for name, change in (("profile", profiles), ("security", codings), ("tag", codings)):
        changed = change(old.get(name, []), named.get(name, []))
        if changed:
            new[name] = changed
    if new != old:
        head = {"resourceType": tree["resourceType"], "id": tree["id"]} | ({"meta": new} if new else {})
        rest = {name: value for name, value in tree.items() if name not in ("resourceType", "id", "meta")}
        # With the version that it stays: what is logged is what a read will show.
        labelled = stamped(head | rest, version.number, version.at)
        state.amend(key, compact(labelled), call.by, call.number)
    stood = _meta_of(state.versions.all(key)[-1])
    return answer(call, 200, parameters({"name": "return", "valueMeta": stood}))


def _meta_parameter(call: Call) -> Tree:
    tree = receive(call.request.body, None)
    for part in tree.get("parameter", []) if tree["resourceType"] == "Parameters" else []:
        if part.get("name") == "meta" and "valueMeta" in part:
            found: Tree = part["valueMeta"]
            return found
    raise RefusedError(400, "HAPI-0554: Input contains no parameter with name 'meta'")


# ---- $expunge


def expunge(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """Remove deleted resources, or versions that are past, for good. What stands is never removed."""
    posted(call)
    asked = given(call)
    if asked.get("expungeEverything") is True:
        raise RefusedError(405, "HAPI-2081: Multiple delete is not enabled on this server")
    limit = int(asked["limit"]) if isinstance(asked.get("limit"), Number) else 1000
    deleted = asked.get("expungeDeletedResources") is True
    past = asked.get("expungePreviousVersions") is True
    if key is not None and key.id:
        if not state.versions.all(key):
            raise not_known(key.reference)
        keys = [key]
    else:
        keys = [k for k in state.versions.written_keys() if key is None or k.type == key.type]
    count = sum(_expunged(state, k, deleted, past) for k in keys[: max(limit, 0)])
    return answer(call, 200, parameters({"name": "count", "valueInteger": Number(count)}))


def _expunged(state: State, key: Key, deleted: bool, past: bool) -> int:
    versions = state.versions.all(key)
    if not versions:
        return 0
    newest = versions[-1]
    if newest.body is None:
        return state.forget(key, lambda version: False) if deleted else 0
    return state.forget(key, lambda version: version.number == newest.number) if past else 0


# ---- $diff, $get-resource-counts


def diff(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """The differences between two versions, or two resources, as a FHIRPath Patch."""
    asked = given(call)
    with_meta = str(asked.get("includeMeta")).lower() == "true"
    if key is None:
        one, other = (_named(state, str(asked.get(name, ""))) for name in ("from", "to"))
        return answer(call, 200, parameters(*differences(served(one), served(other), with_meta)))
    versions = state.versions.all(key)
    if not versions:
        raise not_known(key.reference)
    newest = versions[-1]
    if newest.body is None:
        raise gone(key, newest)
    old = versions[-2] if len(versions) > 1 else None
    if "fromVersion" in asked:
        old = _version(versions, key, str(asked["fromVersion"]))
    before = None if old is None or old.body is None else served(old)
    return answer(call, 200, parameters(*differences(before, served(newest), with_meta)))


def _named(state: State, text: str) -> Version:
    segments = text.split("/")
    key = Key(segments[0], segments[1] if len(segments) > 1 else "")
    versions = state.versions.all(key) if key.type in resource_types() else []
    if not versions:
        raise not_known(text)
    if versions[-1].body is None:
        raise gone(key, versions[-1])
    return _version(versions, key, segments[3]) if len(segments) == 4 else versions[-1]


def _version(versions: list[Version], key: Key, number: str) -> Version:
    found = next((v for v in versions if str(v.number) == number.removeprefix(f"{key.reference}/_history/")), None)
    if found is None:
        raise RefusedError(404, f'HAPI-0979: Version "{number}" is not valid for resource {key.reference}')
    return found


def counts(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """How many resources stand, by type."""
    found = state.counts()
    return answer(
        call, 200, parameters(*({"name": type, "valueInteger": Number(n)} for type, n in sorted(found.items()) if n))
    )


OPERATIONS: dict[tuple[str, str], Operation] = {
    **{(level, "$meta"): meta for level in ("system", "type", "instance")},
    ("instance", "$meta-add"): meta_add,
    ("instance", "$meta-delete"): meta_delete,
    **{(level, "$expunge"): expunge for level in ("system", "type", "instance")},
    ("system", "$diff"): diff,
    ("instance", "$diff"): diff,
    ("system", "$get-resource-counts"): counts,
    ("type", "$everything"): everything_of,
    ("instance", "$everything"): everything_of,
    ("type", "$lastn"): lastn,
    ("type", "$validate"): validate,
    ("instance", "$validate"): validate,
}
"""(`system`, `type` or `instance`, name) -> what it does."""

__all__ = ["OPERATIONS", "Operation", "given", "parameters", "posted", "stamped"]
