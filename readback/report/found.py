"""Where a clinical claim of the answer was seen: the resources in a call's result, with the element marked.

A page of a search holds many resources, of which one supports the answer. So before the result itself stands what was
found in it: that resource, a line for each element that a reader needs, the supporting one marked. Taken from the
stored verdict (its clauses name call, resource and path) and the stored result; nothing is judged here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.trace import Call
from readback.report.allowance import Allowance
from readback.report.marks import Entity, Marked, Piece, take_pieces

_MOST = 4
"""Resources of one call that are shown."""
_LINE, _ELEMENT = 160, 400
"""Characters of an element's line, and of the marked element."""
_LEFT_OUT = frozenset(
    {
        "resourceType", "id", "meta", "text", "identifier", "extension", "subject", "patient", "category", "encounter",
        "performer", "contained", "telecom", "address", "communication",
    }
)  # fmt: skip
_STEP = re.compile(r"([A-Za-z]\w*)(?:\[(\d+)\])?")


def take_found(purse: Allowance, call: Call, entities: Sequence[Entity], most: int) -> Marked | None:
    """The resources of this call that support entities, in about `most` bytes; None where none is named or found."""
    from ehr.verify.claims.evidence import body_of

    named = list(dict.fromkeys((entity.resource, entity.path) for entity in entities if entity.call == call.position))
    body = body_of(call) if any(resource for resource, _ in named) else None
    if not isinstance(body, dict):
        return None
    there = {f"{one.get('resourceType')}/{one.get('id')}": one for one in _resources(body)}
    shown = [(there[resource], path) for resource, path in named if resource in there][:_MOST]
    pieces = [piece for resource, path in shown for piece in _told(resource, path or "")]
    return take_pieces(purse, pieces, sum(len(piece.text) for piece in pieces), most) if pieces else None


def _resources(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The resource itself, or those of a Bundle's entries."""
    entries = body.get("entry") if body.get("resourceType") == "Bundle" else None
    if entries is None:
        yield body
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("resource"), dict):
            yield entry["resource"]


def _told(resource: Mapping[str, Any], path: str) -> Iterator[Piece]:
    """A resource in lines, the element at the path marked."""
    yield Piece(f"{resource.get('resourceType')}/{resource.get('id')}\n")
    first, element = path.partition("[")[0].partition(".")[0], _at(resource, path)
    for name, value in resource.items():
        if name != first and name in _LEFT_OUT:
            continue
        text = _json(value)
        marked = _json(element) if name == first and element is not None else ""
        before, found, after = text.partition(marked) if marked else (text, "", "")
        if not found:
            yield Piece(f"  {name}: {_cut(text, _LINE)}\n")
            continue
        yield Piece(f"  {name}: {_cut(before, _LINE)}")
        yield Piece(_cut(found, _ELEMENT), "pass")
        yield Piece(f"{_cut(after, _LINE)}\n")


def _at(value: Any, path: str) -> Any:
    """The element at a path such as `component[1].valueQuantity`; None where there is none."""
    for part in path.split("."):
        step = _STEP.fullmatch(part)
        value = value.get(step[1]) if step and isinstance(value, dict) else None
        if step and step[2] is not None:
            place = int(step[2])
            value = value[place] if isinstance(value, list) and place < len(value) else None
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
