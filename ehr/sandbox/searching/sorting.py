"""The order of the hits of a search, and the hits as a fixed list.

Keys are numbers: instants, values, or the place of a text among all values of its parameter. Several values of one
resource: ascending the smallest counts, descending the largest. Resources without a value come last, whatever the
direction. Ties, and searches without `_sort`, are in the order of the record's hash (see `storage.py`), writes mixed
in at their place.

Only as much is sorted as is asked for: the first page of 700,000 hits costs a selection, not a sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.definitions import parameters
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.parameters.searchparams import program
from ehr.sandbox.store.index import IntArray, no_rows
from ehr.sandbox.store.texttable import TextTable

__all__ = ["Hits", "Matches", "SortKey", "hits", "sides"]

Floats = NDArray[np.float64]
Kind = Literal["id", "dates", "numbers", "keys"]
_SMALL = 4096
_TABLES = 32
"""Text tables that a record keeps: 8 bytes for each resource of the type."""


class Matches(NamedTuple):
    """Rows that match: of the record, and of the writes over it."""

    base: IntArray
    new: IntArray


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of `_sort`; with a `target`, the key `beyond` of the resource of that type that the reference names."""

    code: str
    kind: Kind
    descending: bool
    target: str = ""
    beyond: str = ""
    beyond_kind: Kind = "keys"


class Hits(Sequence[tuple[str, str]]):
    """The matches of a search in order, as (type, id). Fixed: later writes do not change it."""

    def __init__(self, overlay: Overlay, type: str, matches: Matches, keys: Sequence[SortKey]) -> None:
        self.rows = matches
        """The rows that match, in the order of the record."""
        self._file = overlay.record.file
        self._type = type
        self._written = {number: overlay.written(number) for number in matches.new.tolist()}
        self._entries = _merged(overlay, type, matches)
        some = [key for key in keys if len(self._entries) and _has_values(overlay, type, key)]
        self._numbers = [_Numbers(overlay, type, key, self._entries) for key in some]
        self._order: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, str]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, str] | list[tuple[str, str]]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            wanted = self._first(max(stop, start + 1) if step > 0 else len(self))
            return [self._named(entry) for entry in self._entries[wanted[start:stop:step]].tolist()]
        place = range(len(self))[index]
        return self._named(int(self._entries[self._first(place + 1)[place]]))

    def places(self) -> Places:
        """Where each row stands in the order."""
        order = self._first(len(self))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return Places(self.rows, self._entries, place)

    def _named(self, entry: int) -> tuple[str, str]:
        if entry < 0:
            return self._type, self._written[-entry - 1].id
        return self._type, self._file.id(entry)

    def _first(self, count: int) -> NDArray[np.intp]:
        """The places of at least the first `count` entries, in order."""
        size = len(self._entries)
        if self._order is None and not self._numbers:
            self._order = np.arange(size)
        if self._order is None and (size <= _SMALL or count * 4 > size):
            self._order = self._sorted(np.arange(size))
        if self._order is not None:
            return self._order
        return self._sorted(self._select(np.arange(size), count, 0))

    def _sorted(self, among: NDArray[np.intp]) -> NDArray[np.intp]:
        """Ascending places in the order of all keys."""
        keys = [numbers.of(among) for numbers in reversed(self._numbers)]
        ordered: NDArray[np.intp] = among[np.lexsort(keys)]
        return ordered

    def _select(self, among: NDArray[np.intp], count: int, depth: int) -> NDArray[np.intp]:
        """Of ascending places those that hold the first `count` in order, and few more."""
        if count >= len(among):
            return among
        if depth == len(self._numbers):
            return among[:count]
        key = self._numbers[depth].of(among)
        if key.min() == key.max():
            return self._select(among, count, depth + 1)
        limit = np.partition(key, count - 1)[count - 1]
        sure, tied = among[key < limit], among[key == limit]
        if len(sure) + len(tied) > 2 * count + _SMALL:
            tied = self._select(tied, count - len(sure), depth + 1)
        return np.sort(np.concatenate([sure, tied]))


class Places:
    """The place of each matching row in the order of the hits."""

    def __init__(self, rows: Matches, entries: NDArray[np.int64], place: NDArray[np.int64]) -> None:
        self._rows = rows
        self._base = place[entries >= 0]
        written = entries < 0
        self._new = dict(zip((-1 - entries[written]).tolist(), place[written].tolist(), strict=True))

    def base(self, rows: IntArray) -> NDArray[np.int64]:
        """The places of rows of the record that match."""
        found: NDArray[np.int64] = self._base[np.searchsorted(self._rows.base, rows)]
        return found

    def new(self, rows: IntArray) -> NDArray[np.int64]:
        """The places of writes that match."""
        return np.array([self._new[number] for number in rows.tolist()], np.int64)


