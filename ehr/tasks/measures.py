"""What templates measure: the word a clinician says, the codes a chart may hold it under, its units.

Codes are those of `ehr.tasks.synthetic.codes` and, for records made elsewhere, the others that laboratories use for the
same test. LOINC content is copyright Regenstrief Institute, Inc., see there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from ehr.tasks.synthetic.codes import LABS, LOINC, VITALS

__all__ = [
    "A1C", "BEDSIDE_GLUCOSE", "EGFR", "GLUCOSE", "HEART_RATE", "INR", "LOINC", "MAGNESIUM", "POTASSIUM", "SATURATION",
    "TEMPERATURE", "WEIGHT", "Measure", "Unit",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in which a measure is reported: UCUM code, as shown, decimals, and the LOINC code that goes with it.

    `reference` is the usual range in it, for rows that look like a laboratory's.
    """

    ucum: str
    shown: str
    places: int
    code: str
    display: str
    reference: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Measure:
    """A laboratory test or vital sign.

    `word` is what clinicians call it, `label` the chart's name of it; `unit` what answers are given in, `other` another
    that charts hold it in; `also` more LOINC codes of the same test in `unit`. `tolerance` is half of the last digit
    that is reported, in `unit`. `analyte` names it in the tables of molar masses.
    """

    word: str
    label: str
    category: str
    unit: Unit
    low: float
    high: float
    tolerance: str
    other: Unit | None = None
    also: tuple[str, ...] = ()
    analyte: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Every LOINC code a chart may hold it under."""
        other = (self.other.code,) if self.other and self.other.code != self.unit.code else ()
        return (self.unit.code, *self.also, *other)

    def as_parameters(self) -> dict[str, Any]:
        """For a case's parameters: the codes a clinician's word stands for, and the unit that is asked for."""
        return {"loinc": list(self.codes), "unit": self.unit.ucum, "analyte": self.analyte}


def _lab(key: str, word: str, low: float, high: float, *also: str, analyte: str | None = None) -> Measure:
    lab = LABS[key]
    unit = Unit(lab.unit, lab.shown or lab.unit, lab.places, lab.code, lab.display, (lab.low, lab.high))
    other = None
    if lab.molar:
        code, display, ucum, factor, places = lab.molar
        ends = [None if end is None else round(end * factor, places) for end in (lab.low, lab.high)]
        other = Unit(ucum, ucum, places, code, display, (ends[0], ends[1]))
    tolerance = f"{0.5 * 10**-lab.places:.{lab.places + 1}f}"
    return Measure(word, lab.name, "laboratory", unit, low, high, tolerance, other, also, analyte)


def _vital(
    key: str, word: str, low: float, high: float, *also: str, other: tuple[str, str, int] | None = None
) -> Measure:
    vital = VITALS[key]
    unit = Unit(vital.unit, vital.shown, vital.places, vital.code, vital.display)
    second = Unit(other[0], other[1], other[2], vital.code, vital.display) if other else None
    tolerance = f"{0.5 * 10**-vital.places:.{vital.places + 1}f}"
    return Measure(word, vital.name, "vital-signs", unit, low, high, tolerance, second, also)


MAGNESIUM: Final = _lab("magnesium", "serum magnesium", 0.8, 2.9, analyte="magnesium")
POTASSIUM: Final = _lab("potassium", "serum potassium", 2.6, 6.9, "6298-4", "2824-1", analyte="potassium")
GLUCOSE: Final = _lab("glucose", "serum glucose", 62, 340, "2339-0", analyte="glucose")
EGFR: Final = _lab("egfr", "eGFR", 12, 110, "33914-3", "62238-1", "48642-3", "48643-1", "77147-7")
A1C: Final = _lab("a1c", "HbA1c", 5.0, 11.0, "17856-6", "4549-2")
INR: Final = _lab("inr", "INR", 1.1, 8.4, "34714-6", "46418-0")
_CAPILLARY: Final = Unit(
    "mmol/L", "mmol/L", 1, "14743-9", "Glucose [Moles/volume] in Capillary blood by Glucometer", (3.9, 7.8)
)
BEDSIDE_GLUCOSE: Final = replace(
    _lab("bedside-glucose", "bedside glucose", 62, 340, analyte="glucose"), other=_CAPILLARY
)
HEART_RATE: Final = _vital("heart-rate", "heart rate", 48, 142)
SATURATION: Final = _vital("oxygen-saturation", "oxygen saturation", 86, 99, "2708-6")
TEMPERATURE: Final = _vital("temperature", "temperature", 35.6, 40.1, "8331-1", other=("[degF]", "°F", 1))
WEIGHT: Final = _vital("weight", "weight", 46, 128, "3141-9", other=("[lb_av]", "lb", 1))
