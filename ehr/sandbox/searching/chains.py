"""Searching through references: chains (`patient.name=x`) and their reverse (`_has:Observation:patient:code=x`).

What the other end must have is searched first, as any search over record and writes; then the references decide. A
reference names a type and an id: it holds whether its target comes from the record or from a write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ehr.sandbox.definitions import Parameter, parameters, resource_types
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.parameters.searchparams import program
from ehr.sandbox.searching.criteria import Criterion, Side, intersect
from ehr.sandbox.searching.refusals import SearchError, known
from ehr.sandbox.searching.sorting import Matches
from ehr.sandbox.store.index import IntArray, distinct, no_rows, union

__all__ = ["Ids", "Referred", "Referring", "chained", "reversed_chain"]

Search = Callable[[str, str, str], Matches]
"""Type, name and value of one parameter -> what matches."""
LONGEST_CHAIN = 16
_FEW = 64


@dataclass(frozen=True, slots=True)
class Ids:
    """One of the ids."""

    overlay: Overlay
    type: str
    ids: tuple[str, ...]
    cost: int = 0

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        found = []
        for text in self.ids:
            id = text.removeprefix(f"{self.type}/")
            if side.base:
                row = self.overlay.base_row(self.type, id)
            else:
                written = self.overlay.find(self.type, id)
                row = None if written is None else written.number
            if row is not None:
                found.append(row)
        return intersect(distinct(np.sort(np.array(found, np.int32))), within)


# ---- forward


def chained(overlay: Overlay, type: str, head: str, rest: str, value: str, search: Search) -> Criterion:
    """The criterion of `head.rest=value`, where `head` may name the type of the target (`subject:Patient`).

    Raises `SearchError` for a chain that no target can take.
    """
    code, _, asked = head.partition(":")
    parameter = known(type, code)
    if parameter.kind != "reference":
        raise SearchError(
            400,
            f'HAPI-1935: Invalid search parameter "{code}.{rest}". Parameter contains a chain (.{rest}) and chains are '
            "not supported for this parameter (chaining is only allowed on reference parameters)",
        )
    if asked and asked not in resource_types():
        raise SearchError(400, f'HAPI-1250: Invalid/unsupported resource type: "{asked}"')
    if rest.count(".") >= LONGEST_CHAIN:
        raise SearchError(400, f"HAPI-1243: Invalid parameter chain: {code}.{rest} has more than {LONGEST_CHAIN} steps")
    found: dict[str, Matches] = {}
    for target in [asked] if asked else _targets(parameter):
        if _takes(target, rest):
            with suppress(_NoChainError):  # another target may take what is further on
                found[target] = search(target, rest, value)
    if not found:
        raise _NoChainError(400, f"HAPI-1243: Invalid parameter chain: {code}.{rest}")
    return Referring(overlay, code, found)


class _NoChainError(SearchError):
    """A chain that no target can take."""


def _targets(parameter: Parameter) -> tuple[str, ...]:
    return resource_types() if parameter.targets == ("*",) else parameter.targets


def _takes(type: str, name: str) -> bool:
    """Whether a type has the parameter that a chain goes on with, and it may go on further if the chain does."""
    head, dot, _ = name.partition(".")
    code = head.partition(":")[0]
    found = parameters(type).get(code)
    return code.startswith("_") or (found is not None and (not dot or found.kind == "reference"))


@dataclass(frozen=True, slots=True)
class Referring:
    """Resources with a reference to one that matches."""

    overlay: Overlay
    code: str
    targets: Mapping[str, Matches]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code)
        if space is None:
            return no_rows
        if not side.base:
            wanted = [key for key in space.postings if self._matches(key[1], key[0])]
            return intersect(union([space.exact(id, type) for id, type in wanted]), within)
        found = [
            space.exact(self.overlay.written(n).id, type) for type, m in self.targets.items() for n in m.new.tolist()
        ]
        base = union([matches.base for matches in self.targets.values()])
        if len(base) <= _FEW:
            names = [(type, row) for type, m in self.targets.items() for row in m.base.tolist()]
            found += [space.exact(self.overlay.record.file.id(row), type) for type, row in names]
        else:
            rows, targets = space.references()
            if within is not None and len(within) * 8 < len(rows):
                places = np.flatnonzero(np.isin(rows, within))
                rows, targets = rows[places], targets[places]
            found.append(distinct(rows[_among(targets, base)]))
        return intersect(union(found), within)

    def _matches(self, type: str, id: str) -> bool:
        matches = self.targets.get(type)
        return matches is not None and holds(self.overlay, type, id, matches)


def holds(overlay: Overlay, type: str, id: str, matches: Matches) -> bool:
    """Whether the resource that a reference names is among the matches of its type."""
    written = overlay.find(type, id)
    row = overlay.base_row(type, id) if written is None else written.number
    rows = matches.base if written is None else matches.new
    if row is None or not len(rows):
        return False
    place = int(np.searchsorted(rows, row))
    return place < len(rows) and int(rows[place]) == row


def _among(values: IntArray, rows: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values are among sorted rows. Values of -1 are not."""
    table = np.zeros(int(rows[-1]) + 2, np.bool_)
    table[rows] = True
    within: np.ndarray[tuple[int], np.dtype[np.bool_]] = table[np.minimum(values, len(table) - 1)] & (values >= 0)
    return within


