"""Create, update, patch and delete, with and without a condition: what each decides, and what it says it did.

A decision names its resource first and writes later (`Pending`), because in a transaction the references of one entry
are the ids of another. What is done is said in HAPI's words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ehr.sandbox.body import Tree, parse_object
from ehr.sandbox.intake.body import mend
from ehr.sandbox.intake.full import refuse_invalid
from ehr.sandbox.outcome import RefusedError, issue, not_known
from ehr.sandbox.versions import Key, Version, served
from ehr.sandbox.writing.integrity import NO_PLACEHOLDERS
from ehr.sandbox.writing.matches import satisfies
from ehr.sandbox.writing.plan import Plan, valid_id

STORED_BUNDLES = ("collection", "document", "message")


@dataclass(frozen=True, slots=True)
class Done:
    """What a write came to: the version that stands, the status, and the issue that says so.

    `version` is `None` where nothing is there and nothing was done. `source` is a `meta.source` that was sent: HAPI
    echoes it and does not store it.
    """

    key: Key | None
    version: Version | None
    status: int
    issue: dict[str, Any]
    source: str | None = None

    @property
    def location(self) -> str:
        """`Patient/1/_history/2`."""
        assert self.key is not None and self.version is not None
        return f"{self.key.reference}/_history/{self.version.number}"


@dataclass(frozen=True, slots=True)
class Pending:
    """A write that knows its resource. `finish` takes a transaction's placeholders and gives what was done."""

    key: Key
    finish: Callable[[Mapping[str, str]], Done] = field(repr=False)

    def alone(self) -> Done:
        """What was done, for a request of its own."""
        return self.finish(NO_PLACEHOLDERS)


# ---- create


def create(plan: Plan, tree: Tree, condition: str | None = None) -> Pending:
    """A new resource with an id of the server; with a condition (`If-None-Exist`) only where nothing matches."""
    type = tree["resourceType"]
    _check_bundle(tree)
    if condition:
        found = plan.matching(type, condition)
        if found.total > 1:
            raise several("CREATE", "0958", type, condition, found.total)
        if found.key is not None:
            existing = Done(found.key, plan.current(found.key), 200, _matched(plan, found.key, condition))
            return Pending(found.key, lambda _: existing)
    key = plan.new_key(type)

    def finish(placeholders: Mapping[str, str]) -> Done:
        version, _ = plan.put(key, tree, placeholders)
        if condition:
            _hold_to(plan, tree, condition, placeholders)
        name = f"{key.reference}/_history/{version.number}"
        detail, said = "SUCCESSFUL_CREATE", f'Successfully created resource "{name}".'
        if condition:
            detail = "SUCCESSFUL_CREATE_NO_CONDITIONAL_MATCH"
            said = f'Successfully conditionally created resource "{name}".'
            said = f'{said} No existing resources matched URL "{condition}".'
        return Done(key, version, 201, _good(detail, f"{said} Took 1ms."), _source(tree))

    return Pending(key, finish)


def _matched(plan: Plan, key: Key, condition: str) -> dict[str, Any]:
    version = plan.current(key)
    assert version is not None
    name = f"{key.reference}/_history/{version.number}"
    return _good(
        "SUCCESSFUL_CREATE_WITH_CONDITIONAL_MATCH",
        f'Successfully conditionally created resource "{name}". Existing resource matched URL "{condition}". Took 1ms.',
    )


def _hold_to(plan: Plan, tree: Tree, condition: str, placeholders: Mapping[str, str], key: Key | None = None) -> None:
    """Refuse a body that does not itself meet its condition; in a Bundle that is asked last."""
    if placeholders is not NO_PLACEHOLDERS:
        plan.conditions.append((tree, condition, key))
    elif not satisfies(plan.state, tree, condition, key):
        raise RefusedError(
            400,
            f"HAPI-0929: Failed to process conditional create. The supplied resource {condition} of type "
            f"{tree['resourceType']} did not satisfy the conditional URL.",
        )


def check_conditions(plan: Plan) -> None:
    """Refuse a Bundle in which a body does not meet its condition."""
    for tree, condition, key in plan.conditions:
        if not satisfies(plan.state, tree, condition, key):
            said = f'HAPI-0539: Invalid conditional URL "{condition}". The given resource is not matched by this URL.'
            raise RefusedError(412, said)


