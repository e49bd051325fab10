"""References on the way in: rewritten to how HAPI stores them, and checked where HAPI checks them.

Versions are taken off, `Patient?identifier=...` becomes the one resource that it matches, a transaction's placeholders
become the ids that were given. A reference that a search parameter indexes must name a resource of an allowed type
that is there, relative to this server; absolute addresses are refused, this server's own too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ehr.sandbox.body import Tree
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.references import KEEPS_VERSION, LOGICAL, Link, checked, links, parts, uris
from ehr.sandbox.versions import Key, Version
from ehr.sandbox.writing.matches import Matched

NO_PLACEHOLDERS: Mapping[str, str] = {}
"""For a request that is no transaction: an urn is then no placeholder but a bad reference."""


class Surroundings(Protocol):
    """What a reference is checked against."""

    def stands(self, key: Key) -> Version | None:
        """The newest version of a resource before this write, which may be a deletion."""

    def expects(self, key: Key) -> bool:
        """Whether the resource will be there when the write is done."""

    def matching(self, type: str, query: str) -> Matched:
        """The resources that a match address names."""


def settle_references(
    tree: Tree, around: Surroundings, placeholders: Mapping[str, str], *, every: bool = False
) -> None:
    """Rewrite the references of a body in place, and check them: those that HAPI checks, or `every` one.

    Raises `RefusedError`.
    """
    type = tree["resourceType"]
    found = list(links(tree))
    for link in found:
        _check_type(link)
    indexed = checked(type)
    for link in found:
        link.holder[link.key] = _stored_form(link, type, around, placeholders)
    for link in found:
        text = link.text
        if every or (link.path in indexed and not link.contained):
            _check(f"({link.path} as Reference)" if link.choice else link.path, text, around)
    for link in list(uris(tree)) if placeholders else ():
        link.holder[link.key] = placeholders.get(link.text, link.text)


def _check_type(link: Link) -> None:
    """Refuse a reference to a type that its element does not allow. An element with a choice of types is not asked."""
    named = parts(link.text)
    if not link.targets or link.choice or not named.type or "?" in link.text or link.text.startswith(LOGICAL):
        return
    if named.type not in link.targets:
        reason = f"Resource type '{named.type}' is not valid for this path"
        raise RefusedError(422, f"HAPI-0931: Invalid reference found at path '{link.path}'. {reason}")


def _stored_form(link: Link, type: str, around: Surroundings, placeholders: Mapping[str, str]) -> str:
    text = placeholders.get(link.text) or placeholders.get(link.text.removeprefix("/"), link.text)
    if text.startswith("urn:") and placeholders is not NO_PLACEHOLDERS:
        name = link.path.partition(".")[2]
        found = f"found in element named '{name}' within resource of type: {type}"
        raise RefusedError(400, f"HAPI-0541: Unable to satisfy placeholder ID {text} {found}")
    if "?" in text:
        text = _resolved(text, around.matching)
    named = parts(text)
    if link.path not in KEEPS_VERSION and not text.startswith("urn:"):
        text = text.partition("/_history/")[0]
    return text if named.base else text.removeprefix("/")


def _resolved(text: str, matching: Callable[[str, str], Matched]) -> str:
    """`Patient?identifier=x` as the one resource that it matches."""
    head, _, query = text.partition("?")
    type = head.rstrip("/").rpartition("/")[2]
    shown = f'Invalid match URL "{type}?{query}"'
    if type not in resource_types():
        known = "this name is not known in FHIR version"
        raise RefusedError(400, f'HAPI-1684: Unknown resource name "{type}" ({known} "R4")')
    found = matching(type, f"{type}?{query}")
    if not found.total:
        raise RefusedError(404, f"HAPI-1091: {shown} - No resources match this search")
    if found.key is None:
        raise RefusedError(412, f"HAPI-2207: {shown} - Multiple resources match this search")
    return found.key.reference


def _check(path: str, text: str, around: Surroundings) -> None:
    if not text or text.startswith(("#", *LOGICAL)):
        return
    named = parts(text)
    place = f"Invalid resource reference found at path[{path}]"
    if not named.type:
        raise RefusedError(400, f"HAPI-0505: {place} - Does not contain resource type - {text}")
    if named.type not in resource_types():
        reason = "Resource type is unknown or not supported on this server"
        raise RefusedError(400, f"HAPI-0506: {place} - {reason} - {text}")
    if named.base:
        reason = "but this server is not configured to allow external references"
        raise RefusedError(400, f'HAPI-0507: Resource contains external reference to URL "{text}" {reason}')
    if not named.id:
        raise RefusedError(400, f"HAPI-0508: {place} - Does not contain resource ID - {text}")
    key = Key(named.type, named.id)
    if around.expects(key):
        return
    stored = around.stands(key)
    if stored is None:
        raise RefusedError(400, f"HAPI-1094: Resource {key.reference} not found, specified in path: {path}")
    if stored.body is None:
        raise RefusedError(400, f"HAPI-1096: Resource {key.reference} is deleted, specified in path: {path}")
