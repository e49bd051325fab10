"""Which row a careless reader takes, in plain Python over plain resources: so that a task can name its traps exactly.

Nothing is taken from `chart.py`, whose flawed readings these predictions are compared with by `validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from ehr.tasks import truth
from ehr.tasks.idshape import storage_place
from ehr.tasks.truth import Reading, Resource

_Taken = Callable[[datetime | None], Reading | None]


def reading_traps(
    rows: Sequence[Resource], loinc: Iterable[str], *, until: datetime, since: datetime | None, else_ever: bool = False
) -> frozenset[str]:
    """The traps that reading the latest of these tests from `since` to `until` holds, of those that concern rows.

    With `else_ever` the reader goes on to the latest ever where nothing is in the window, as the instruction says.
    """
    loinc = set(loinc)
    right = _reading(_careful(rows, loinc, until), since, else_ever)
    takers = _takers(rows, loinc, until)
    return frozenset(trap for trap, take in takers.items() if _reading(take, since, else_ever) != right)


def namesake_trap(id: str, double: str) -> frozenset[str]:
    """Whether a search by name lists the other person first."""
    return frozenset({"namesake"} if storage_place(double) < storage_place(id) else ())


def _reading(take: _Taken, since: datetime | None, else_ever: bool) -> tuple[bool, Reading | None]:
    """Whether the window had something, and the row taken in the end."""
    inside = take(since)
    if inside is None and else_ever:
        return False, take(None)
    return True, inside


def _careful(rows: Sequence[Resource], loinc: set[str], until: datetime) -> _Taken:
    return lambda since: truth.latest(truth.readings(rows, loinc), until=until, since=since)


def _takers(rows: Sequence[Resource], loinc: set[str], until: datetime) -> Mapping[str, _Taken]:
    found = truth.readings(rows, loinc)
    whatever = truth.readings([{**row, "status": "final"} for row in rows], loinc)
    far = datetime.max.replace(tzinfo=until.tzinfo)
    inside = partial(truth.within, found, until=until)
    return {
        "status": lambda since: truth.latest(whatever, until=until, since=since),
        "window": lambda since: truth.latest(found, until=until),
        "future": lambda since: truth.latest(found, until=far, since=since),
        "edge": lambda since: truth.latest([r for r in found if r.at != since], until=until, since=since),
        "order": lambda since: _first(inside(since=since)),
        "id": lambda since: max(inside(since=since), key=lambda reading: _id_key(reading.id), default=None),
        "tie": lambda since: _first(_tied(inside(since=since))),
    }


def _first(readings: Sequence[Reading]) -> Reading | None:
    return min(readings, key=lambda reading: storage_place(reading.id), default=None)


def _tied(readings: Sequence[Reading]) -> list[Reading]:
    newest = max((reading.at for reading in readings), default=None)
    return [reading for reading in readings if reading.at == newest]


def _id_key(id: str) -> tuple[int, str]:
    return (len(id), id) if id.isdigit() else (0, id)
