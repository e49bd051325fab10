"""Quantities: UCUM units converted by ucumvert; mass, amount of substance and equivalents by a small sourced table.

A unit is untrusted text: it is bounded in length and in the size of its exponents before anything parses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from threading import Lock
from typing import Any, Literal

UCUM = "http://unitsofmeasure.org"

_LONGEST_UNIT = 64
_RELATIVE = 1e-9
_ANNOTATION = re.compile(r"^\{[^{}]*\}$")
_BIG_EXPONENT = re.compile(r"\d{4,}")
_EQUIVALENTS = re.compile(r"(?<![A-Za-z\[])([kmunp]?)eq(?![A-Za-z\]])")
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Analyte:
    """A substance: `grams` per mole, and the charge of its ion (0 where it has none)."""

    grams: float
    valence: int = 0


# Molar masses from the IUPAC Standard Atomic Weights (abridged, 2021): elements as they stand, molecules summed from
# their formulas. Valence is the charge of the ion that laboratories report. Urea nitrogen counts the two nitrogens.
ANALYTES: Mapping[str, Analyte] = {
    "bicarbonate": Analyte(61.017, 1),
    "bilirubin": Analyte(584.67),
    "calcium": Analyte(40.078, 2),
    "chloride": Analyte(35.45, 1),
    "cholesterol": Analyte(386.66),
    "creatinine": Analyte(113.12),
    "glucose": Analyte(180.16),
    "iron": Analyte(55.845),
    "lactate": Analyte(90.078),
    "magnesium": Analyte(24.305, 2),
    "phosphorus": Analyte(30.974),
    "potassium": Analyte(39.098, 1),
    "sodium": Analyte(22.990, 1),
    "urate": Analyte(168.11),
    "urea": Analyte(60.056),
    "urea-nitrogen": Analyte(28.014),
}


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity as it stands in a resource: its value, its comparator, and the UCUM unit that it names, if any."""

    value: Decimal | None
    unit: str | None
    comparator: str | None
    text: str

    @classmethod
    def of(cls, quantity: Mapping[str, Any]) -> Amount:
        """Read a FHIR Quantity. A UCUM code is the unit; without any code, the unit's text where it is valid UCUM."""
        value = decimal(quantity.get("value"))
        code, system, unit = quantity.get("code"), quantity.get("system"), quantity.get("unit")
        named: str | None
        if isinstance(code, str) and code:
            named = code if system in (UCUM, None) and is_ucum(code) else None
        else:
            named = unit if isinstance(unit, str) and is_ucum(unit) else None
        comparator = quantity.get("comparator")
        shown = " ".join(str(part) for part in (comparator, quantity.get("value"), unit or code) if part is not None)
        return cls(value, named, None if comparator is None else str(comparator), shown)


Comparison = Literal["equal", "unit", "value"]


def compare(
    actual: Amount, value: Decimal, unit: str, *, tolerance: Decimal | None = None, analyte: str | None = None
) -> Comparison:
    """`equal`, or what is wrong: `unit` where it is missing, cannot be converted or alone is wrong; else `value`.

    A comparator (`< 2 g`) makes it another value, whatever the number. What has no value at all has no unit to judge.

    `tolerance` is absolute, in `unit`; without it the relative difference may be 1e-9.
    """
    if actual.value is None:
        return "value"
    if actual.unit is None:
        return "unit"
    converted = convert(actual.value, actual.unit, unit, analyte=analyte)
    if converted is None:
        return "unit"
    if actual.comparator is not None:
        return "value"
    if _is_near(converted, value, tolerance):
        return "equal"
    if actual.unit != unit and _is_near(actual.value, value, tolerance):
        return "unit"
    return "value"


def convert(value: Decimal, source: str, target: str, *, analyte: str | None = None) -> Decimal | None:
    """`value` in `source` as a value in `target`; None where the one cannot be converted to the other.

    The same unit gives the value itself, digit by digit; another goes through binary floating point and comes back
    with 12 significant digits.
    """
    if source == target:
        return value
    line = _line(source, target, analyte)
    if line is None:
        return None
    slope, offset = line
    converted = float(value) * slope + offset  # infinite where the number is too large: no amount equals it
    return Decimal(f"{converted:.12g}")


