"""Moments in time: FHIR's date, dateTime and instant, compared as instants and never as strings."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DATE_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$")
_DURATION = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")


def instant(text: object) -> datetime | None:
    """The moment that `text` names, in UTC; None where it has no time or no zone, or is no time at all.

    Fractions of a second beyond microseconds are cut.
    """
    if not isinstance(text, str) or not _DATE_TIME.match(text):
        return None
    try:
        return datetime.fromisoformat(_microseconds(text)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def duration(text: str) -> timedelta:
    """The length of an ISO 8601 duration of days, hours, minutes and seconds (`PT1H`, `P1DT12H`).

    Raises `ValueError` for anything else; months and years have no fixed length and are refused.
    """
    match = _DURATION.match(text)
    if not match or text in ("P", "PT") or text.endswith("T"):
        raise ValueError(f"{text!r} is not a duration of days, hours, minutes and seconds, such as 'PT1H'")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _microseconds(text: str) -> str:
    head, dot, rest = text.partition(".")
    if not dot:
        return text
    digits = re.match(r"\d+", rest)
    assert digits is not None
    return f"{head}.{digits[0][:6].ljust(6, '0')}{rest[digits.end() :]}"
