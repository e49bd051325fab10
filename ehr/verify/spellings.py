"""Units as people write them, and what they may stand for in UCUM."""

from __future__ import annotations

from collections.abc import Mapping

from ehr.verify.units import is_ucum

# Only spellings that can mean nothing else.
SPELLINGS: Mapping[str, str] = {
    "mmhg": "mm[Hg]", "mm hg": "mm[Hg]", "°c": "Cel", "c": "Cel", "celsius": "Cel", "degc": "Cel", "°f": "[degF]",
    "f": "[degF]", "fahrenheit": "[degF]", "degf": "[degF]", "bpm": "/min", "beats/min": "/min",
    "beats per minute": "/min", "/minute": "/min", "breaths/min": "/min", "lb": "[lb_av]", "lbs": "[lb_av]",
    "pounds": "[lb_av]", "in": "[in_i]", "inches": "[in_i]", "meq": "meq", "meq/l": "meq/L", "kilograms": "kg",
    "years": "a", "year": "a", "yr": "a", "yrs": "a", "y": "a", "years old": "a", "percent": "%",
    "x10^9/l": "10*9/L", "10^9/l": "10*9/L", "mcg": "ug", "mg/dl": "mg/dL", "mmol/l": "mmol/L",
    "g/dl": "g/dL",
}  # fmt: skip


def ucum_of(text: str) -> list[str]:
    """What a unit as people write it may stand for in UCUM: itself, and its common spelling (`37 C` is no coulomb)."""
    text = text.replace("\u00b5", "u").replace("\u03bc", "u")  # micro sign, Greek mu
    spelling = SPELLINGS.get(" ".join(text.casefold().split()))
    return [unit for unit in (text, spelling) if unit is not None and is_ucum(unit)]
