"""When a number that is stated is the number that was shown.

- The same in the same unit is the same, to a relative 1e-9.
- `rounded`: what was shown, rounded to the decimals that are stated (a half may go either way). The last place must be
  worth no more than a fifth of the number: 5 may be a rounded 5.2, 2 no rounded 2.4.
- `converted`: the same after conversion by UCUM (between mass and amount of substance by molar mass, where the code
  says which substance it is), rounded like the above. Customary factors (18 for glucose, 2.2 for pounds) are a little
  off the exact ones, so that a number that was converted by a factor may be off by 0.25 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from ehr.verify.claims.reading import Reading
from ehr.verify.units import convert

How = Literal["same", "rounded", "converted"]

EXACT = Decimal("1e-9")
WORTH = Decimal("0.2")
CUSTOMARY = Decimal("0.0025")
_SCALES = frozenset({"Cel", "[degF]", "K"})
_NUMBERS = (None, "1")
_THOUSANDS = frozenset({"10*3/uL", "10*9/L"})  # cells, which people also count one by one: `platelets 250,000`


def same(stated: Decimal, places: int, shown: Decimal, *, converted: bool = False) -> How | None:
    """How a stated number is the one that was shown; None where it is another. `converted`: by a factor."""
    distance = abs(stated - shown)
    if distance <= EXACT * max(abs(stated), abs(shown)):
        return "converted" if converted else "same"
    step = Decimal(1).scaleb(-places)
    if distance <= step / 2 * (1 + EXACT) and step <= WORTH * abs(stated):
        return "converted" if converted else "rounded"
    if converted and distance <= CUSTOMARY * abs(shown):
        return "converted"
    return None


def in_unit(reading: Reading, unit: str | None) -> Decimal | None:
    """A reading's value in a unit (None: as it stands); None where it cannot be converted to it."""
    if unit is None or unit == reading.unit:
        return reading.value
    if reading.unit in _NUMBERS or (reading.measure is not None and not reading.measure.converts):
        return None
    analyte = reading.measure.analyte if reading.measure else None
    return convert(reading.value, reading.unit or "1", unit, analyte=analyte)


def is_by_factor(reading: Reading, unit: str | None) -> bool:
    """Whether a value in this unit was converted by a factor other than 1."""
    if unit is None or unit == reading.unit or unit in _SCALES:
        return False
    value = in_unit(reading, unit)
    return value is not None and value != reading.value


def units_for(units: Sequence[str], asked: Sequence[str], reading: Reading) -> tuple[str | None, ...]:
    """The units that a number may be in: its own; of a bare one those that were asked for, else the reading's."""
    if units:
        return tuple(units)
    wanted = tuple(unit for unit in asked if reading.unit not in _NUMBERS and in_unit(reading, unit) is not None)
    return wanted or ((None, "/uL") if reading.unit in _THOUSANDS else (None,))