def _check_bundle(tree: Tree) -> None:
    if tree["resourceType"] == "Bundle" and tree.get("type") not in STORED_BUNDLES:
        raise RefusedError(
            422,
            "HAPI-0522: Unable to store a Bundle resource on this server with a Bundle.type value of: "
            f"{tree.get('type', '(missing)')}. Note that if you are trying to perform a FHIR transaction or batch "
            "operation you should POST the Bundle resource to the Base URL of the server, not to the /Bundle endpoint.",
        )


# ---- update


def update(plan: Plan, key: Key, tree: Tree, if_match: str | None = None) -> Pending:
    """A resource under the client's id: replaced, restored after a deletion, or new."""
    _check_bundle(tree)
    before = plan.current(key)
    if before is None:
        check_new_id(key.id)
    else:
        version = version_of(if_match)
        if version is not None and version != str(before.number):
            raise RefusedError(
                409,
                f"HAPI-0550: HAPI-0989: Trying to update {key.reference}/_history/{version} "
                "but this is not the current version",
            )

    def finish(placeholders: Mapping[str, str]) -> Done:
        standing = plan.current(key)
        version, changed = plan.put(key, tree, placeholders)
        name = f"{key.reference}/_history/{version.number}"
        if standing is None or standing.body is None:
            said = f'Successfully created resource "{name}" using update as create (ie. create with client assigned ID)'
            return Done(key, version, 201, _good("SUCCESSFUL_UPDATE_AS_CREATE", f"{said}. Took 1ms."), _source(tree))
        if not changed:
            said = f'Successfully updated resource "{name}" with no changes detected. Took 1ms.'
            return Done(key, version, 200, _good("SUCCESSFUL_UPDATE_NO_CHANGE", said), _source(tree))
        said = f'Successfully updated resource "{name}". Took 1ms.'
        return Done(key, version, 200, _good("SUCCESSFUL_UPDATE", said), _source(tree))

    return Pending(key, finish)


def update_matching(plan: Plan, type: str, condition: str, tree: Tree) -> Pending:
    """The one resource that matches is replaced; where none does, one with an id of the server is made."""
    _check_bundle(tree)
    found = plan.matching(type, condition)
    if found.total > 1:
        raise several("UPDATE", "0988", type, condition, found.total)
    key = found.key or plan.new_key(type)

    def finish(placeholders: Mapping[str, str]) -> Done:
        version, changed = plan.put(key, tree, placeholders)
        _hold_to(plan, tree, condition, placeholders, found.key)
        said = f'Successfully conditionally updated resource "{key.reference}/_history/{version.number}"'
        if found.key is None:
            detail = "SUCCESSFUL_UPDATE_NO_CONDITIONAL_MATCH"
            said = f'{said}. Created resource because no existing resource matched URL "{condition}". Took 1ms.'
            return Done(key, version, 201, _good(detail, said), _source(tree))
        detail = "SUCCESSFUL_UPDATE_WITH_CONDITIONAL_MATCH" + ("" if changed else "_NO_CHANGE")
        unchanged = "" if changed else " with no changes detected"
        said = f'{said}{unchanged}. Existing resource matched URL "{condition}". Took 1ms.'
        return Done(key, version, 200, _good(detail, said), _source(tree))

    return Pending(key, finish)


def check_new_id(id: str) -> None:
    """Refuse an id that a client may not give to a new resource."""
    if not valid_id(id):
        raise RefusedError(400, f"HAPI-0521: Can not process entity with ID[{id}], this is not a valid FHIR ID")
    if id.isdigit():
        raise RefusedError(
            400,
            f"HAPI-0960: Can not create resource with ID[{id}], no resource with this ID exists and clients may only "
            "assign IDs which contain at least one non-numeric character",
        )


def version_of(if_match: str | None) -> str | None:
    """The version that an `If-Match` header names: `W/"2"`, `"2"` and `2` are the same."""
    if if_match is None:
        return None
    return if_match.strip().removeprefix("W/").strip().strip('"') or None


# ---- patch

Patch = Callable[[Tree], Tree]
"""From the body as it stands to the body as it shall be. Raises `RefusedError`."""


def patch(plan: Plan, key: Key, apply: Patch, if_match: str | None = None) -> Pending:
    """A resource changed in place."""
    before = plan.current(key)
    if before is None:
        raise not_known(key.reference)
    version = version_of(if_match)
    if version is not None and version != str(before.number):
        raise RefusedError(
            409,
            f"HAPI-0550: HAPI-0974: Version {version} is not the most recent version of this resource, "
            "unable to apply patch",
        )
    if before.body is None:
        raise gone(key, before)
    return _patching(plan, key, apply, None)