# ---- backward


def reversed_chain(overlay: Overlay, name: str, value: str, search: Search) -> Criterion:
    """The criterion of `_has:Source:reference:parameter=value`; `name` is what stands left of the equals sign."""
    parts = name.split(":", 3)
    if len(parts) < 4:
        shown = name.removeprefix("_has") or "_has"
        raise SearchError(400, f"HAPI-1942: Invalid _has parameter syntax: {shown}")
    _, source, code, rest = parts
    if source not in resource_types():
        raise SearchError(400, f"HAPI-1208: Invalid resource type: {source}")
    reference = parameters(source).get(code)
    if reference is None or reference.kind != "reference":
        raise SearchError(400, f"HAPI-1209: Unknown parameter name: {source}:{code}")
    if rest.count("_has:") >= LONGEST_CHAIN:
        raise SearchError(400, f"HAPI-1942: Invalid _has parameter syntax: more than {LONGEST_CHAIN} steps")
    plain = rest.partition(".")[0]
    if not rest.startswith("_has:") and (":" in plain or not _takes(source, rest)):
        raise SearchError(400, f"HAPI-1209: Unknown parameter name: {source}:{plain}")
    return Referred(overlay, source, code, search(source, rest, value))


@dataclass(frozen=True, slots=True)
class Referred:
    """Resources that a match refers to."""

    overlay: Overlay
    source: str
    code: str
    matches: Matches
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        found = self._base(side.type) if side.base else self._new(side.type)
        return intersect(distinct(np.sort(np.array(found, np.int32))), within)

    def _base(self, type: str) -> list[int]:
        """Rows of the record."""
        first, size = self.overlay.stretch(type)
        found: list[int] = []
        space = self.overlay.record.index.space(self.source, self.code)
        if space is not None and len(self.matches.base):
            rows, targets = space.references()
            hit = targets[_among(rows, self.matches.base)]
            table = np.zeros(size, np.bool_)
            table[hit[(hit >= first) & (hit < first + size)] - first] = True
            found += (np.flatnonzero(table) + first).tolist()
        for id in self._named_by_writes(type):
            row = self.overlay.base_row(type, id)
            if row is not None:
                found.append(row)
        return found

    def _new(self, type: str) -> list[int]:
        """Numbers of writes."""
        named = set(self._named_by_writes(type))
        space = self.overlay.record.index.space(self.source, self.code)
        found: list[int] = []
        for number in self.overlay.alive(type).tolist():
            id = self.overlay.written(number).id
            base = space.exact(id, type) if space is not None and len(self.matches.base) else no_rows
            if id in named or len(intersect(base, self.matches.base)):
                found.append(number)
        return found

    def _named_by_writes(self, type: str) -> Iterator[str]:
        """The ids of a type that writes among the matches refer to."""
        space = program(self.source).numbers[self.code, ""]
        for number in self.matches.new.tolist():
            for id, target in (self.overlay.written(number).rows or {}).get(space, ()):
                if target == type:
                    yield id
