"""Numbers that are derived from a series of values, each by a named rule.

A series is homogeneous: values of one measure (or one code) of one patient, in units that convert into one another,
each row once. Which rows an agent took is not told, so a rule is tried over each of these, and over no other subset:

- all that the trace showed, and what each search showed with all its pages;
- of these, all rows, those up to now, and those in each window back from now that the instruction or the sentence
  names ("the last 24 hours"), both ends included.

| rule | holds where the number is |
|---|---|
| `mean` | the arithmetic mean of the series |
| `minimum`, `maximum` | its least, its greatest value; with a time, of a row of that time |
| `count` | the number of its rows |
| `difference` | between its last and first rows, its last two, its greatest and least, or two whose values are stated |

The two values that are stated stand in the same sentence; the sign of a difference does not matter. Every row of the
series is an operand; of a difference, the two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from ehr.verify.claims.asked import Rule
from ehr.verify.claims.claim import ClinicalClaim
from ehr.verify.claims.equal import in_unit, is_by_factor, same, units_for
from ehr.verify.claims.reading import Reading
from ehr.verify.instants import instant

MOST_ROWS = 5_000

Series = tuple[Reading, ...]


def derived(claim: ClinicalClaim, rule: Rule, readings: Sequence[Reading]) -> Series | None:
    """The operands from which the rule gives the claimed number; None where it does not."""
    for series in series_of(claim, readings):
        operands = _operands(claim, rule, series)
        if operands:
            return operands
    return None


def series_of(claim: ClinicalClaim, readings: Sequence[Reading]) -> Iterator[Series]:
    """Every series that a rule is tried over."""
    seen: set[frozenset[tuple[object, str]]] = set()
    kinds: dict[object, list[Reading]] = {}
    for reading in readings[:MOST_ROWS]:
        kinds.setdefault((reading.patient, reading.what), []).append(reading)
    for rows in kinds.values():
        searches = dict.fromkeys(row.series for row in rows)
        pools = [rows, *([row for row in rows if row.series == search] for search in searches if len(searches) > 1)]
        for pool in pools:
            for part in _parts(claim, _once(pool)):
                key = frozenset(map(_row, part))
                if part and key not in seen:
                    seen.add(key)
                    yield part


def _once(rows: Sequence[Reading]) -> Series:
    """Each row once; of a row that was shown in two versions, the last."""
    return tuple({_row(row): row for row in rows}.values())


def _row(reading: Reading) -> tuple[object, str]:
    """What makes a row the same one: its resource and place; without an id, nothing says that two are the same."""
    return (reading.resource if "/" in reading.resource else id(reading)), reading.path


def _parts(claim: ClinicalClaim, rows: Series) -> Iterator[Series]:
    now = claim.asked.now
    yield rows
    if now is None:
        return
    times = [(row, taken(row)) for row in rows]
    yield tuple(row for row, at in times if at is None or at <= now)
    for window in (*claim.windows, *claim.asked.windows):
        yield tuple(row for row, at in times if at is not None and now - window <= at <= now)


def taken(reading: Reading) -> datetime | None:
    """When a value was taken; a day is its midnight, and no zone is UTC."""
    if not reading.times:
        return None
    moment = instant(reading.times[0])
    if moment is not None:
        return moment
    try:
        moment = datetime.fromisoformat(reading.times[0])
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _operands(claim: ClinicalClaim, rule: Rule, series: Series) -> Series | None:
    if rule == "count":
        return series if claim.value == len(series) else None
    for unit in units_for(claim.units, claim.asked.units, series[0]):
        unit = series[0].unit if unit is None else unit
        values = [in_unit(row, unit) for row in series]
        if any(value is None for value in values):
            continue
        found = _of_rule(claim, rule, series, [value for value in values if value is not None], unit)
        if found:
            return found
    return None


def _of_rule(
    claim: ClinicalClaim, rule: Rule, series: Series, values: list[Decimal], unit: str | None
) -> Series | None:  # fmt: skip
    by_factor = any(is_by_factor(row, unit) for row in series)
    if rule == "difference":
        return _difference(claim, series, values, by_factor)
    if rule == "mean":
        wanted = sum(values, Decimal()) / len(values)
        return series if same(claim.value, claim.places, wanted, converted=by_factor) else None
    wanted = min(values) if rule == "minimum" else max(values)
    if not same(claim.value, claim.places, wanted, converted=by_factor):
        return None
    first = [row for row, value in zip(series, values, strict=True) if value == wanted]
    if claim.moment is not None:
        first = [row for row in first if any(claim.moment.is_of(time) for time in row.times)]
    return (*first, *(row for row in series if row not in first)) if first else None


def _difference(claim: ClinicalClaim, series: Series, values: list[Decimal], by_factor: bool) -> Series | None:
    if len(series) < 2:
        return None
    rows = list(zip(series, values, strict=True))
    by_time = [(at, row, value) for row, value in rows if (at := taken(row)) is not None]
    by_time.sort(key=lambda each: each[0])
    by_value = sorted(rows, key=lambda each: each[1])
    pairs = [(by_value[0], by_value[-1])]
    if len(by_time) > 1:
        in_order = [(row, value) for _, row, value in by_time]
        pairs += [(in_order[0], in_order[-1]), (in_order[-2], in_order[-1])]
    stated = [pair for pair in rows if any(same(other.value, other.places, pair[1]) for other in claim.beside)]
    pairs += [(a, b) for place, a in enumerate(stated[:20]) for b in stated[place + 1 : 20]]
    for (first, a), (second, b) in pairs:
        if same(abs(claim.value), claim.places, abs(a - b), converted=by_factor):
            return first, second
    return None