def patch_matching(plan: Plan, type: str, condition: str, apply: Patch) -> Pending:
    """The one resource that matches, changed in place."""
    found = plan.matching(type, condition)
    if found.total > 1:
        raise several("PATCH", "0972", type, condition, found.total)
    if found.key is None:
        raise RefusedError(404, f'HAPI-0973: Invalid match URL "{condition}" - No resources match this search')
    return _patching(plan, found.key, apply, condition)


def _patching(plan: Plan, key: Key, apply: Patch, condition: str | None) -> Pending:
    def finish(placeholders: Mapping[str, str]) -> Done:
        before = plan.current(key)
        assert before is not None and before.body is not None
        tree = mend(served(before), key.type)
        result = apply(tree) | {"id": key.id}
        if plan.state.validation == "full":
            refuse_invalid(result)
        version, changed = plan.put(key, result, placeholders)
        name = f"{key.reference}/_history/{version.number}"
        unchanged = "" if changed else " with no changes detected"
        detail, said = "SUCCESSFUL_PATCH", f'Successfully patched resource "{name}"{unchanged}.'
        if condition is not None:
            detail, said = "SUCCESSFUL_CONDITIONAL_PATCH", f"Successfully conditionally patched resource{unchanged}."
            said = f"{said} Existing resource {name} matched URL: {condition}."
        return Done(key, version, 200, _good(detail if changed else f"{detail}_NO_CHANGE", f"{said} Took 1ms."))

    return Pending(key, finish)


def gone(key: Key, version: Version) -> RefusedError:
    """The refusal for a resource that was deleted, with the place of its deletion."""
    place = f"{key.reference}/_history/{version.number}"
    return RefusedError(410, f"Resource was deleted at {version.at}", location=place)


# ---- delete


def delete(plan: Plan, key: Key) -> Done:
    """A resource taken away; its history stays. What is not there is no error."""
    before = plan.current(key)
    if before is None:
        said = f"Not deleted, resource {key.reference} does not exist."
        return Done(key, None, 200, _good("SUCCESSFUL_DELETE_NOT_FOUND", said))
    if before.body is None:
        said = f"Not deleted, resource {key.reference}/_history/{before.number} was already deleted."
        return Done(key, before, 200, _good("SUCCESSFUL_DELETE_ALREADY_DELETED", said))
    version = plan.remove(key)
    return Done(key, version, 200, _good("SUCCESSFUL_DELETE", "Successfully deleted 1 resource(s). Took 1ms."))


def delete_matching(plan: Plan, type: str, condition: str) -> Done:
    """The one resource that matches, taken away; several are refused."""
    found = plan.matching(type, condition)
    if found.total > 1:
        raise several("DELETE", "0962", type, condition, found.total)
    if found.key is not None:
        return delete(plan, found.key)
    said = f'Unable to find resource matching URL "{condition}". Nothing has been deleted.'
    return Done(None, None, 200, issue("warning", "not-found", said, detail="SUCCESSFUL_DELETE_NOT_FOUND"))


# ---- words


def several(verb: str, number: str, type: str, condition: str, count: int) -> RefusedError:
    """The refusal of a condition that more than one resource meets."""
    return RefusedError(
        412,
        f'HAPI-{number}: Failed to {verb} {type} with match URL "{condition}" '
        f"because this search matched {count} resources",
    )


def _good(detail: str, said: str) -> dict[str, Any]:
    return issue("information", "informational", said, detail=detail)


def _source(tree: Tree) -> str | None:
    source = tree.get("meta", {}).get("source")
    return source if isinstance(source, str) else None


def stored_tree(done: Done) -> Tree:
    """The body that stands after a write, as the answer shows it."""
    assert done.version is not None and done.version.body is not None
    tree = served(done.version)
    if done.source is None:
        return tree
    meta = tree["meta"]
    head = {key: meta[key] for key in ("id", "extension", "versionId", "lastUpdated") if key in meta}
    return tree | {"meta": head | {"source": done.source} | {k: v for k, v in meta.items() if k not in head}}


__all__ = [
    "Done",
    "Patch",
    "Pending",
    "check_conditions",
    "check_new_id",
    "create",
    "delete",
    "delete_matching",
    "gone",
    "parse_object",
    "patch",
    "patch_matching",
    "several",
    "stored_tree",
    "update",
    "update_matching",
    "version_of",
]
