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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.store.index import (
    IntArray,
    no_rows,
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
_HEADER = ("hash", "clock", "synthetic", "largest_id")


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
        self._place = path.resolve()  # an agent's program may change the working folder
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
        lacking = [key for key in _HEADER if key not in self.header]
        if lacking:
            self.close()
            raise self._damaged(f"its header lacks {lacking[0]}")
        self.types: dict[str, TypeRows] = {name: TypeRows(first, count) for name, first, count in rows}

    def _connection(self) -> sqlite3.Connection:
        """A connection that no other thread uses until it is back in the pool. A forked process starts with none."""
        if os.getpid() != self._process:
            self._pool, self._process = deque(), os.getpid()
        try:
            return self._pool.pop()
        except IndexError:
            address = f"file:{quote(str(self._place))}?mode=ro&immutable=1"
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

    def ids_before(self, type: str, ids: Iterable[str]) -> list[int]:
        """How many ids of a type come before each of these."""
        first, size = self.types.get(type, TypeRows(0, 0))
        query, place = "SELECT row FROM name WHERE type = ? AND id >= ? ORDER BY id LIMIT 1", self.id_place(type)
        found = (self.one(query, (type, id)) for id in ids)
        return [size if one is None else int(place[one[0] - first]) for one in found]

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
    if path.is_dir():
        raise RecordError(f"{name!r} is no record but a folder; {advice}")
    if not path.is_file():
        raise RecordError(f"{name!r} is no record: it is no ordinary file; {advice}")
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
