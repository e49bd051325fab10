"""The record's file: one SQLite file, written once, read by many threads, never changed.

SQLite is the container and the key look-up; no query joins anything, so no query can have a bad plan. Rows are
numbered by type, patient and a hash of the id: a type is one stretch of rows, a patient's resources lie together, and
the order tells nothing about dates. Numbers are little-endian arrays (`<i4`, `<i8`, `<f8`).

    header     key, value: format, version, hash, clock, synthetic, largest_id
    type       name -> first row, count, and for each row the hash it is sorted by and the place of its id among all
    resource   row -> id, body as received
    name       (type, id) -> row
    space      number -> type, code, role, shape (see `index.py`); a component has its composite as `parent`
    posting    (space, value, qualifier) -> start, stop in the column `rows` of the space
    unit       (space, number) -> system, code
    column     (space, name) -> array

The rows of a space lie in one column, posting after posting, in the order that resources are sorted in: tokens and
references by qualifier (system, type), then value; strings and addresses by value. So all values with a prefix, and
all of a system, are one stretch, and the start of a posting is the place of its text among all.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.index import (
    DateColumns,
    IntArray,
    NumberColumns,
    PointColumns,
    distinct,
    is_dense,
    no_rows,
    union,
)

__all__ = [
    "APPLICATION",
    "FORMAT",
    "INDEXES",
    "SCHEMA",
    "VERSION",
    "RecordError",
    "RecordFile",
    "References",
    "StoredIndex",
    "TypeRows",
]

FORMAT = "readback.record"
VERSION = 3
APPLICATION = 0x52424B31
"""SQLite's `application_id` of a record ("RBK1")."""
SCHEMA = """
CREATE TABLE header(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE type(name TEXT PRIMARY KEY, first INTEGER, count INTEGER, rank BLOB, id_place BLOB) WITHOUT ROWID;
CREATE TABLE resource(row INTEGER PRIMARY KEY, id TEXT, body BLOB);
CREATE TABLE name(type TEXT, id TEXT, row INTEGER, PRIMARY KEY(type, id)) WITHOUT ROWID;
CREATE TABLE space(number INTEGER PRIMARY KEY, parent INTEGER, type TEXT, code TEXT, role TEXT, shape TEXT);
CREATE TABLE posting(space INTEGER, value TEXT, qualifier TEXT, start INTEGER, stop INTEGER);
CREATE TABLE unit(space INTEGER, number INTEGER, system TEXT, code TEXT, PRIMARY KEY(space, number)) WITHOUT ROWID;
CREATE TABLE column(space INTEGER, name TEXT, data BLOB, PRIMARY KEY(space, name)) WITHOUT ROWID;
"""
INDEXES = """
CREATE UNIQUE INDEX posting_value ON posting(space, value, qualifier, start, stop);
CREATE UNIQUE INDEX posting_qualifier ON posting(space, qualifier, value, start, stop);
"""
_BATCH = 512


class RecordError(Exception):
    """A record that cannot be read or built. The message is one sentence for the user."""


class TypeRows(NamedTuple):
    """The stretch of rows of one resource type."""

    first: int
    size: int


class References(NamedTuple):
    """What a reference parameter points to: rows, and the row of each target (-1 where it is not in the record)."""

    rows: IntArray
    targets: IntArray


