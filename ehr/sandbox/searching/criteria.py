"""What a search asks of a resource, and which rows answer.

A criterion answers for the record and for the writes over it alike, each an index with its rows (a `Side`). `rows`
may be given the rows that other criteria left (`within`), so that columns are only read where it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.parameters.values import SearchedDate
from ehr.sandbox.store.index import (
    DateColumns,
    Index,
    IntArray,
    Items,
    Keys,
    NumberColumns,
    PointColumns,
    distinct,
    no_rows,
    union,
)

__all__ = [
    "AnyOf",
    "Composite",
    "Criterion",
    "DateTest",
    "DatesMatch",
    "KeysMatch",
    "Not",
    "Nothing",
    "NumberTest",
    "NumbersMatch",
    "Present",
    "Side",
    "any_of",
    "intersect",
    "places_of",
    "subtract",
]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two places where resources are: the record (`base`), or what was written over it."""

    base: bool
    index: Index
    type: str
    universe: IntArray
    """Every row of the type (hidden ones may be among them)."""


class Criterion(Protocol):
    """One thing that a resource must have."""

    @property
    def cost(self) -> int:
        """0 for posting lists, 1 for columns, 2 for what needs all rows: cheap ones go first."""
        ...

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """The rows that have it, of those in `within` where given."""
        ...


# ---- sets of rows


def intersect(one: IntArray, other: IntArray | None) -> IntArray:
    """The rows in both; `None` is every row."""
    if other is None:
        return one
    if len(one) > len(other):
        one, other = other, one
    if not len(one):
        return no_rows
    if len(one) * 8 > len(other):
        return _by_mask(one, other)
    place = np.searchsorted(other, one)
    place[place == len(other)] = 0
    found: IntArray = one[other[place] == one]
    return found


def _by_mask(one: IntArray, other: IntArray) -> IntArray:
    """The rows in both, by a table over their range: faster where both are long."""
    first = min(int(one[0]), int(other[0]))
    last = max(int(one[-1]), int(other[-1]))
    if last - first > 32 * len(other):
        found: IntArray = np.intersect1d(one, other, assume_unique=True)
        return found
    table = np.zeros(last - first + 1, np.bool_)
    table[other - first] = True
    found = one[table[one - first]]
    return found


def subtract(one: IntArray, other: IntArray) -> IntArray:
    """The rows of `one` that are not in `other`."""
    if not len(one) or not len(other):
        return one
    if len(other) * 8 < len(one):
        place = np.searchsorted(one, other)
        place = place[place < len(one)]
        gone = place[np.isin(one[place], other)]
        few: IntArray = np.delete(one, gone)
        return few
    place = np.searchsorted(other, one)
    place[place == len(other)] = 0
    left: IntArray = one[other[place] != one]
    return left


def places_of(columns: DateColumns | NumberColumns | PointColumns, within: IntArray | None) -> Any:
    """Where the columns have rows that are in `within`."""
    rows = columns.rows
    if within is None:
        return slice(None)
    if not len(rows) or not len(within):
        return slice(0, 0)
    if columns.dense:
        inside = within[(within >= rows[0]) & (within <= rows[-1])]
        return inside - rows[0]
    if len(within) * 8 > len(rows):
        return _places_by_mask(rows, within)
    start = np.searchsorted(rows, within, "left")
    count = np.searchsorted(rows, within, "right") - start
    start, count = start[count > 0], count[count > 0]
    if not len(count) or count.max() == 1:
        return start
    ends = np.cumsum(count)
    return np.arange(ends[-1]) - np.repeat(ends - count, count) + np.repeat(start, count)


def _places_by_mask(rows: IntArray, within: IntArray) -> Any:
    """The same by a table over the range of `within`: faster where it is long."""
    first, last = int(within[0]), int(within[-1])
    begin, end = np.searchsorted(rows, [first, last + 1])
    table = np.zeros(last - first + 1, np.bool_)
    table[within - first] = True
    return begin + np.flatnonzero(table[rows[begin:end] - first])


# ---- posting lists


@dataclass(frozen=True, slots=True)
class KeysMatch:
    """A value in posting lists: any of the alternatives."""

    code: str
    role: str
    alternatives: tuple[Callable[[Keys], IntArray], ...]
    cost: int = 0

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code, self.role)
        return no_rows if space is None else intersect(self.of(space), within)

    def of(self, space: Any, within: IntArray | None = None) -> IntArray:
        """The rows of one space."""
        return intersect(union([take(space) for take in self.alternatives]), within)


# ---- dates


@dataclass(frozen=True, slots=True)
class DateTest:
    """One date with its prefix."""

    prefix: str
    date: SearchedDate

    def mask(self, columns: DateColumns, places: Any) -> NDArray[np.bool_]:
        """Which spans pass, of those at `places`."""
        if self.date.by_day:
            low, high = columns.first_day[places], columns.last_day[places]
            start, end = self.date.span.first_day, self.date.span.last_day
        else:
            low, high = columns.start[places], columns.end[places]
            start, end = self.date.span.start, self.date.span.end
        passes: NDArray[np.bool_] = _DATE_TESTS[self.prefix](low, high, start, end)
        return passes


