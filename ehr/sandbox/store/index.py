"""The index of searchable values, in memory: posting lists, and columns of dates, numbers and places.

`MemoryIndex` takes resources one by one. A fork's writes are searched in one, and a record is built in one and
written from it. A record on disk (`record.py`) answers the same questions from its file, so that a search is written
once:

    Keys      value and qualifier -> rows; rows with a prefix, of a qualifier, with a value that passes a test
    Dates     columns of spans (see `values.Span`)
    Numbers   columns of numbers; units are numbered (system, code)
    Points    columns of places
    Items     a composite: parts are spaces of their own over item numbers; `owners()[item]` is the row

Rows are numbers of resources, given out sorted and without repeats. Columns are sorted by row and may repeat one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.parameters.searchparams import Program, Rows, Shape, program
from ehr.sandbox.parameters.values import Span

__all__ = [
    "DateColumns",
    "Dates",
    "Index",
    "IntArray",
    "Items",
    "Keys",
    "MemoryIndex",
    "NumberColumns",
    "Numbers",
    "PointColumns",
    "Points",
    "distinct",
    "is_dense",
    "no_rows",
    "union",
]

IntArray = NDArray[np.int32]
no_rows: IntArray = np.empty(0, np.int32)


class DateColumns(NamedTuple):
    """Spans: milliseconds, and days as written."""

    dense: bool
    """Exactly one entry for each row from the first to the last."""
    rows: IntArray
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    first_day: IntArray
    last_day: IntArray


class NumberColumns(NamedTuple):
    """Numbers, each with the number of its unit."""

    dense: bool
    rows: IntArray
    value: NDArray[np.float64]
    unit: IntArray


class PointColumns(NamedTuple):
    """Places on the globe, in degrees."""

    dense: bool
    rows: IntArray
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]


class Keys(Protocol):
    """Values with a qualifier: tokens, strings, references, addresses."""

    def exact(self, value: str, qualifier: str | None) -> IntArray:
        """Rows with this value; a qualifier of `None` is any."""
        ...

    def starting(self, prefix: str) -> IntArray:
        """Rows with a value that begins so."""
        ...

    def where(self, wanted: Callable[[str], bool]) -> IntArray:
        """Rows with a value that is wanted; every value is looked at."""
        ...

    def qualified(self, qualifier: str) -> IntArray:
        """Rows with any value of this qualifier."""
        ...

    def present(self) -> IntArray:
        """Rows with any value."""
        ...

    def listed(self) -> Iterator[tuple[str, str, IntArray]]:
        """Every value and qualifier with its rows, sorted by value, then qualifier (as code points)."""
        ...


class Dates(Protocol):
    """Spans of time."""

    def columns(self) -> DateColumns:
        """All spans, sorted by row."""
        ...


class Numbers(Protocol):
    """Numbers with a unit."""

    @property
    def units(self) -> list[tuple[str, str]]:
        """System and code of each unit by its number, empty where not given."""
        ...

    def columns(self) -> NumberColumns:
        """All numbers, sorted by row."""
        ...


class Points(Protocol):
    """Places."""

    def columns(self) -> PointColumns:
        """All places, sorted by row."""
        ...


class Items(Protocol):
    """A composite's items."""

    @property
    def parts(self) -> list[Any]:
        """A space for each component, over item numbers."""
        ...

    def owners(self) -> IntArray:
        """The row that each item belongs to."""
        ...


class Index(Protocol):
    """All spaces of a record, or of the writes laid over it."""

    def space(self, type: str, code: str, role: str = "") -> Any:
        """The space's `Keys`, `Dates`, `Numbers`, `Points` or `Items`; `None` where no resource has a value in it."""
        ...


def is_dense(rows: IntArray) -> bool:
    """Whether sorted rows are exactly those from the first to the last, each once."""
    return bool(len(rows)) and int(rows[-1]) - int(rows[0]) + 1 == len(rows) and bool((rows[1:] > rows[:-1]).all())


