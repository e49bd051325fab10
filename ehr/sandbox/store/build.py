"""Building a record's file: resources come in any order, are indexed in memory, and are written in the order of the
file.

Bodies wait in a temporary file meanwhile, so that memory holds the index only. The finished file appears at once,
whole, under its name.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.parameters.searchparams import Rows, program
from ehr.sandbox.parameters.values import stored_date
from ehr.sandbox.store.index import IntArray, MemoryIndex, is_dense
from ehr.sandbox.store.storage import APPLICATION, FORMAT, INDEXES, SCHEMA, VERSION, RecordError

__all__ = ["ID", "Progress", "build", "encoded", "rank"]

Progress = Callable[[str, int, int | None], None]
"""Called now and then with what is done (`reading`, `writing`), how many resources so far, and of how many if known."""

ID = re.compile(r"[A-Za-z0-9\-.]{1,64}", re.ASCII)
_EVERY = 1000


def encoded(resource: dict[str, Any]) -> bytes:
    """A resource as JSON bytes; a `Decimal` keeps its digits."""
    return orjson.dumps(resource, default=_written)


def _written(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError(f"{value!r} has no JSON")


def _kind(type: str, code: str, role: str) -> str:
    """The kind of values in a space of keys: of the parameter, of a component, or text."""
    parameter = parameters(type)[code]
    if role.isdigit():
        return parameter.components[int(role)].kind
    return "string" if role == "text" else parameter.kind


def rank(type: str, id: str, rows: dict[int, Rows]) -> int:
    """The number a type's resources are sorted by: a hash of the patient, then one of the id. It tells nothing of
    dates.
    """
    patient = id if type == "Patient" else program(type).patient(rows)
    return zlib.crc32(patient.encode()) << 32 | zlib.crc32(id.encode())


def build(
    resources: Iterable[bytes | dict[str, Any]],
    path: Path,
    *,
    clock: str,
    synthetic: bool,
    progress: Progress | None = None,
) -> None:
    """Write the record of these resources to `path`. Nothing is left behind where something is wrong.

    Raises `RecordError` where a resource is none, has no valid id, or comes twice, and where the disk does not take it.
    """
    try:
        with tempfile.TemporaryFile(dir=path.parent) as bodies:
            builder = _Builder(bodies, clock)
            for number, resource in enumerate(resources, 1):
                builder.add(number, resource)
                if progress and number % _EVERY == 0:
                    progress("reading", number, None)
            builder.write(path, clock, synthetic, progress)
    except OSError as error:
        raise RecordError(f"The record {str(path)!r} cannot be written: {error.strerror or error}") from error


class _Builder:
    """Resources on their way into a file."""

    def __init__(self, bodies: Any, clock: str) -> None:
        self._bodies = bodies
        self._offsets = array("q", (0,))
        self._types: dict[str, int] = {}
        self._type = array("h")
        self._ids: list[bytes] = []
        self._ranks = array("Q")
        self._digests = bytearray()
        self._index = MemoryIndex(updated=stored_date(clock))

    def add(self, number: int, resource: bytes | dict[str, Any]) -> None:
        """Take a resource; `number` counts from 1 and is for messages only."""
        try:
            body = encoded(resource) if isinstance(resource, dict) else resource
            parsed = orjson.loads(body)
        except (orjson.JSONDecodeError, TypeError) as error:
            raise RecordError(f"Resource {number} is no JSON ({error})") from None
        type, id = checked(parsed, f"Resource {number}")
        row = len(self._type)
        rows = self._index.add(row, parsed)
        self._bodies.write(body)
        self._offsets.append(self._offsets[-1] + len(body))
        self._type.append(self._types.setdefault(type, len(self._types)))
        self._ids.append(id.encode())
        self._ranks.append(rank(type, id, rows))
        self._digests += hashlib.sha256(body).digest()

    def write(self, path: Path, clock: str, synthetic: bool, progress: Progress | None) -> None:
        """Write everything to a file beside `path`, then give it its name."""
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        try:
            connection = sqlite3.connect(name, isolation_level=None)
            try:
                _Writer(connection, self).write(clock, synthetic, progress)
            finally:
                connection.close()
            Path(name).chmod(0o644)
            with Path(name).open("rb") as written:
                os.fsync(written.fileno())
            Path(name).replace(path)
        except sqlite3.Error as error:
            raise RecordError(f"The record {str(path)!r} cannot be written: {error}") from error
        finally:
            Path(name).unlink(missing_ok=True)


def checked(resource: Any, what: str) -> tuple[str, str]:
    """Type and id of a parsed resource. Raises `RecordError`, which begins with `what`, where it has none that are
    valid.
    """
    if not isinstance(resource, dict):
        raise RecordError(f"{what} is no resource: it is not a JSON object")
    type, id = resource.get("resourceType"), resource.get("id")
    if type not in resource_types():
        why = "it has no resourceType" if type is None else f"resourceType is {type!r}"
        raise RecordError(f"{what} is no FHIR R4 resource: {why}")
    if not isinstance(id, str) or ID.fullmatch(id) is None:
        raise RecordError(f"{what} ({type}) has no valid id: {id!r}, which must be 1 to 64 letters, digits, '-' or '.'")
    return str(type), id


class _Writer:
    """One pass that writes the tables."""

    def __init__(self, connection: sqlite3.Connection, builder: _Builder) -> None:
        self._db = connection
        self._from = builder
        self._names = sorted(builder._types)
        self._number = 0
        self._first: dict[str, int] = {}
        self._by_id: dict[str, tuple[NDArray[np.bytes_], IntArray]] = {}
        """Type -> ids sorted, and the row of each."""
        self._arrived = np.empty(0, np.int64)
        """Row -> when it arrived."""
        self._row = np.empty(0, np.int32)
        """When it arrived -> row."""

    def write(self, clock: str, synthetic: bool, progress: Progress | None) -> None:
        db = self._db
        db.executescript(
            f"""PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size =
            -32000; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};{SCHEMA}"""
        )
        db.execute("BEGIN")
        self._sort()
        db.executemany("INSERT INTO resource VALUES (?, ?, ?)", self._resources(progress))
        for type in self._names:
            names = ((type, id.decode(), row) for id, row in self._named(type))
            db.executemany("INSERT INTO name VALUES (?, ?, ?)", names)
        for type, code, role, space in self._from._index.drained():
            self._space(type, code, role, space)
            del space
        db.execute("COMMIT")
        db.executescript(INDEXES)
        db.execute("BEGIN")
        self._header(clock, synthetic)
        db.execute("COMMIT")

    def _sort(self) -> None:
        """Number the rows. Raises `RecordError` for two resources of one type and id."""
        source = self._from
        types = np.frombuffer(source._type, np.int16)
        ranks = np.frombuffer(source._ranks, np.uint64)
        arrived: list[NDArray[np.int64]] = []
        first = 0
        for name in self._names:
            places = np.flatnonzero(types == source._types[name])
            ids = np.array([source._ids[i] for i in places.tolist()])
            by_id = np.argsort(ids, kind="stable")
            twice = np.flatnonzero(ids[by_id][1:] == ids[by_id][:-1])
            if len(twice):
                raise RecordError(f"Two resources are {name}/{ids[by_id][twice[0]].decode()}; each must be there once")
            place_in_ids = np.empty(len(ids), np.int64)
            place_in_ids[by_id] = np.arange(len(ids))
            order = np.lexsort((place_in_ids, ranks[places]))
            row = np.empty(len(ids), np.int32)
            row[order] = np.arange(first, first + len(ids))
            self._by_id[name] = (ids[by_id], row[by_id])
            self._first[name] = first
            rank = ranks[places][order].astype("<u8").tobytes()
            id_place = place_in_ids[order].astype("<i4").tobytes()
            self._db.execute("INSERT INTO type VALUES (?, ?, ?, ?, ?)", (name, first, len(ids), rank, id_place))
            arrived.append(places[order])
            first += len(ids)
        self._arrived = np.concatenate(arrived) if arrived else self._arrived
        self._row = np.empty(first, np.int32)
        self._row[self._arrived] = np.arange(first, dtype=np.int32)

    def _resources(self, progress: Progress | None) -> Iterator[tuple[int, str, bytes]]:
        source = self._from
        total = len(self._arrived)
        if not total:
            return
        source._bodies.flush()
        bodies, offsets = source._bodies, source._offsets
        for row in range(total):
            place = int(self._arrived[row])
            bodies.seek(offsets[place])
            yield row, source._ids[place].decode(), bodies.read(offsets[place + 1] - offsets[place])
            if progress and (row + 1) % _EVERY == 0:
                progress("writing", row + 1, total)

    def _named(self, type: str) -> Iterator[tuple[bytes, int]]:
        """The ids of a type in order, each with its row."""
        ids, rows = self._by_id[type]
        for start in range(0, len(ids), _EVERY):
            yield from zip(ids[start : start + _EVERY].tolist(), rows[start : start + _EVERY].tolist(), strict=True)

    def _header(self, clock: str, synthetic: bool) -> None:
        content = hashlib.sha256()
        largest = 0
        for type in self._names:
            for id, row in self._named(type):
                place = int(self._arrived[row])
                content.update(b"%s/%s\0%s" % (type.encode(), id, self._from._digests[place * 32 : place * 32 + 32]))
                if id.isdigit():
                    largest = max(largest, int(id))
        content.update(clock.encode())
        header = {
            "format": FORMAT,
            "version": VERSION,
            "hash": "sha256:" + content.hexdigest(),
            "clock": clock,
            "synthetic": int(synthetic),
            "largest_id": str(largest),
        }
        self._db.executemany("INSERT INTO header VALUES (?, ?)", header.items())

    # ---- spaces

    def _space(self, type: str, code: str, role: str, space: Any) -> None:
        parent = self._describe(None, type, code, role, space)
        if space.shape != "items":
            self._contents(parent, type, code, role, space, self._row)
            return
        owners = self._row[space.owners()]
        order = np.argsort(owners, kind="stable")
        self._column(parent, "owners", owners[order])
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        for place, part in enumerate(space.parts):
            self._contents(self._describe(parent, type, code, str(place), part), type, code, str(place), part, number)

    def _describe(self, parent: int | None, type: str, code: str, role: str, space: Any) -> int:
        self._number += 1
        row = (self._number, parent, type, code, role, space.shape)
        self._db.execute("INSERT INTO space VALUES (?, ?, ?, ?, ?, ?)", row)
        return self._number

    def _contents(self, number: int, type: str, code: str, role: str, space: Any, renumbered: IntArray) -> None:
        """Write a space, its rows (or item numbers) renumbered."""
        if space.shape == "keys":
            present = np.sort(renumbered[space.present()])
            if role.isdigit() or len(present) != self._count(type):
                self._column(number, "present", present)
            kind = _kind(type, code, role)
            if kind == "reference" and not role:
                self._references(number, type, space)
            self._keys(number, space, renumbered, kind in ("token", "reference"))
            return
        columns = space.columns()
        rows = renumbered[columns.rows]
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        if role.isdigit() or len(rows) != self._count(type) or not is_dense(rows):
            self._column(number, "rows", rows)
        columns = columns._asdict()
        if space.shape == "numbers":
            columns["unit"] = self._units(number, space.units)[columns["unit"]]
        for name, column in columns.items():
            if name not in ("rows", "dense"):
                self._column(number, name, column[order])

    def _units(self, number: int, units: list[tuple[str, str]]) -> IntArray:
        """Write the units in order; the new number of each."""
        ordered = sorted(units)
        listed = ((number, place, system, code) for place, (system, code) in enumerate(ordered))
        self._db.executemany("INSERT INTO unit VALUES (?, ?, ?, ?)", listed)
        place = {unit: n for n, unit in enumerate(ordered)}
        return np.array([place[unit] for unit in units], np.int32)

    def _keys(self, number: int, space: Any, renumbered: IntArray, by_qualifier: bool) -> None:
        """Write posting lists, one after another in the order that resources are sorted in."""
        postings = space.postings
        order = sorted(postings, key=itemgetter(1, 0)) if by_qualifier else sorted(postings)
        lists: list[IntArray] = []
        starts = array("i")
        texts: list[str] = []
        stop, text = 0, None

        def placed() -> Iterator[tuple[int, str, str, int, int]]:
            nonlocal stop, text
            for key in order:
                rows = np.sort(renumbered[np.frombuffer(postings.pop(key), np.int32)])
                lists.append(rows)
                if text is None or by_qualifier or key[0] != text:
                    starts.append(stop)
                    if not by_qualifier:
                        texts.append(key[0].replace("\0", " "))
                text, start, stop = key[0], stop, stop + len(rows)
                yield number, key[0], key[1], start, stop

        self._db.executemany("INSERT INTO posting VALUES (?, ?, ?, ?, ?)", placed())
        self._column(number, "rows", np.concatenate(lists))
        self._column(number, "starts", np.array(starts, np.int32))
        if texts:
            self._column(number, "text", np.frombuffer("\0".join(texts).encode(), np.uint8))

    def _references(self, number: int, type: str, space: Any) -> None:
        """The rows of a reference parameter with the row of each target, for chains and includes."""
        by_type: dict[str, list[tuple[bytes, Any]]] = {}
        for (id, target), rows in space.postings.items():
            by_type.setdefault(target, []).append((id.encode(), rows))
        rows_of: list[IntArray] = []
        targets: list[IntArray] = []
        for target, found in by_type.items():
            lengths = [len(rows) for _, rows in found]
            rows_of.append(self._row[np.concatenate([np.frombuffer(rows, np.int32) for _, rows in found])])
            targets.append(np.repeat(self._targets(target, [id for id, _ in found]), lengths))
        row, to = np.concatenate(rows_of), np.concatenate(targets)
        order = np.lexsort((to, row))
        row, to = row[order], to[order]
        if len(row) != self._count(type) or not is_dense(row):
            self._column(number, "sources", row)
        self._column(number, "targets", to)

    def _targets(self, type: str, ids: list[bytes]) -> IntArray:
        """The row of each id of a type, -1 where the record has none."""
        if type not in self._by_id:
            return np.full(len(ids), -1, np.int32)
        known, rows = self._by_id[type]
        wanted = np.array(ids)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, rows[place], np.int32(-1)).astype(np.int32)

    def _count(self, type: str) -> int:
        return len(self._by_id[type][0])

    def _column(self, number: int, name: str, column: NDArray[Any]) -> None:
        little = column.astype(column.dtype.newbyteorder("<"), copy=False)
        self._db.execute("INSERT INTO column VALUES (?, ?, ?)", (number, name, little.tobytes()))