def hits(overlay: Overlay, type: str, matches: Matches, keys: Sequence[SortKey]) -> Hits:
    """The matches in order."""
    return Hits(overlay, type, matches, keys)


def _merged(overlay: Overlay, type: str, matches: Matches) -> NDArray[np.int64]:
    """Rows of the record and writes (as -1 - number) in the order of the hash."""
    base = matches.base.astype(np.int64)
    if not len(matches.new):
        return base
    new = sorted((overlay.written(number) for number in matches.new.tolist()), key=lambda one: (one.rank, one.id))
    ranks = np.array([one.rank for one in new], np.uint64)
    rows = overlay.stretch(type).first + np.searchsorted(overlay.record.file.rank(type), ranks)
    places = np.searchsorted(base, rows)
    return np.insert(base, places, [-1 - one.number for one in new])


# ---- keys


def _has_values(overlay: Overlay, type: str, key: SortKey) -> bool:
    """Whether any resource has a value of a key: if none has, it decides nothing."""
    if key.kind == "id":
        return True
    return overlay.record.index.space(type, key.code) is not None or overlay.index.space(type, key.code) is not None


class _Numbers:
    """One key of the hits: the numbers to sort by. Descending keys are negated, no value is infinity."""

    def __init__(self, overlay: Overlay, type: str, key: SortKey, entries: NDArray[np.int64]) -> None:
        self._overlay = overlay
        self._type = type
        self._key = key
        self._entries = entries
        # What a reference names may change with later writes, the values of these rows may not.
        self._all = self._of(entries) if key.target else None

    def of(self, among: NDArray[np.intp]) -> Floats:
        """The numbers of the entries at ascending places."""
        return self._of(self._entries[among]) if self._all is None else self._all[among]

    def _of(self, entries: NDArray[np.int64]) -> Floats:
        written = np.flatnonzero(entries < 0)
        if not len(written):
            matches = Matches(entries.astype(np.int32), no_rows)
            numbers, _ = sides(self._overlay, self._type, matches, self._key)
        else:
            stored = np.flatnonzero(entries >= 0)
            written = written[np.argsort(-entries[written])]  # rows are asked for in their own order
            matches = Matches(entries[stored].astype(np.int32), (-1 - entries[written]).astype(np.int32))
            numbers = np.empty(len(entries))
            numbers[stored], numbers[written] = sides(self._overlay, self._type, matches, self._key)
        return np.where(np.isinf(numbers), np.inf, -numbers) if self._key.descending else numbers


def sides(overlay: Overlay, type: str, matches: Matches, key: SortKey) -> tuple[Floats, Floats]:
    """The numbers to sort by ascending, for the rows of the record and for the writes; infinity without a value."""
    if key.target:
        return _through(overlay, type, matches, key)
    if key.kind == "id":
        return _ids(overlay, type, matches)
    if key.kind == "keys":
        return _texts(overlay, type, matches, key)
    base = _values(overlay.record.index.space(type, key.code), matches.base, key)
    if not len(matches.new):
        return base, np.empty(0)
    return base, _values(overlay.index.space(type, key.code), matches.new, key)


def _values(space: Any, rows: IntArray, key: SortKey) -> Floats:
    """The start of the span, or the number, of each row."""
    if space is None:
        return np.full(len(rows), np.inf)
    columns = space.columns()
    values = columns.start if key.kind == "dates" else columns.value
    if columns.dense and len(rows) and columns.rows[0] <= rows[0] and rows[-1] <= columns.rows[-1]:
        direct: Floats = values[rows - columns.rows[0]].astype(np.float64)
        return direct
    return _reduced(columns.rows, values, rows, key.descending)


def _reduced(column: IntArray, values: NDArray[Any], rows: IntArray, largest: bool) -> Floats:
    """For each of `rows` the smallest (or largest) value of the column, infinity where it has none."""
    result = np.full(len(rows), np.inf)
    if not len(column) or not len(rows):
        return result
    if len(rows) * 8 > len(column):
        return _reduced_at_once(column, values, rows, largest)
    start = np.searchsorted(column, rows, "left")
    count = np.searchsorted(column, rows, "right") - start
    has = count > 0
    if not has.any():
        return result
    if count.max() == 1:
        result[has] = values[start[has]]
        return result
    reduce = np.maximum if largest else np.minimum
    starts, ends = start[has], start[has] + count[has]
    edges = np.stack([starts, ends], 1).ravel()
    padded = np.append(values, values[-1:])
    result[has] = reduce.reduceat(padded, edges)[::2]
    return result


