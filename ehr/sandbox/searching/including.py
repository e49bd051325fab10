"""What is sent along with the hits: `_include`, `_revinclude`, with `:iterate` (or `:recurse`).

Includes are looked up for each page anew, follow the references as they stand, and never repeat a hit of the page.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.parameters.searchparams import program
from ehr.sandbox.searching.criteria import intersect, subtract
from ehr.sandbox.searching.refusals import SearchError, reference_codes
from ehr.sandbox.store.index import IntArray, distinct

__all__ = ["Include", "Name", "all_referred_by", "include_of", "included", "referred_by", "referring_to"]

Name = tuple[str, str]
"""Type and id of a resource."""
MOST = 1000
"""Includes of one page, as HAPI's default has it."""
_BATCH = 128


@dataclass(frozen=True, slots=True)
class Include:
    """One `_include` or `_revinclude`. `*` stands for every type, every parameter, every target."""

    reverse: bool
    iterate: bool
    type: str
    code: str
    target: str


def include_of(name: str, modifier: str, value: str) -> Include | None:
    """Read one `_include` or `_revinclude`; `None` where its value is empty. Raises `SearchError` (400) where it is
    wrong.
    """
    reverse, iterate = name == "_revinclude", modifier in ("iterate", "recurse")
    if not value:
        return None
    if "," in value:
        raise SearchError(
            400, f"HAPI-0441: 'OR' query parameters (values containing ',') are not supported in {name} parameters"
        )
    if value == "*":
        return Include(reverse, iterate, "*", "*", "*")
    type, _, rest = value.partition(":")
    code, _, target = rest.partition(":")
    if not code:
        raise SearchError(400, f'HAPI-2018: Invalid {name} parameter value: "{value}". ')
    if type not in resource_types():
        raise SearchError(
            400, f'HAPI-2017: Invalid {name} parameter value: "{value}". Invalid/unsupported resource type: "{type}"'
        )
    if code != "*" and code not in parameters(type):
        raise SearchError(
            400,
            f'HAPI-2015: Invalid {name} parameter value: "{value}". Unknown search parameter "{code}" for resource '
            f'type "{type}". Valid search parameters for this search are: {reference_codes(type)}',
        )
    if target and target not in resource_types():
        raise SearchError(
            400, f'HAPI-2016: Invalid {name} parameter value: "{value}". Invalid/unsupported resource type: "{target}"'
        )
    return Include(reverse, iterate, "*" if code == "*" and not reverse else type, code, target or "*")


def included(overlay: Overlay, hits: Sequence[Name], includes: Sequence[Include]) -> list[Name]:
    """What the includes add to a page of hits, in the order it is found.

    As at HAPI: `_revinclude` comes first, `_include` follows what it added too, and `_include=Type:*` does not look at
    the type.
    """
    backward = [include for include in includes if include.reverse]
    forward = [include for include in includes if not include.reverse]
    seen = dict.fromkeys(hits)
    frontier: Iterable[Name] = seen
    found: dict[Name, None] = {}
    while frontier and (backward or forward):
        added = _added(overlay, frontier, backward, seen)
        added |= _added(overlay, [*frontier, *added], forward, seen | added)
        found |= added
        if len(found) >= MOST:
            break
        seen |= added
        frontier = added
        backward = [include for include in backward if include.iterate]
        forward = [include for include in forward if include.iterate]
    return list(found)[:MOST]


def _added(
    overlay: Overlay, names: Iterable[Name], includes: Sequence[Include], seen: Container[Name]
) -> dict[Name, None]:
    """What the includes find from some resources and is not seen yet."""
    added: dict[Name, None] = {}
    for include in includes:
        for name in names:
            for other in _followed(overlay, name, include):
                if other not in seen:
                    added[other] = None
                if len(added) >= MOST:
                    return added
    return added


def _followed(overlay: Overlay, name: Name, include: Include) -> Iterator[Name]:
    if include.reverse:
        if include.target in ("*", name[0]):
            yield from referring_to(overlay, name, include.type, include.code)
    elif include.type in ("*", name[0]):
        for other in referred_by(overlay, name, include.code):
            if include.target in ("*", other[0]):
                yield other


def referred_by(overlay: Overlay, name: Name, code: str = "*") -> Iterator[Name]:
    """The resources that one refers to, by a reference parameter or by all (`*`), where they exist."""
    compiled = program(name[0])
    for number, rows in overlay.rows_of(*name).items():
        space = compiled.spaces[number]
        if code not in ("*", space.code) or parameters(name[0])[space.code].kind != "reference":
            continue
        for id, type in rows:
            if type and overlay.exists(type, id):
                yield type, id


def all_referred_by(overlay: Overlay, names: Iterable[Name]) -> list[Name]:
    """What any of many resources refers to, each once: by the columns of the record, not body by body."""
    rows: dict[str, list[int]] = {}
    found: dict[Name, None] = {}
    for name in names:
        row = overlay.base_row(*name)
        if row is None:
            found |= dict.fromkeys(referred_by(overlay, name))
        else:
            rows.setdefault(name[0], []).append(row)
    for type, these in rows.items():
        found |= dict.fromkeys(_by_columns(overlay, type, np.sort(np.array(these, np.int32))))
    return list(found)


def _by_columns(overlay: Overlay, type: str, rows: IntArray) -> Iterator[Name]:
    file = overlay.record.file
    for parameter in parameters(type).values():
        space = overlay.record.index.space(type, parameter.code) if parameter.kind == "reference" else None
        if space is None:
            continue
        sources, targets = space.references()
        start, end = np.searchsorted(sources, rows[0]), np.searchsorted(sources, rows[-1], "right")
        sources, targets = sources[start:end], targets[start:end]
        for target in distinct(np.sort(targets[np.isin(sources, rows)])).tolist():
            if target >= 0:
                name = file.type_of(target), file.id(target)
                if overlay.exists(*name):
                    yield name
        for written in overlay.added():
            if len(intersect(space.exact(written.id, written.type), rows)):
                yield written.type, written.id


def referring_to(overlay: Overlay, name: Name, source: str = "*", code: str = "*") -> Iterator[Name]:
    """The resources that refer to one, of a type or of all (`*`), by a reference parameter or by all."""
    type, id = name
    for one in resource_types() if source == "*" else (source,):
        alive = overlay.alive(one)
        if not len(alive) and not overlay.stretch(one).size:
            continue
        for parameter in parameters(one).values():
            if parameter.kind != "reference" or code not in ("*", parameter.code):
                continue
            stored = overlay.record.index.space(one, parameter.code)
            if stored is not None:
                rows = subtract(stored.exact(id, type), overlay.hidden(one)).tolist()
                for start in range(0, len(rows), _BATCH):  # most askers stop early
                    ids = overlay.record.file.ids(rows[start : start + _BATCH])
                    yield from ((one, other) for other in ids)
            written = overlay.index.space(one, parameter.code) if len(alive) else None
            if written is not None:
                for number in intersect(written.exact(id, type), alive).tolist():
                    yield one, overlay.written(number).id
