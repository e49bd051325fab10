"""`_elements` and `_summary`: parts of a resource, marked as such by the SUBSETTED tag, as HAPI sends them.

Pure functions on parsed bodies. A resource that is shown whole is returned as it is, without the tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ehr.sandbox.definitions import Field, element_types, field

__all__ = ["SUBSETTED", "subsetted"]

Tree = dict[str, Any]
Wanted = dict[str, Any]
"""Element -> what is wanted below it; nothing below is everything."""

SUBSETTED = {
    "system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue",
    "code": "SUBSETTED",
    "display": "Resource encoded in summary mode",
}


def subsetted(tree: Tree, *, summary: str = "", elements: Sequence[str] = (), matched: bool = True) -> Tree:
    """The part of a resource that is asked for.

    `summary` is the value of `_summary` (`true`, `text`, `data`; others change nothing), `elements` the values of
    `_elements`, each a list with commas. An element without a type in front is for hits only: for what is sent along
    with them, `matched` is false.
    """
    type = tree.get("resourceType")
    if not isinstance(type, str) or type not in element_types():
        return tree
    if summary == "true":
        return _marked(tree, _summary(type, tree))
    if summary == "text":
        return _marked(tree, {key: value for key, value in tree.items() if key == "text" or _is_required(type, key)})
    if summary == "data":
        return _marked(tree, {key: _data(key, value) for key, value in tree.items() if key != "text"})
    wanted = _wanted(type, elements, matched)
    return tree if wanted is None else _marked(tree, _chosen(type, tree, wanted))


def _marked(tree: Tree, part: Tree) -> Tree:
    """The part with type, id and the tag in front."""
    meta = dict(tree.get("meta") or {})
    tags = [tag for tag in meta.get("tag") or () if not (isinstance(tag, dict) and tag.get("code") == "SUBSETTED")]
    meta["tag"] = [*tags, SUBSETTED]
    first: Tree = {key: tree[key] for key in ("resourceType", "id") if key in tree}
    return {**first, "meta": meta, **{key: value for key, value in part.items() if key not in (*first, "meta")}}


# ---- _summary


def _summary(type: str, tree: Tree) -> Tree:
    """The elements that the specification marks as summary, at every depth."""
    kept: Tree = {}
    for key, value in tree.items():
        found = field(type, key)
        if found is None or not found.element.summary or found.type == "Extension":
            continue
        if found.type in element_types():
            value = _each(value, lambda item, found=found: _summary(_type_of(found, item), item))
        if value not in ({}, []):
            kept[key] = value
    return kept


def _is_required(type: str, key: str) -> bool:
    found = field(type, key)
    return found is not None and found.element.required


def _data(key: str, value: Any) -> Any:
    """A member in `_summary=data`: contained resources are marked too."""
    if key != "contained" or not isinstance(value, list):
        return value
    return [_marked(one, one) if isinstance(one, dict) else one for one in value]


# ---- _elements


def _wanted(type: str, lists: Sequence[str], matched: bool) -> Wanted | None:
    """What a resource of this type is asked for; `None` where all of it."""
    wanted: Wanted = {}
    found = False
    for path in (part.strip() for one in lists for part in one.split(",")):
        head, dot, rest = path.partition(".")
        if dot and head[:1].isupper():
            if head != type:
                continue
            path = rest
        elif not matched:
            continue
        if path:
            found = True
            _add(wanted, path.split("."))
    if "extension" in wanted:
        wanted.setdefault("modifierExtension", {})
    return wanted if found else None


def _add(wanted: Wanted, path: list[str]) -> None:
    for step in path[:-1]:
        if step in wanted and not wanted[step]:
            return  # all of it is wanted already
        wanted = wanted.setdefault(step, {})
    wanted[path[-1]] = {}


def _chosen(type: str, tree: Tree, wanted: Wanted) -> Tree:
    kept: Tree = {}
    for key, value in tree.items():
        name = key.removeprefix("_")
        found = field(type, name)
        below = wanted.get(name) if found is None or name in wanted else wanted.get(found.element.name)
        if below is None:
            continue
        if below and found is not None and found.type in element_types():
            value = _each(value, lambda item, found=found, below=below: _chosen(_type_of(found, item), item, below))
        elif key == "contained":
            value = _data(key, value)
        kept[key] = value
    return kept


def _each(value: Any, part: Any) -> Any:
    """The part of each object in a list, or of one."""
    if isinstance(value, list):
        parts = [part(item) if isinstance(item, dict) else item for item in value]
        return [one for one in parts if one != {}]
    return part(value) if isinstance(value, dict) else value


def _type_of(found: Field, item: Tree) -> str:
    """The type of what is below: for a resource inside a resource, its own."""
    own = item.get("resourceType")
    if found.type == "Resource" and isinstance(own, str) and own in element_types():
        return own
    return found.type
