"""Times as people write them, and whether a time in a chart is the one that is meant.

Read are ISO dates and instants, dates with a month's name (with a year or without), dates in numbers with a year
(`14/01/2026`, `on 1/14`: day first or month first, whichever fits), clock times beside a date, and today and yesterday
where it is known what day it is. Weekdays, and times that are only told from another ("3 hours ago"), are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_CLOCK = (
    r"(?P<hour{0}>[01]?\d|2[0-4])[:.](?P<minute{0}>[0-5]\d)(?::(?P<second{0}>[0-5]\d)(?:\.\d+)?)?"
    r"(?P<half{0}>\s?[ap]\.?m\b\.?)?"
)
_ZONE = r"(?:\s?(?P<zone{0}>z\b|utc\b|gmt\b|[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d)))?"
_JOIN = r"(?:\s?(?:,|at|,\s?at|t|\||@|-|–)\s?|\s)"
_AFTER = rf"(?:{_JOIN}{_CLOCK.format('')}(?:\s?h(?:ours|rs)?\b)?{_ZONE.format('')})?"
_DATES = (
    r"(?P<y>[12]\d{3})-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])",
    rf"(?P<d>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?:\s+(?:of\s+)?|-)(?P<name>{_MONTH})(?:(?:,?\s+|-)(?P<y>[12]\d{{3}})\b)?",
    rf"(?P<name>{_MONTH})\s+(?P<d>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\b(?![.:]\d)(?:,?\s+(?P<y>[12]\d{{3}})\b)?",
    r"(?P<a>0?[1-9]|[12]\d|3[01])(?P<sep>[./])(?P<b>0?[1-9]|[12]\d|3[01])(?P=sep)(?P<y>[12]\d{3})\b",
    r"(?<=\bon )(?P<a>0?[1-9]|1\d|2\d|3[01])(?P<sep>/)(?P<b>0?[1-9]|[12]\d|3[01])(?![\w/.])",
    r"(?P<day>today|yesterday)\b",
)
_START = r"(?<![\w.])"
_FORMS = [re.compile(_START + date + _AFTER) for date in _DATES]
_BEFORE = re.compile(
    _START + _CLOCK.format("") + r"(?:\s?h(?:ours|rs)?\b)?" + _ZONE.format("") + r"\s?(?:,|on|of)?\s?$"
)
_ALONE = re.compile(_START + _CLOCK.format("") + r"(?!\w|[:.]\d)")
_RAW = re.compile(r"^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?$")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as a text states it. `days` are the dates it may be (year None where none is said).

    `clock` is hour, minute and, if said, second; `offset` minutes east of UTC, None where no zone is said.
    """

    days: tuple[tuple[int | None, int, int], ...]
    clock: tuple[int, int, int | None] | None = None
    offset: int | None = None

    def is_of(self, raw: str) -> bool:
        """Whether a FHIR date, dateTime or instant is this time, as exactly as it is stated.

        Where no zone is stated, the chart's own zone is meant, or UTC.
        """
        parts = _RAW.match(raw)
        if not parts or not parts[3]:
            return False
        year, month, day = int(parts[1]), int(parts[2]), int(parts[3])
        if self.clock is None or parts[4] is None:
            return self.clock is None and any(self._is_day(each) for each in self._days_of(raw, (year, month, day)))
        return any(self._is_at(moment) for moment in _moments(raw, self.offset))

    def _days_of(self, raw: str, written: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
        yield written
        for moment in _moments(raw, None):
            yield moment.year, moment.month, moment.day

    def _is_day(self, day: tuple[int, int, int]) -> bool:
        return any(each[1:] == day[1:] and each[0] in (None, day[0]) for each in self.days)

    def _is_at(self, moment: datetime) -> bool:
        assert self.clock is not None
        hour, minute, second = self.clock
        return (
            self._is_day((moment.year, moment.month, moment.day))
            and (moment.hour, moment.minute) == (hour, minute)
            and second in (None, moment.second)
        )


def _moments(raw: str, offset: int | None) -> Iterator[datetime]:
    """The instant in the zone of this offset; without one, as it is written and in UTC."""
    try:
        moment = datetime.fromisoformat(raw)
        if offset is not None:
            yield (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(
                timezone(timedelta(minutes=offset))
            )
            return
        yield moment
        if moment.tzinfo:
            yield moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return


def moments_in(text: str, now: datetime | None) -> list[tuple[int, int, Moment]]:
    """The times in a text (in lower case), each with its place; none overlaps another. `now` says what today is."""
    found: list[tuple[int, int, Moment]] = []
    taken = bytearray(len(text))
    for form in _FORMS:
        for match in form.finditer(text):
            if taken.find(1, match.start(), match.end()) >= 0:
                continue
            start, moment = _read(text, match, now)
            taken[start : match.end()] = b"\1" * (match.end() - start)
            found.append((start, match.end(), moment))
    for match in _ALONE.finditer(text):  # a time of day without a day says nothing that is compared, and is no number
        if (match["half"] or ":" in match[0]) and taken.find(1, match.start(), match.end()) < 0:
            found.append((match.start(), match.end(), Moment(())))
    return sorted(found, key=lambda each: each[0])


def _read(text: str, match: re.Match[str], now: datetime | None) -> tuple[int, Moment]:
    """Where the time begins (a clock time may stand before the date), and what it is."""
    groups = match.groupdict()
    days = _days(groups, now)
    start, clock, source = match.start(), _clock(groups), groups
    if clock is None:
        before = _BEFORE.search(text, max(0, match.start() - 24), match.start())
        if before is not None and (":" in before[0] or before["half"]):
            start, source = before.start(), before.groupdict()
            clock = _clock(source)
    return start, Moment(days, clock, _offset(source.get("zone"))) if days else Moment(())


def _days(groups: dict[str, str | None], now: datetime | None) -> tuple[tuple[int | None, int, int], ...]:
    if groups.get("day"):
        if now is None:
            return ()
        day = now - timedelta(days=1) if groups["day"] == "yesterday" else now
        return ((day.year, day.month, day.day),)
    year = int(groups["y"] or 0) if groups.get("y") else None
    if groups.get("sep"):
        a, b = int(groups["a"] or 0), int(groups["b"] or 0)
        both = ((year, b, a),) if groups["sep"] == "." else ((year, b, a), (year, a, b))
        return tuple(dict.fromkeys(each for each in both if each[1] <= 12))
    month = int(groups["m"] or 0) if groups.get("m") else _MONTHS[(groups["name"] or "").rstrip(".")]
    return ((year, month, int(groups["d"] or 0)),)


def _clock(groups: dict[str, str | None]) -> tuple[int, int, int | None] | None:
    if not groups.get("hour"):
        return None
    hour, minute = int(groups["hour"] or 0), int(groups["minute"] or 0)
    half = (groups.get("half") or "").strip()
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return hour, minute, int(groups["second"] or 0) if groups.get("second") else None


def _offset(zone: str | None) -> int | None:
    if zone is None:
        return None
    zone = zone.strip()
    if zone[:1] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    return (int(digits[:2]) * 60 + int(digits[2:])) * (-1 if zone[0] == "-" else 1)
