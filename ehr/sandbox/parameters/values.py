"""How FHIR values are read for search: instants and their implicit ranges, folded text, references.

Instants are milliseconds since 1970-01-01T00:00Z, days are days since 1970-01-01 as written (in the zone of the text).
A search by day compares the calendar day as the resource writes it, a search by time compares instants; so a date
carries both. Open ends are `EARLIEST`, `LATEST`, `FIRST_DAY` and `LAST_DAY`.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

DAY_MS = 86_400_000
EARLIEST, LATEST = -(10**15), 10**15
FIRST_DAY, LAST_DAY = -(10**9), 10**9

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = _EPOCH.toordinal()
_MILLISECOND = timedelta(milliseconds=1)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII | re.IGNORECASE)


class Span(NamedTuple):
    """A stretch of time, both ends inclusive, as instants and as days as written."""

    start: int
    end: int
    first_day: int
    last_day: int


class SearchedDate(NamedTuple):
    """A date in a search: the range that its precision implies, and whether it names a day (or a month or a year)."""

    span: Span
    by_day: bool


@lru_cache(maxsize=1 << 14)
def stored_date(text: str) -> Span | None:
    """The span of a `date`, `dateTime` or `instant` in a resource; `None` where the text is none of them.

    A time is one instant, whatever its digits; a day, month or year is all of it. A time without a zone is taken as
    UTC.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return _days(text)
    instant, day = _instant(found)
    return None if instant is None else Span(instant, instant, day, day)


def searched_date(text: str) -> SearchedDate:
    """A date of a search with the range its precision implies: a second is all its milliseconds, a minute all its
    seconds.

    Raises `ValueError` where the text is no date.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        span = _days(text)
        if span is None:
            raise ValueError(f"{text!r} is no date")
        return SearchedDate(span, by_day=True)
    instant, day = _instant(found)
    if instant is None:
        raise ValueError(f"{text!r} is no date")
    width = 0 if found[4] else 999 if found[3] else 59_999
    return SearchedDate(Span(instant, instant + width, day, day), by_day=False)


def _days(text: str) -> Span | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = int(found[1]), found[2], found[3]
    try:
        if month is None:
            first, after = date(year, 1, 1).toordinal(), _ordinal(year + 1, 1)
        elif day is None:
            first = date(year, int(month), 1).toordinal()
            after = _ordinal(year + 1, 1) if month == "12" else _ordinal(year, int(month) + 1)
        else:
            first = date(year, int(month), int(day)).toordinal()
            after = first + 1
    except ValueError:
        return None
    first, after = first - _EPOCH_ORDINAL, after - _EPOCH_ORDINAL
    return Span(first * DAY_MS, after * DAY_MS - 1, first, after - 1)


def _ordinal(year: int, month: int) -> int:
    """The first day of a month; of the year 10000 too, which `date` does not have."""
    return date(year, month, 1).toordinal() if year < 10_000 else date.max.toordinal() + 1


def _instant(found: re.Match[str]) -> tuple[int | None, int]:
    """The instant and the day as written, from the parts of a time; `None` where the parts are out of range."""
    second = found[3] or "00"
    leap = second == "60"
    try:
        day = date.fromisoformat(found[1])
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}:{'59' if leap else second}{_zone(found[5])}")
    except ValueError:
        return None, 0
    instant = (moment - _EPOCH) // _MILLISECOND + (1000 if leap else 0)
    if found[4]:
        instant += int(found[4][:3].ljust(3, "0"))
    return instant, day.toordinal() - _EPOCH_ORDINAL


def _zone(text: str | None) -> str:
    return "+00:00" if text is None or text in "Zz" else text


def folded(text: str) -> str:
    """Text as string searches compare it: upper case, without accents (marks that take no space of their own)."""
    if text.isascii():
        return text.upper()
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").upper()


def split_reference(text: str) -> tuple[str, str] | None:
    """`Patient/1`, `Patient/1/_history/2` -> `("Patient", "1")`; `None` for anything else (absolute, contained, a
    URN).
    """
    parts = text.split("/")
    if len(parts) == 2 or (len(parts) == 4 and parts[2] == "_history"):
        return (parts[0], parts[1]) if parts[0][:1].isupper() and parts[0].isalnum() and parts[1] else None
    return None


def referenced_type(reference: dict[str, object]) -> str | None:
    """The resource type that a Reference names: by its address (relative or absolute), else by its `type`."""
    text = reference.get("reference")
    if isinstance(text, str):
        parts = text.split("/")
        if len(parts) >= 4 and parts[-2] == "_history":
            parts = parts[:-2]
        if len(parts) >= 2 and parts[-2][:1].isupper():
            return parts[-2]
    type = reference.get("type")
    return type if isinstance(type, str) else None