def is_ucum(unit: str) -> bool:
    """Whether `unit` is a valid UCUM code."""
    return unit == "1" or bool(_ANNOTATION.match(unit)) or _parsed(unit) is not None


def decimal(value: object) -> Decimal | None:
    """A JSON number as a `Decimal`; None for anything else (`true` is no number, nor are NaN and infinity)."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    return number if number.is_finite() else None


def _is_near(actual: Decimal, expected: Decimal, tolerance: Decimal | None) -> bool:
    if actual == expected:
        return True
    distance, size = abs(float(actual) - float(expected)), max(abs(float(expected)), abs(float(actual)))
    return isfinite(distance) and distance <= float(tolerance or 0) + _RELATIVE * size


@lru_cache(maxsize=4096)
def _line(source: str, target: str, analyte: str | None) -> tuple[float, float] | None:
    """Slope and offset that take `source` to `target`, or None."""
    if _ANNOTATION.match(source) or _ANNOTATION.match(target):
        return None  # {tbl} and {cap} are both the number 1 in UCUM, and yet a tablet is no capsule
    substance = ANALYTES.get(analyte) if analyte else None
    if analyte and substance is None:
        raise ValueError(f"no molar mass for analyte {analyte!r}; known are {', '.join(sorted(ANALYTES))}")
    if substance and substance.valence:
        source, source_factor = _without_equivalents(source, substance)
        target, target_factor = _without_equivalents(target, substance)
    else:
        source_factor = target_factor = 1.0
        if _mentions_equivalents(source) != _mentions_equivalents(target):
            return None  # ucumvert takes every valence for 1
    a, b = _parsed(source), _parsed(target)
    if a is None or b is None:
        return None
    with _lock:
        plain = _affine(a, b)
        if plain is None and substance:
            plain = _through_moles(a, b, substance)
    if plain is None:
        return None
    slope, offset = plain
    return slope * source_factor / target_factor, offset / target_factor


def _affine(source: Any, target: Any) -> tuple[float, float] | None:
    from pint.errors import PintError

    try:
        zero, one = _at(source, target, 0.0), _at(source, target, 1.0)
    except (PintError, ArithmeticError, ValueError):
        return None
    return one - zero, zero


def _at(source: Any, target: Any, value: float) -> float:
    in_target = type(source)(value * source.magnitude, source.units).to(target.units)
    return float(in_target.magnitude) / float(target.magnitude)


def _through_moles(source: Any, target: Any, substance: Analyte) -> tuple[float, float] | None:
    molar_mass = type(source)(substance.grams, "gram/mole")
    if "[mass]" in source.dimensionality and "[substance]" in target.dimensionality:
        return _affine(source / molar_mass, target)
    if "[substance]" in source.dimensionality and "[mass]" in target.dimensionality:
        return _affine(source * molar_mass, target)
    return None


def _mentions_equivalents(unit: str) -> bool:
    return bool(_EQUIVALENTS.search(unit))


def _without_equivalents(unit: str, substance: Analyte) -> tuple[str, float]:
    """`meq/L` of a divalent ion is half as many `mmol/L`."""
    if not _mentions_equivalents(unit):
        return unit, 1.0
    return _EQUIVALENTS.sub(r"\1mol", unit), 1.0 / substance.valence


@lru_cache(maxsize=4096)
def _parsed(unit: str) -> Any:
    from lark.exceptions import LarkError
    from pint.errors import PintError

    if not unit or len(unit) > _LONGEST_UNIT or _BIG_EXPONENT.search(unit) or not unit.isascii():
        return None
    with _lock:
        try:
            quantity = _registry().from_ucum(unit)
        except (LarkError, PintError, ArithmeticError, AttributeError, ValueError, TypeError, AssertionError):
            return None
    return quantity if hasattr(quantity, "dimensionality") else None


@lru_cache(maxsize=1)
def _registry() -> Any:
    from ucumvert import PintUcumRegistry

    return PintUcumRegistry()