def _reduced_at_once(column: IntArray, values: NDArray[Any], rows: IntArray, largest: bool) -> Floats:
    """The same by a table over the range of the rows: faster where they are many."""
    first, last = int(rows[0]), int(rows[-1])
    begin, end = np.searchsorted(column, [first, last + 1])
    column, values = column[begin:end], values[begin:end]
    table = np.full(last - first + 1, np.inf)
    if len(column):
        starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
        if len(starts) < len(column):
            reduce = np.maximum if largest else np.minimum
            column, values = column[starts], reduce.reduceat(values, starts)
        table[column - first] = values
    found: Floats = table[rows - first]
    return found


def _texts(overlay: Overlay, type: str, matches: Matches, key: SortKey) -> tuple[Floats, Floats]:
    """The place of each row's text among the values of the parameter; those of writes lie between those of the
    record.
    """
    table = _table(overlay, type, key.code)
    written = overlay.index.space(type, key.code) if len(matches.new) else None
    texts: dict[int, tuple[str, str]] = {}
    if written is not None:
        wanted = set(matches.new.tolist())
        for value, qualifier, rows in written.listed():
            text = table.text(value, qualifier)
            for row in rows.tolist():
                if row in wanted:
                    known = texts.get(row)
                    if known is None or (text > known if key.descending else text < known):
                        texts[row] = text
    places = table.places(sorted(set(texts.values())))
    new = np.array([places[texts[row]] if row in texts else np.inf for row in matches.new.tolist()])
    return table.of(matches.base, key.descending), new


def _table(overlay: Overlay, type: str, code: str) -> TextTable:
    record = overlay.record
    table = record.sort_tables.get((type, code))
    if table is None:
        by_qualifier = parameters(type)[code].kind in ("token", "reference")
        table = TextTable(record.index.space(type, code), overlay.stretch(type), by_qualifier)
        record.sort_tables[type, code] = table
        while len(record.sort_tables) > _TABLES:
            record.sort_tables.pop(next(iter(record.sort_tables)), None)
    assert isinstance(table, TextTable)
    return table


def _ids(overlay: Overlay, type: str, matches: Matches) -> tuple[Floats, Floats]:
    """The place of each id among the ids of the record; those of writes between them."""
    file = overlay.record.file
    first, _ = overlay.stretch(type)
    base = file.id_place(type)[matches.base - first].astype(np.float64)
    written = [overlay.written(number).id for number in matches.new.tolist()]
    before = dict(zip(written, file.ids_before(type, written), strict=True))
    order = {id: number for number, id in enumerate(sorted(written), 1)}
    return base, np.array([before[id] - 1 + order[id] / (len(order) + 1) for id in written])


def _through(overlay: Overlay, type: str, matches: Matches, key: SortKey) -> tuple[Floats, Floats]:
    """The key of what a reference names: of each row, the smallest (or largest) of its targets."""
    target, inner = key.target, replace(key, code=key.beyond, target="", beyond="", kind=key.beyond_kind)
    first, size = overlay.stretch(target)
    everything = Matches(np.arange(first, first + size, dtype=np.int32), overlay.alive(target))
    table, written = sides(overlay, target, everything, inner)
    table = table.copy()
    table[overlay.hidden(target) - first] = np.inf
    named = {overlay.written(n).id: value for n, value in zip(everything.new.tolist(), written.tolist(), strict=True)}
    base = np.full(len(matches.base), np.inf)
    space = overlay.record.index.space(type, key.code)
    if space is not None:
        rows, targets = space.references()
        inside = (targets >= first) & (targets < first + size)
        values = table[targets[inside] - first]
        has = np.isfinite(values)
        base = _reduced(rows[inside][has], values[has], matches.base, key.descending)
        for id, value in named.items():
            place = np.searchsorted(matches.base, intersection(space.exact(id, target), matches.base))
            base[place] = better(base[place], value, key.descending)
    new = np.full(len(matches.new), np.inf)
    number = program(type).numbers[key.code, ""]
    for at, one in enumerate(matches.new.tolist()):
        for id, named_type in (overlay.written(one).rows or {}).get(number, ()):
            row = overlay.base_row(target, id) if named_type == target else None
            value = named.get(id, np.inf) if row is None else table[row - first]
            if named_type == target:
                new[at] = better(new[at : at + 1], float(value), key.descending)[0]
    return base, new


def intersection(one: IntArray, other: IntArray) -> IntArray:
    """The rows in both."""
    found: IntArray = np.intersect1d(one, other, assume_unique=True)
    return found


def better(values: Floats, other: float, largest: bool) -> Floats:
    """The smaller (or larger) of two values, where infinity is none."""
    if not largest:
        return np.minimum(values, other)
    return np.where(np.isinf(values), other, values if np.isinf(other) else np.maximum(values, other))
