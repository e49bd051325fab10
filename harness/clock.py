"""The time of day, passed in wherever a trace says when something happened; nothing else depends on it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], str]
"""Gives the present instant as ISO 8601 text with its zone."""


def wall_clock() -> str:
    """Now, in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