_DATE_TESTS: dict[str, Callable[[Any, Any, int, int], NDArray[np.bool_]]] = {
    "eq": lambda low, high, start, end: (low >= start) & (high <= end),
    "ne": lambda low, high, start, end: (low < start) | (high > end),
    "gt": lambda low, high, start, end: high > end,
    "ge": lambda low, high, start, end: high >= start,
    "lt": lambda low, high, start, end: low < start,
    "le": lambda low, high, start, end: low <= end,
    "sa": lambda low, high, start, end: low > end,
    "eb": lambda low, high, start, end: high < start,
}


@dataclass(frozen=True, slots=True)
class DatesMatch:
    """A span in a date column: any of the tests."""

    code: str
    tests: tuple[DateTest, ...]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code)
        return no_rows if space is None else self.of(space, within)

    def of(self, space: Any, within: IntArray | None = None) -> IntArray:
        """The rows of one space."""
        columns = space.columns()
        places = places_of(columns, within)
        mask = any_of([test.mask(columns, places) for test in self.tests])
        return distinct(columns.rows[places][mask])


# ---- numbers and quantities


@dataclass(frozen=True, slots=True)
class NumberTest:
    """One number with its prefix and, for a quantity, its unit; `None` is any."""

    prefix: str
    value: float
    system: str | None = None
    code: str | None = None

    def mask(self, columns: NumberColumns, units: Sequence[tuple[str, str]], places: Any) -> NDArray[np.bool_]:
        """Which numbers pass, of those at `places`."""
        value = columns.value[places]
        mask = _NUMBER_TESTS[self.prefix](value, self.value)
        if self.system is None and self.code is None:
            return mask
        fits = np.array([self.system in (None, system) and self.code in (None, code) for system, code in units], bool)
        passes: NDArray[np.bool_] = mask & fits[columns.unit[places]]
        return passes


_NUMBER_TESTS: dict[str, Callable[[Any, float], NDArray[np.bool_]]] = {
    "eq": lambda value, asked: value == asked,
    "ne": lambda value, asked: value != asked,
    "gt": lambda value, asked: value > asked,
    "ge": lambda value, asked: value >= asked,
    "lt": lambda value, asked: value < asked,
    "le": lambda value, asked: value <= asked,
    "ap": lambda value, asked: np.abs(value - asked) <= abs(asked) / 10,
}


@dataclass(frozen=True, slots=True)
class NumbersMatch:
    """A number in a column: any of the tests."""

    code: str
    tests: tuple[NumberTest, ...]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code)
        return no_rows if space is None else self.of(space, within)

    def of(self, space: Any, within: IntArray | None = None) -> IntArray:
        """The rows of one space."""
        columns = space.columns()
        places = places_of(columns, within)
        mask = any_of([test.mask(columns, space.units, places) for test in self.tests])
        return distinct(columns.rows[places][mask])


def any_of(masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Where any of the masks is true."""
    result = masks[0]
    for mask in masks[1:]:
        result = result | mask
    return result


# ---- composites, absence


@dataclass(frozen=True, slots=True)
class Composite:
    """Values that stand together in one element: any of the alternatives, each a match for each component."""

    code: str
    alternatives: tuple[tuple[Any, ...], ...]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space: Items | None = side.index.space(side.type, self.code)
        if space is None:
            return no_rows
        owners = space.owners()
        found = []
        for components in self.alternatives:
            items: IntArray | None = None
            for match, part in zip(components, space.parts, strict=True):
                items = match.of(part, items)
            found.append(no_rows if items is None else distinct(owners[items]))
        return intersect(union(found), within)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Resources for which one of several alternatives holds, each a list of criteria that hold together."""

    alternatives: tuple[tuple[Criterion, ...], ...]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        found = []
        for criteria in self.alternatives:
            rows = within
            for criterion in criteria:
                rows = criterion.rows(side, rows)
            found.append(no_rows if rows is None else rows)
        return union(found)


@dataclass(frozen=True, slots=True)
class Not:
    """Resources without a match, also those without the element."""

    inner: Criterion
    cost: int = 2

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        rows = side.universe if within is None else within
        return subtract(rows, self.inner.rows(side, rows))


@dataclass(frozen=True, slots=True)
class Present:
    """Resources with any value in a space."""

    code: str
    role: str = ""
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code, self.role)
        if space is None:
            return no_rows
        if hasattr(space, "present"):
            return intersect(space.present(), within)
        rows = np.sort(space.owners()) if hasattr(space, "owners") else space.columns().rows
        return intersect(distinct(rows), within)


@dataclass(frozen=True, slots=True)
class Nothing:
    """No resource at all."""

    cost: int = 0

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        return no_rows
