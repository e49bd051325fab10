"""The index of a record's file: the same questions as `index.py` asks, answered from its columns.

A column is read when it is first asked for, and kept. Arrays are shared by all who ask: they are not to be written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.store.index import (
    DateColumns,
    IntArray,
    NumberColumns,
    PointColumns,
    distinct,
    is_dense,
    no_rows,
    union,
)
from ehr.sandbox.store.storage import RecordError, RecordFile, References, TypeRows

__all__ = ["StoredIndex", "StoredKeys"]


class StoredKeys:
    """Posting lists in the file."""

    def __init__(self, file: RecordFile, number: int, rows: TypeRows) -> None:
        self._file = file
        self._number = number
        self._stretch = rows
        self._rows: IntArray | None = None
        self._present: IntArray | None = None
        self._references: References | None = None
        self._values: list[str] | None = None

    def exact(self, value: str, qualifier: str | None) -> IntArray:
        """See `index.Keys`."""
        query = "SELECT start, stop FROM posting WHERE space = ? AND value = ?"
        if qualifier is None:
            return self._union(self._file.all(query, (self._number, value)))
        return self._union(self._file.all(query + " AND qualifier = ?", (self._number, value, qualifier)))

    def starting(self, prefix: str) -> IntArray:
        """See `index.Keys`."""
        first = self._file.one(_FIRST_VALUE, (self._number, prefix, prefix + "\U0010ffff"))
        last = self._file.one(_LAST_VALUE, (self._number, prefix, prefix + "\U0010ffff"))
        return self._stretch_of(first, last)

    def where(self, wanted: Callable[[str], bool]) -> IntArray:
        """See `index.Keys`."""
        starts = self._file.column(self._number, "starts", "<i4")
        if starts is None or self._text() is None:
            return no_rows
        found = np.array([wanted(value) for value in self._text() or ()])
        lengths = np.diff(starts, append=np.int32(len(self._all())))
        return _merged(self._all()[np.repeat(found, lengths)])

    def qualified(self, qualifier: str) -> IntArray:
        """See `index.Keys`."""
        first = self._file.one(_FIRST_OF_QUALIFIER, (self._number, qualifier))
        last = self._file.one(_LAST_OF_QUALIFIER, (self._number, qualifier))
        return self._stretch_of(first, last)

    def present(self) -> IntArray:
        """See `index.Keys`."""
        if self._present is None:
            stored = self._file.column(self._number, "present", "<i4")
            first, count = self._stretch
            self._present = np.arange(first, first + count, dtype=np.int32) if stored is None else stored
        return self._present

    def listed(self) -> Iterator[tuple[str, str, IntArray]]:
        """See `index.Keys`."""
        query = "SELECT value, qualifier, start, stop FROM posting WHERE space = ? ORDER BY value, qualifier"
        for value, qualifier, start, stop in self._file.all(query, (self._number,)):
            yield value, qualifier, self._all()[start:stop]

    def references(self) -> References:
        """Where the references of this space point to, sorted by row."""
        if self._references is None:
            rows = self._file.column(self._number, "sources", "<i4")
            targets = self._file.column(self._number, "targets", "<i4")
            first, count = self._stretch
            if rows is None and targets is not None:
                rows = np.arange(first, first + count, dtype=np.int32)
            self._references = References(no_rows if rows is None else rows, no_rows if targets is None else targets)
        return self._references

    # ---- for sorting

    def texts(self) -> tuple[IntArray, IntArray]:
        """Rows, and the place of the text of each among all texts: ascending, a row once for each of its texts."""
        starts = self._file.column(self._number, "starts", "<i4")
        rows = self._all()
        if starts is None:
            return no_rows, no_rows
        lengths = np.diff(starts, append=np.int32(len(rows)))
        return rows, np.repeat(starts, lengths)

    def place(self, value: str, qualifier: str | None) -> tuple[int, bool]:
        """The place of a text (with its qualifier, or by its value alone) among all, and whether it is there."""
        if qualifier is None:
            query = "SELECT start, value = ? FROM posting WHERE space = ? AND value >= ? ORDER BY value, start LIMIT 1"
            found = self._file.one(query, (value, self._number, value))
        else:
            query = """SELECT start, value = ? AND qualifier = ? FROM posting
                       WHERE space = ? AND (qualifier, value) >= (?, ?) ORDER BY qualifier, value LIMIT 1"""
            found = self._file.one(query, (value, qualifier, self._number, qualifier, value))
        return (len(self._all()), False) if found is None else (int(found[0]), bool(found[1]))

    # ---- the column

    def _all(self) -> IntArray:
        if self._rows is None:
            stored = self._file.column(self._number, "rows", "<i4")
            self._rows = no_rows if stored is None else stored
        return self._rows

    def _union(self, stretches: list[tuple[Any, ...]]) -> IntArray:
        rows = self._all()
        return union([rows[start:stop] for start, stop in stretches])

    def _text(self) -> list[str] | None:
        """Every value once, in order; only strings and addresses have them."""
        if self._values is None:
            stored = self._file.column(self._number, "text", "u1")
            self._values = None if stored is None else stored.tobytes().decode().split("\0")
        return self._values

    def _stretch_of(self, first: tuple[Any, ...] | None, last: tuple[Any, ...] | None) -> IntArray:
        """The rows of many postings that lie one after another."""
        return no_rows if first is None or last is None else _merged(self._all()[first[0] : last[0]])


_VALUE = "FROM posting WHERE space = ? AND value >= ? AND value < ? ORDER BY value {0}, qualifier {0} LIMIT 1"
_FIRST_VALUE = f"SELECT start {_VALUE.format('ASC')}"
_LAST_VALUE = f"SELECT stop {_VALUE.format('DESC')}"
_QUALIFIER = "FROM posting WHERE space = ? AND qualifier = ? ORDER BY value {0} LIMIT 1"
_FIRST_OF_QUALIFIER = f"SELECT start {_QUALIFIER.format('ASC')}"
_LAST_OF_QUALIFIER = f"SELECT stop {_QUALIFIER.format('DESC')}"


def _merged(rows: IntArray) -> IntArray:
    """Rows of many postings, sorted and each once."""
    if not len(rows):
        return no_rows
    first, width = int(rows.min()), int(rows.max()) - int(rows.min()) + 1
    if width > 64 * len(rows):
        return distinct(np.sort(rows))
    table = np.zeros(width, np.bool_)
    table[rows - first] = True
    return (np.flatnonzero(table) + first).astype(np.int32)


class _StoredColumns:
    """Columns in the file, read when first asked for."""

    def __init__(self, file: RecordFile, number: int, rows: TypeRows) -> None:
        self._file = file
        self._number = number
        self._stretch = rows

    def _rows(self) -> IntArray:
        stored = self._file.column(self._number, "rows", "<i4")
        first, count = self._stretch
        return np.arange(first, first + count, dtype=np.int32) if stored is None else stored

    def _column(self, name: str, dtype: str) -> NDArray[Any]:
        stored = self._file.column(self._number, name, dtype)
        if stored is None:
            raise RecordError(f"The record {str(self._file.path)!r} is damaged (a column is missing); build it again")
        return stored


class StoredDates(_StoredColumns):
    """Spans in the file."""

    _columns: DateColumns | None = None

    def columns(self) -> DateColumns:
        if self._columns is None:
            rows = self._rows()
            self._columns = DateColumns(
                is_dense(rows),
                rows,
                self._column("start", "<i8"),
                self._column("end", "<i8"),
                self._column("first_day", "<i4"),
                self._column("last_day", "<i4"),
            )
        return self._columns


class StoredNumbers(_StoredColumns):
    """Numbers in the file."""

    _columns: NumberColumns | None = None
    _units: list[tuple[str, str]] | None = None

    @property
    def units(self) -> list[tuple[str, str]]:
        if self._units is None:
            query = "SELECT system, code FROM unit WHERE space = ? ORDER BY number"
            self._units = [(system, code) for system, code in self._file.all(query, (self._number,))]
        return self._units

    def columns(self) -> NumberColumns:
        if self._columns is None:
            rows = self._rows()
            value, unit = self._column("value", "<f8"), self._column("unit", "<i4")
            self._columns = NumberColumns(is_dense(rows), rows, value, unit)
        return self._columns


class StoredPoints(_StoredColumns):
    """Places in the file."""

    def columns(self) -> PointColumns:
        rows = self._rows()
        return PointColumns(is_dense(rows), rows, self._column("latitude", "<f8"), self._column("longitude", "<f8"))


class StoredItems:
    """A composite's items in the file."""

    def __init__(self, file: RecordFile, number: int, parts: list[Any]) -> None:
        self._file = file
        self._number = number
        self.parts = parts
        self._owners: IntArray | None = None

    def owners(self) -> IntArray:
        if self._owners is None:
            stored = self._file.column(self._number, "owners", "<i4")
            self._owners = no_rows if stored is None else stored
        return self._owners


_STORED: dict[str, Any] = {
    "keys": StoredKeys,
    "dates": StoredDates,
    "numbers": StoredNumbers,
    "points": StoredPoints,
}


class StoredIndex:
    """All spaces of a record's file."""

    def __init__(self, file: RecordFile) -> None:
        self._spaces: dict[tuple[str, str, str], Any] = {}
        query = "SELECT number, parent, type, code, role, shape FROM space ORDER BY number"
        described = file.all(query)
        parts: dict[int, list[tuple[int, str]]] = {}
        for number, parent, _, _, _, shape in described:
            if parent is not None:
                parts.setdefault(parent, []).append((number, shape))
        for number, parent, type, code, role, shape in described:
            if parent is None:
                stretch = file.types[type]
                self._spaces[type, code, role] = (
                    StoredItems(file, number, [_STORED[s](file, n, TypeRows(0, 0)) for n, s in parts[number]])
                    if shape == "items"
                    else _STORED[shape](file, number, stretch)
                )

    def space(self, type: str, code: str, role: str = "") -> Any:
        """See `index.Index`."""
        return self._spaces.get((type, code, role))