def distinct(rows: IntArray) -> IntArray:
    """Sorted rows without repeats."""
    if len(rows) < 2:
        return rows
    new = np.empty(len(rows), np.bool_)
    new[0] = True
    np.not_equal(rows[1:], rows[:-1], out=new[1:])
    return rows if new.all() else rows[new]


def union(lists: list[IntArray]) -> IntArray:
    """The rows of any of the lists, each sorted."""
    lists = [rows for rows in lists if len(rows)]
    if len(lists) < 2:
        return lists[0] if lists else no_rows
    first = min(int(rows[0]) for rows in lists)
    width = max(int(rows[-1]) for rows in lists) - first + 1
    for rows in lists:
        if len(rows) == width:  # one that holds all the others
            return rows
    if width > 64 * sum(map(len, lists)):
        return distinct(np.sort(np.concatenate(lists)))
    table = np.zeros(width, np.bool_)
    for rows in lists:
        table[rows - first] = True
    return (np.flatnonzero(table) + first).astype(np.int32)


# ---- in memory


class MemoryKeys:
    """Posting lists in a dictionary."""

    shape: Shape = "keys"

    def __init__(self) -> None:
        self.postings: dict[tuple[str, str], array[int]] = {}
        self.rows = array("i")

    def add(self, row: int, rows: Rows) -> None:
        """Put a row under its keys; rows come in ascending order."""
        self.rows.append(row)
        postings = self.postings
        for key in rows:
            known = postings.get(key)
            if known is None:
                postings[key] = array("i", (row,))
            elif known[-1] != row:
                known.append(row)

    def exact(self, value: str, qualifier: str | None) -> IntArray:
        if qualifier is None:
            return self._where(lambda key: key[0] == value)
        known = self.postings.get((value, qualifier))
        return no_rows if known is None else np.array(known, np.int32)

    def starting(self, prefix: str) -> IntArray:
        return self._where(lambda key: key[0].startswith(prefix))

    def where(self, wanted: Callable[[str], bool]) -> IntArray:
        return self._where(lambda key: wanted(key[0]))

    def qualified(self, qualifier: str) -> IntArray:
        return self._where(lambda key: key[1] == qualifier)

    def present(self) -> IntArray:
        return np.array(self.rows, np.int32)

    def listed(self) -> Iterator[tuple[str, str, IntArray]]:
        for value, qualifier in sorted(self.postings):
            yield value, qualifier, np.array(self.postings[value, qualifier], np.int32)

    def _where(self, wanted: Callable[[tuple[str, str]], bool]) -> IntArray:
        return union([np.array(posting, np.int32) for key, posting in self.postings.items() if wanted(key)])


class MemoryDates:
    """Spans in growing columns."""

    shape: Shape = "dates"

    def __init__(self) -> None:
        self._raw = (array("i"), array("q"), array("q"), array("i"), array("i"))
        self._columns: DateColumns | None = None

    def add(self, row: int, rows: Rows) -> None:
        self._columns = None
        numbers, start, end, first, last = self._raw
        for span in rows:
            numbers.append(row)
            start.append(span[0])
            end.append(span[1])
            first.append(span[2])
            last.append(span[3])

    def columns(self) -> DateColumns:
        if self._columns is None:
            numbers, start, end, first, last = self._raw
            rows = np.array(numbers, np.int32)
            self._columns = DateColumns(
                is_dense(rows),
                rows,
                np.array(start, np.int64),
                np.array(end, np.int64),
                np.array(first, np.int32),
                np.array(last, np.int32),
            )
        return self._columns


