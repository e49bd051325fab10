"""References inside a resource: where they stand, what they name, and which of them the server checks.

HAPI checks only references that a search parameter indexes; the others may point anywhere. On the way in it takes the
version off every reference and resolves conditional ones (`Patient?identifier=...`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ehr.sandbox.body import Tree
from ehr.sandbox.definitions import Element, element_types, field, fields, parameters, resource_types

KEEPS_VERSION = frozenset({"AuditEvent.entity.what"})
"""Elements whose references stay versioned, as in HAPI's default settings."""

LOGICAL = tuple(
    f"{scheme}://{place}"
    for place in (
        "hl7.org/fhir/ValueSet/",
        "hl7.org/fhir/CodeSystem/",
        "hl7.org/fhir/StructureDefinition/",
        "terminology.hl7.org/",
        "snomed.info/",
        "unitsofmeasure.org/",
        "loinc.org/",
    )
    for scheme in ("http", "https")
)
"""Addresses that name something without a place to find it: HAPI does not take them for external references."""


class Link(NamedTuple):
    """A Reference or uri element found in a resource: the object that holds it, the key, and the path of the element.

    `path` is without indices and types (`Observation.subject`, `MedicationRequest.medication`), from the resource that
    holds it; `contained` says that this resource is a contained one. `targets` are the types that the definition of the
    element allows, empty for any; `choice` says that the element may hold other things than references.
    """

    holder: Tree
    key: str
    path: str
    contained: bool
    targets: tuple[str, ...] = ()
    choice: bool = False

    @property
    def text(self) -> str:
        """The reference as written."""
        return str(self.holder[self.key])


class Named(NamedTuple):
    """The parts of a reference's text; what is missing is empty."""

    base: str
    type: str
    id: str
    version: str


def parts(text: str) -> Named:
    """`[base/]Type/id[/_history/version]` taken apart, as HAPI's ids are."""
    version = ""
    head, mark, tail = text.partition("/_history/")
    if mark:
        text, version = head, tail.split("/", 1)[0]
    if text.startswith(("urn:", "#")):
        return Named("", "", text, version)
    head, slash, id = text.rpartition("/")
    if not slash:
        return Named("", "", id, version)
    base, _, type = head.rpartition("/")
    if base.endswith("/"):  # http://host/x: no id, as HAPI reads it
        return Named(f"{base}/{type}", id, "", version)
    return Named(base, type, id, version)


_URIS = frozenset({"uri", "url", "canonical", "oid", "uuid"})


def links(tree: Tree) -> Iterator[Link]:
    """Every Reference with a `reference` in a resource, contained resources and extensions too."""
    type = tree["resourceType"]
    yield from _links(tree, type, type, False, None)


def uris(tree: Tree) -> Iterator[Link]:
    """Every element of type `uri` or of one derived from it in a resource that holds an urn."""
    type = tree["resourceType"]
    yield from _uris(tree, type, type)


def _links(tree: Tree, type: str, path: str, contained: bool, element: Element | None) -> Iterator[Link]:
    if type == "Reference" and isinstance(tree.get("reference"), str):
        targets = () if element is None else element.targets.get("Reference", ())
        yield Link(tree, "reference", path, contained, targets, element is not None and element.choice)
    for item, item_type, item_path, inner, below in _children(tree, type, path):
        if isinstance(item, dict):
            yield from _links(item, item_type, item_path, contained or inner, below)


def _uris(tree: Tree, type: str, path: str) -> Iterator[Link]:
    for key, value in tree.items():
        found = field(type, key)
        if found is not None and found.type in _URIS and isinstance(value, str) and value.startswith("urn:"):
            yield Link(tree, key, f"{path}.{found.element.name}", False)
    for item, item_type, item_path, _, _ in _children(tree, type, path):
        if isinstance(item, dict):
            yield from _uris(item, item_type, item_path)


def _children(tree: Tree, type: str, path: str) -> Iterator[tuple[Any, str, str, bool, Element | None]]:
    """What stands one level below: with its type, its path, whether it is a resource of its own, and its element."""
    known = fields(type)
    for key, value in tree.items():
        if not isinstance(value, dict | list):
            continue
        element: Element | None = None
        if key.startswith("_"):
            name, below = key[1:], "Element"
        elif key in known and known[key].type in element_types():
            element, below = known[key].element, known[key].type
            name = element.name
        else:
            continue
        for item in value if isinstance(value, list) else (value,):
            if below == "Resource" and isinstance(item, dict):
                inner = item.get("resourceType")
                if isinstance(inner, str) and inner in resource_types():
                    yield item, inner, inner, True, None
            else:
                yield item, below, f"{path}.{name}", False, element


# ---- what is checked


@cache
def checked(type: str) -> frozenset[str]:
    """The paths that reference parameters index: only what stands there must be there, for HAPI."""
    found = [p.expression for p in parameters(type).values() if p.kind == "reference"]
    return frozenset(_path(term) for expression in found for term in expression.split(" | "))


def _path(term: str) -> str:
    """The plain element path of a search parameter's term."""
    plain = re.sub(r"\.(where|as|ofType)\((?:[^()]|\([^()]*\))*\)", "", term)
    return re.sub(r"\((\S+) as \w+\)", r"\1", plain).replace("[0]", "")
