"""Timetables that were written as text."""

import re

from ferrytide.problems import TimetableSyntaxError
from ferrytide.sailing import Crossing, Timetable

_LINE = re.compile(r"^(\d\d):(\d\d)\s+(\d\d):(\d\d)\s+(\w+)$")


def parse_timetable(text: str) -> Timetable:
    """A timetable from lines such as `07:30 08:00 Marit`."""
    timetable = Timetable()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.match(line)
        if found is None:
            raise TimetableSyntaxError(number, line)
        leave_hour, leave_minute, arrive_hour, arrive_minute, vessel = found.groups()
        timetable.add_crossing(
            Crossing(clock_to_hours(leave_hour, leave_minute), clock_to_hours(arrive_hour, arrive_minute), vessel)
        )
    return timetable


def clock_to_hours(hour: str, minute: str) -> float:
    """07:30 as 7.5."""
    return int(hour) + int(minute) / 60