class MemoryNumbers:
    """Numbers in growing columns."""

    shape: Shape = "numbers"

    def __init__(self) -> None:
        self._raw = (array("i"), array("d"), array("i"))
        self._numbers: dict[tuple[str, str], int] = {}
        self.units: list[tuple[str, str]] = []
        self._columns: NumberColumns | None = None

    def add(self, row: int, rows: Rows) -> None:
        self._columns = None
        numbers, values, units = self._raw
        for value, system, code in rows:
            key = (system, code)
            unit = self._numbers.get(key)
            if unit is None:
                unit = self._numbers[key] = len(self.units)
                self.units.append(key)
            numbers.append(row)
            values.append(value)
            units.append(unit)

    def columns(self) -> NumberColumns:
        if self._columns is None:
            numbers, values, units = self._raw
            rows = np.array(numbers, np.int32)
            self._columns = NumberColumns(is_dense(rows), rows, np.array(values, np.float64), np.array(units, np.int32))
        return self._columns


class MemoryPoints:
    """Places in growing columns."""

    shape: Shape = "points"

    def __init__(self) -> None:
        self._raw = (array("i"), array("d"), array("d"))

    def add(self, row: int, rows: Rows) -> None:
        for latitude, longitude in rows:
            self._raw[0].append(row)
            self._raw[1].append(latitude)
            self._raw[2].append(longitude)

    def columns(self) -> PointColumns:
        numbers, latitude, longitude = self._raw
        rows = np.array(numbers, np.int32)
        return PointColumns(is_dense(rows), rows, np.array(latitude), np.array(longitude))


class MemoryItems:
    """A composite's items, numbered in the order they come."""

    shape: Shape = "items"

    def __init__(self, shapes: tuple[Shape, ...]) -> None:
        self._owners = array("i")
        self.parts: list[Any] = [_MEMORY[shape]() for shape in shapes]

    def add(self, row: int, rows: Rows) -> None:
        for item in rows:
            number = len(self._owners)
            self._owners.append(row)
            for part, found in zip(self.parts, item, strict=True):
                part.add(number, found)

    def owners(self) -> IntArray:
        return np.array(self._owners, np.int32)


_MEMORY: dict[Shape, Callable[[], Any]] = {
    "keys": MemoryKeys,
    "dates": MemoryDates,
    "numbers": MemoryNumbers,
    "points": MemoryPoints,
}


class MemoryIndex:
    """An index that resources are added to, rows in ascending order.

    `updated` is the time that a resource without `meta.lastUpdated` counts as written.
    """

    def __init__(self, updated: Span | None = None) -> None:
        self._updated = updated
        self._types: dict[str, tuple[Program, list[Any]]] = {}

    def add(self, row: int, resource: dict[str, Any]) -> dict[int, Rows]:
        """Index a resource under a row; its index rows, by number of the space in its type's program."""
        type = resource["resourceType"]
        known = self._types.get(type)
        if known is None:
            compiled = program(type)
            known = self._types[type] = (compiled, [None] * len(compiled.spaces))
        compiled, spaces = known
        found = compiled.rows(resource)
        if self._updated is not None:
            found.setdefault(compiled.updated, [self._updated])
        for number, rows in found.items():
            space = spaces[number]
            if space is None:
                space = spaces[number] = self._made(compiled, number)
            space.add(row, rows)
        return found

    def space(self, type: str, code: str, role: str = "") -> Any:
        """See `Index`."""
        known = self._types.get(type)
        number = known[0].numbers.get((code, role)) if known else None
        return known[1][number] if known and number is not None else None

    def drained(self) -> Iterator[tuple[str, str, str, Any]]:
        """Every space that holds something: type, code, role and the space, in a fixed order. The index lets go of
        each.
        """
        for type in sorted(self._types):
            compiled, spaces = self._types[type]
            for number, described in enumerate(compiled.spaces):
                space, spaces[number] = spaces[number], None
                if space is not None:
                    yield type, described.code, described.role, space

    @staticmethod
    def _made(compiled: Program, number: int) -> Any:
        space = compiled.spaces[number]
        return MemoryItems(compiled.parts[number]) if space.shape == "items" else _MEMORY[space.shape]()
