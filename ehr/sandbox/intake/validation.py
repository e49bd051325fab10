"""What is wrong with a resource by the R4 definitions, as a default HAPI does not ask before it stores.

Checked here: unknown elements, required ones that are missing, lists and single values, JSON kinds and patterns of
primitives, dates that are none, empty values, two of one choice, codes outside a required value set, ids, the form of
references, and references into contained resources. Not checked: invariants, profiles, terminology beyond required
codes.
`validation_models.py` asks a second validator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ehr.sandbox.body import Number, Tree
from ehr.sandbox.definitions import Element, codes, element_types, elements, fields, primitive, resource_types
from ehr.sandbox.intake.primitives import UnreadableError, moment
from ehr.sandbox.references import links

_MOMENTS = ("date", "dateTime", "instant")
_REFERENCE = re.compile(
    r"#[A-Za-z0-9\-.]{0,64}|urn:(uuid|oid):\S+|[A-Z][A-Za-z]+\?\S+"
    r"|(https?://\S+/|/)?(?P<type>[A-Z][A-Za-z]+)/[A-Za-z0-9\-.]{1,64}(/_history/[A-Za-z0-9\-.]{1,64})?"
)
DEEPEST = 100


class Problem(NamedTuple):
    """One thing that is wrong: the path of the element, what, and the issue type. `key` is an unknown key, else empty.

    `holder` is the object in which it is wrong, for its place in the text.
    """

    path: str
    message: str
    code: str
    holder: Tree
    key: str = ""


def problems(tree: Tree) -> list[Problem]:
    """Everything that is wrong with a resource as it was sent, in the order of the specification."""
    type = tree.get("resourceType")
    if not isinstance(type, str) or type not in resource_types():
        return [Problem("", f"{type!r} is no resource type of R4", "structure", tree, "resourceType")]
    found = list(_element(tree, type, type, 0))
    inside = {item.get("id") for item in _listed(tree.get("contained")) if isinstance(item, dict)}
    found += [
        Problem(path, f"The reference {text!r} names no contained resource", "not-found", holder)
        for holder, path, text in _fragments(tree)
        if text != "#" and text[1:] not in inside
    ]
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _element(tree: Tree, type: str, path: str, depth: int) -> Iterator[Problem]:
    if depth > DEEPEST:
        yield Problem(path, "The body nests too deeply", "structure", tree)
        return
    known = fields(type)
    resource = type in resource_types()
    for key in tree:
        if key.removeprefix("_") not in known and not (resource and key == "resourceType"):
            yield Problem(path, f"Unrecognized property '{key}'", "structure", tree, key)
    if not [key for key in tree if key != "resourceType"] and not resource:
        yield Problem(path, "Object must have some content", "structure", tree)
    for element in elements(type).values():
        keys = [key for key, found in known.items() if found.element is element and (key in tree or "_" + key in tree)]
        name = f"{path}.{element.name}"
        if len(keys) > 1:
            yield Problem(name, f"Only one of {', '.join(keys)} may be there", "structure", tree)
        if element.required and not keys:
            yield Problem(name, _missing(name, type), "required", tree)
        for key in keys:
            yield from _key(tree, key, known[key].type, element, name, depth)


def _missing(name: str, type: str) -> str:
    root, name = type.split(".")[0], re.sub(r"\[\d+\]", "", name)
    return f"{name}: minimum required = 1, but only found 0 (from http://hl7.org/fhir/StructureDefinition/{root}|4.0.1)"


def _key(tree: Tree, key: str, type: str, element: Element, path: str, depth: int) -> Iterator[Problem]:
    value = tree.get(key)
    if element.many is not isinstance(value, list) and key in tree:
        yield Problem(path, f"Expected {'a list' if element.many else 'one value'} at {key}", "structure", tree)
        return
    if value == []:
        yield Problem(path, f"The list {key} is empty", "structure", tree)
    asides = tree.get("_" + key)
    for index, item in enumerate(value if isinstance(value, list) else [value] if key in tree else []):
        place = f"{path}[{index}]" if element.many else path
        aside = asides[index] if isinstance(asides, list) and index < len(asides) else asides
        if type in element_types():
            yield from _complex(item, type, place, tree, depth)
        elif item is not None or not isinstance(aside, dict):
            yield from _primitive(item, type, element, place, tree)
    for item in asides if isinstance(asides, list) else [asides]:
        if isinstance(item, dict):
            yield from _element(item, "Element", path, depth + 1)
        elif item is not None:
            yield Problem(path, f"Expected an object at _{key}", "structure", tree)


def _complex(item: Any, type: str, path: str, holder: Tree, depth: int) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield Problem(path, f"Expected an object of type {type}", "structure", holder)
    elif type == "Resource":
        inner = item.get("resourceType")
        if isinstance(inner, str) and inner in resource_types():
            yield from _element(item, inner, path, depth + 1)
        else:
            yield Problem(path, f"{inner!r} is no resource type of R4", "structure", item)
    else:
        yield from _element(item, type, path, depth + 1)
        if type == "Reference" and isinstance(item.get("reference"), str):
            yield from _reference(item, path)


def _reference(item: Tree, path: str) -> Iterator[Problem]:
    text = item["reference"]
    found = _REFERENCE.fullmatch(text)
    if not found:
        yield Problem(path, f"{text!r} is no reference: expected Type/id", "value", item)
    elif found["type"] and not text.startswith("http") and found["type"] not in resource_types():
        yield Problem(path, f"{found['type']!r} is no resource type of R4", "value", item)


_KINDS = {"boolean": "true or false", "number": "a number", "string": "a text"}


def _primitive(item: Any, type: str, element: Element, path: str, holder: Tree) -> Iterator[Problem]:
    known = primitive(type)
    assert known is not None, type
    kind = "boolean" if isinstance(item, bool) else "number" if isinstance(item, Number) else "string"
    if item is None or isinstance(item, dict | list) or kind != known.json:
        yield Problem(path, f"Expected {_KINDS[known.json]} for {type}, found {_shown(item)}", "structure", holder)
        return
    text = str(item)
    if kind == "boolean":
        return
    if not text.strip():
        yield Problem(path, "The value must not be empty", "value", holder)
    elif not _pattern(type).fullmatch(text) or (type in _MOMENTS and not _real(text)):
        yield Problem(path, f"{_shown(item)} is no valid {type}", "value", holder)
    elif type == "code" and element.value_set:
        allowed = codes(element.value_set)
        if allowed is not None and text not in allowed:
            said = f"The value provided ('{text}') is not in the value set ({element.value_set})"
            yield Problem(path, f"{said}, and a code is required from this value set", "code-invalid", holder)


@cache
def _pattern(type: str) -> re.Pattern[str]:
    """The pattern of a primitive type. That of `base64Binary` repeats its blanks and could take for ever."""
    known = primitive(type)
    if type == "base64Binary":
        return re.compile(r"(?:[A-Za-z0-9+/]{4}|\s)*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*")
    if type in ("string", "markdown", "xhtml", "code"):
        return re.compile(r"\S+( \S+)*" if type == "code" else r"(?s).*")
    return re.compile(known.pattern if known is not None and known.pattern else r"(?s).*")


def _real(text: str) -> bool:
    try:
        moment(text)
    except UnreadableError:
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) < 100 else text[:100] + "…"


def _fragments(tree: Tree) -> Iterator[tuple[Tree, str, str]]:
    for link in links(tree):
        if link.text.startswith("#"):
            yield link.holder, link.path, link.text
