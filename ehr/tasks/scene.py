"""The results around one that counts: the rows that a careless reader takes for it.

A scene is a list of rows in storage order for `planting.results`. One is the fact; the others are older results, rows
entered in error, rows later than the clock, and rows of the same time reported earlier. Where the fact stands among
them is drawn, and everything but the fact is the same for twins. Which traps this makes is worked out afterwards, from
the rows as they were planted, by `careless.reading_traps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from ehr.tasks import truth
from ehr.tasks.measures import Measure, Unit
from ehr.tasks.planting import Row
from ehr.tasks.template import Drawing
from ehr.tasks.ward import Person

HOUR = timedelta(hours=1)
_SOON = timedelta(minutes=25)
_EARLY, _LATE = (limit.replace(tzinfo=UTC) for limit in (datetime.min, datetime.max))


@dataclass(frozen=True)
class Fact:
    """The result that counts: its value in the measure's unit, how long ago it was taken, and the unit it stands in."""

    value: float
    age: timedelta
    unit: Unit | None = None


@dataclass(frozen=True)
class Plan:
    """What surrounds the fact, the same for both twins.

    `facts` are those of all twins, `window` what the task looks at (None: ever). `extras` are what to lay: `status` (a
    newer row entered in error), `future` (one later than the clock), `tie` (two rows of the fact's time, reported
    earlier; all facts must be of one time), `rivals` (older rows inside the window; without it, they lie before it).
    `gap` is how far every other value keeps from the facts'.
    """

    measure: Measure
    facts: tuple[Fact, ...]
    window: timedelta | None
    extras: frozenset[str]
    gap: float

    @property
    def newest(self) -> timedelta:
        """The age of the newest fact."""
        return min(fact.age for fact in self.facts)

    @property
    def oldest(self) -> timedelta:
        """The age of the oldest fact."""
        return max(fact.age for fact in self.facts)


def scene(drawing: Drawing, plan: Plan, fact: Fact) -> list[Row]:
    """The rows around one fact, and it among them."""
    has_tie = "tie" in plan.extras
    rows = [_row(drawing, plan, age) for age in _older(drawing, plan)]
    if has_tie:
        rows += [_row(drawing, plan, plan.oldest, lag=0.35 * HOUR) for _ in range(2)]
    if "future" in plan.extras:
        ahead = spread(drawing, 0.5 * HOUR, 20 * HOUR)
        rows.append(Row(drawing.now + ahead, _wrong(drawing, plan)))
    if "status" in plan.extras:
        newer = spread(drawing, timedelta(minutes=4), plan.newest - timedelta(minutes=4))
        rows.append(Row(drawing.now - newer, _wrong(drawing, plan), status="entered-in-error"))
    unit = fact.unit or plan.measure.unit
    counted = Row(
        drawing.now - fact.age,
        _in(fact.value, plan.measure, unit),
        unit,
        lag=1.5 * HOUR if has_tie else None,
        exact=fact.age == plan.window,
    )
    return drawing.dice.shuffled([*rows, counted])


def apart(drawing: Drawing, measure: Measure, values: Sequence[float], gap: float) -> float:
    """A plausible value of a measure that differs from all values by at least `gap`."""
    for _ in range(1000):
        value = round(drawing.dice.between(measure.low, measure.high), measure.unit.places)
        if all(abs(value - other) >= gap for other in values):
            return value
    raise ValueError(f"no value of {measure.word} is {gap} away from {values!r}")


def is_quiet(drawing: Drawing, measure: Measure, since: datetime) -> Callable[[Person], bool]:
    """Whether a person has no row of a measure, of whatever status, from `since` on: what `person(fits=...)` takes."""

    wanted = frozenset(measure.codes)

    def last(person: Person) -> datetime:
        rows = drawing.ward.chart(person, "Observation")
        times = [truth.taken(row) for row in rows if not wanted.isdisjoint(truth.codes(row["code"]))]
        return max((_LATE if at is None else at for at in times), default=_EARLY)

    return lambda person: drawing.ward.once(("last", person.id, wanted), lambda: last(person)) < since


def spread(drawing: Drawing, low: timedelta, high: timedelta) -> timedelta:
    """A length of time between two, to the second."""
    return timedelta(seconds=drawing.dice.whole(int(low.total_seconds()), int(high.total_seconds())))


def _older(drawing: Drawing, plan: Plan) -> list[timedelta]:
    """The ages of one or two older rows, inside the window or before it."""
    number = drawing.dice.whole(1, 2)
    if plan.window is not None and "rivals" in plan.extras:
        low, high = plan.oldest + _SOON, plan.window - timedelta(minutes=5)
    else:
        low = max(plan.oldest, plan.window or timedelta()) + 3 * HOUR
        high = low + timedelta(days=12)
    return [spread(drawing, low, high) for _ in range(number)]


def _row(drawing: Drawing, plan: Plan, age: timedelta, lag: timedelta | None = None) -> Row:
    return Row(drawing.now - age, _wrong(drawing, plan), lag=lag)


def _wrong(drawing: Drawing, plan: Plan) -> float:
    values = [fact.value for fact in plan.facts]
    other = [_in(fact.value, plan.measure, fact.unit) for fact in plan.facts if fact.unit]
    return apart(drawing, plan.measure, values + other, plan.gap)


def _in(value: float, measure: Measure, unit: Unit) -> float:
    """A value of the measure's unit in another of its units."""
    if unit == measure.unit:
        return value
    if unit.ucum == "[degF]":
        return round(value * 9 / 5 + 32, unit.places)
    reading = truth.Reading("", datetime.min, None, Decimal(1), unit.ucum)
    factor = float(truth.converted(reading, measure.unit.ucum, measure.analyte or measure.word))
    return round(value / factor, unit.places)