class RecordFile:
    """A record's file, open for reading from any number of threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pool: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        _check(path)
        try:
            self.header: dict[str, Any] = dict(self.all("SELECT key, value FROM header"))
            rows = self.all("SELECT name, first, count FROM type ORDER BY name")
        except RecordError:
            self.close()
            raise
        if self.header.get("format") != FORMAT:
            self.close()
            raise RecordError(f"{str(path)!r} is no record: it says that it is {self.header.get('format')!r}")
        self.types: dict[str, TypeRows] = {name: TypeRows(first, count) for name, first, count in rows}

    def _connection(self) -> sqlite3.Connection:
        """A connection that no other thread uses until it is back in the pool. A forked process starts with none."""
        if os.getpid() != self._process:
            self._pool, self._process = deque(), os.getpid()
        try:
            return self._pool.pop()
        except IndexError:
            address = f"file:{quote(str(self.path.resolve()))}?mode=ro&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            connection.execute("PRAGMA mmap_size=8589934592")
            return connection

    def all(self, query: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Every row of a query."""
        connection = self._connection()
        try:
            return connection.execute(query, arguments).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error
        finally:
            self._pool.append(connection)

    def one(self, query: str, arguments: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """The first row of a query."""
        connection = self._connection()
        try:
            found: tuple[Any, ...] | None = connection.execute(query, arguments).fetchone()
            return found
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error
        finally:
            self._pool.append(connection)

    def _damaged(self, how: str) -> RecordError:
        return RecordError(f"The record {str(self.path)!r} is damaged ({how}); build or import it again")

    def close(self) -> None:
        """Close every connection."""
        while self._pool:
            self._pool.pop().close()

    # ---- resources

    def row(self, type: str, id: str) -> int | None:
        """The row of a resource."""
        found = self.one("SELECT row FROM name WHERE type = ? AND id = ?", (type, id))
        return None if found is None else int(found[0])

    def body(self, row: int) -> bytes:
        """The body of a row."""
        found = self.one("SELECT body FROM resource WHERE row = ?", (row,))
        if found is None:
            raise RecordError(
                f"The record {str(self.path)!r} is damaged (row {row} is missing); build or import it again"
            )
        return bytes(found[0])

    def id(self, row: int) -> str:
        """The id of a row."""
        found = self.one("SELECT id FROM resource WHERE row = ?", (row,))
        return "" if found is None else str(found[0])

    def ids(self, rows: list[int]) -> list[str]:
        """The ids of rows, in their order."""
        connection = self._connection()
        try:
            execute = connection.execute
            query = "SELECT id FROM resource WHERE row = ?"
            return [str(execute(query, (row,)).fetchone()[0]) for row in rows]
        except (sqlite3.DatabaseError, TypeError) as error:
            raise self._damaged(str(error)) from error
        finally:
            self._pool.append(connection)

    def type_of(self, row: int) -> str:
        """The type of a row."""
        return next(name for name, (first, size) in self.types.items() if first <= row < first + size)

    def bodies(self, first: int, count: int) -> Iterator[tuple[str, bytes]]:
        """Id and body of a stretch of rows, in order."""
        for start in range(first, first + count, _BATCH):
            end = min(start + _BATCH, first + count)
            yield from self.all("SELECT id, body FROM resource WHERE row >= ? AND row < ? ORDER BY row", (start, end))

    def rank(self, type: str) -> NDArray[np.uint64]:
        """The hash that a type's rows are sorted by, in row order."""
        found = self.one("SELECT rank FROM type WHERE name = ?", (type,))
        return np.frombuffer(found[0], "<u8") if found else np.empty(0, np.uint64)

    def id_place(self, type: str) -> IntArray:
        """The place of each row's id among the sorted ids of its type, in row order."""
        found = self.one("SELECT id_place FROM type WHERE name = ?", (type,))
        return np.frombuffer(found[0], "<i4") if found else no_rows

    def ids_before(self, type: str, id: str) -> int:
        """How many ids of a type come before this one."""
        found = self.one("SELECT row FROM name WHERE type = ? AND id >= ? ORDER BY id LIMIT 1", (type, id))
        first, size = self.types.get(type, TypeRows(0, 0))
        return size if found is None else int(self.id_place(type)[found[0] - first])

    # ---- arrays

    def column(self, space: int, name: str, dtype: str) -> NDArray[Any] | None:
        """A column of a space; `None` where there is none."""
        found = self.one("SELECT data FROM column WHERE space = ? AND name = ?", (space, name))
        return None if found is None else np.frombuffer(found[0], dtype)


def _check(path: Path) -> None:
    """Whether a file is a whole record of this version, before SQLite looks at it. Raises `RecordError` where not."""
    name = str(path)
    advice = "build one with `readback record build` or import one with `readback record import`"
    if not path.exists():
        raise RecordError(f"There is no record at {name!r}; {advice}")
    if not path.is_file():
        raise RecordError(f"{name!r} is no record but a folder; {advice}")
    try:
        with path.open("rb") as file:
            start = file.read(100)
        size = path.stat().st_size
    except OSError as error:
        raise RecordError(f"The record {name!r} cannot be read: {error.strerror}") from error
    if len(start) < 100 or start[:16] != b"SQLite format 3\0" or int.from_bytes(start[68:72], "big") != APPLICATION:
        raise RecordError(f"{name!r} is no record: it does not begin as one; {advice}")
    version = int.from_bytes(start[60:64], "big")
    if version != VERSION:
        raise RecordError(f"The record {name!r} has format version {version}, this program reads {VERSION}; {advice}")
    page = int.from_bytes(start[16:18], "big")
    whole = int.from_bytes(start[28:32], "big") * (65_536 if page == 1 else page)
    if size != whole:
        raise RecordError(f"The record {name!r} is damaged: it has {size} bytes of {whole}; build or import it again")


# ---- the spaces of a file


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
        query = "SELECT start, stop FROM posting WHERE space = ? AND value = ?"
        if qualifier is None:
            return self._union(self._file.all(query, (self._number, value)))
        return self._union(self._file.all(query + " AND qualifier = ?", (self._number, value, qualifier)))

    def starting(self, prefix: str) -> IntArray:
        first = self._file.one(_FIRST_VALUE, (self._number, prefix, prefix + "\U0010ffff"))
        last = self._file.one(_LAST_VALUE, (self._number, prefix, prefix + "\U0010ffff"))
        return self._stretch_of(first, last)

    def where(self, wanted: Callable[[str], bool]) -> IntArray:
        starts = self._file.column(self._number, "starts", "<i4")
        if starts is None or self._text() is None:
            return no_rows
        found = np.array([wanted(value) for value in self._text() or ()])
        lengths = np.diff(starts, append=np.int32(len(self._all())))
        return _merged(self._all()[np.repeat(found, lengths)])

    def qualified(self, qualifier: str) -> IntArray:
        first = self._file.one(_FIRST_OF_QUALIFIER, (self._number, qualifier))
        last = self._file.one(_LAST_OF_QUALIFIER, (self._number, qualifier))
        return self._stretch_of(first, last)

    def present(self) -> IntArray:
        if self._present is None:
            stored = self._file.column(self._number, "present", "<i4")
            first, count = self._stretch
            self._present = np.arange(first, first + count, dtype=np.int32) if stored is None else stored
        return self._present

    def listed(self) -> Iterator[tuple[str, str, IntArray]]:
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
