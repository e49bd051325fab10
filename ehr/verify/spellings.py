"""Units as people write them, and what they may stand for in UCUM."""

from __future__ import annotations

from collections.abc import Mapping

from ehr.verify.units import is_ucum

# Only spellings that can mean nothing else.
SPELLINGS: Mapping[str, str] = {
    "mmhg": "mm[Hg]", "mm hg": "mm[Hg]", "millimeters of mercury": "mm[Hg]", "°c": "Cel", "c": "Cel",
    "celsius": "Cel", "degc": "Cel", "deg c": "Cel", "degrees c": "Cel", "degrees celsius": "Cel", "° c": "Cel",
    "cel": "Cel",
    "°f": "[degF]", "f": "[degF]", "fahrenheit": "[degF]", "degf": "[degF]", "deg f": "[degF]",
    "degrees f": "[degF]", "degrees fahrenheit": "[degF]", "° f": "[degF]", "bpm": "/min", "beats/min": "/min",
    "beats/minute": "/min", "beats per minute": "/min", "/minute": "/min", "breaths/min": "/min",
    "breaths/minute": "/min", "breaths per minute": "/min", "per minute": "/min", "lb": "[lb_av]", "lbs": "[lb_av]",
    "pound": "[lb_av]", "pounds": "[lb_av]", "in": "[in_i]", "inches": "[in_i]", "meq": "meq", "meq/l": "meq/L",
    "milliequivalents": "meq", "kilogram": "kg", "kilograms": "kg", "kgs": "kg", "gram": "g", "grams": "g",
    "milligram": "mg", "milligrams": "mg", "microgram": "ug", "micrograms": "ug", "mcg": "ug",
    "centimeters": "cm", "centimetres": "cm", "milliliters": "mL", "millilitres": "mL", "liters": "L",
    "litres": "L", "years": "a", "year": "a", "yr": "a", "yrs": "a", "y": "a", "years old": "a", "percent": "%",
    "per cent": "%", "mg": "mg", "g": "g", "kg": "kg", "ug": "ug", "ng": "ng", "pg": "pg", "ml": "mL", "dl": "dL",
    "l": "L", "cm": "cm", "mm": "mm", "mmol": "mmol", "umol": "umol", "nmol": "nmol", "fl": "fL", "iu": "[IU]",
    "mg/dl": "mg/dL", "mmol/l": "mmol/L", "g/dl": "g/dL", "g/l": "g/L", "mg/l": "mg/L", "ug/l": "ug/L",
    "mcg/l": "ug/L", "ug/dl": "ug/dL", "mcg/dl": "ug/dL", "ng/ml": "ng/mL", "ng/dl": "ng/dL", "ng/l": "ng/L",
    "pg/ml": "pg/mL", "ug/ml": "ug/mL", "mcg/ml": "ug/mL", "umol/l": "umol/L", "nmol/l": "nmol/L",
    "pmol/l": "pmol/L", "u/l": "U/L", "units/l": "U/L", "iu/l": "[IU]/L", "iu/ml": "[IU]/mL", "u/ml": "U/mL",
    "ku/l": "kU/L", "miu/l": "m[IU]/L", "miu/ml": "m[IU]/mL", "uiu/ml": "u[IU]/mL", "mu/l": "mU/L",
    "x10^9/l": "10*9/L", "10^9/l": "10*9/L", "×10^9/l": "10*9/L", "x10^12/l": "10*12/L", "10^12/l": "10*12/L",
    "×10^12/l": "10*12/L", "k/ul": "10*3/uL", "thousand/ul": "10*3/uL", "10^3/ul": "10*3/uL", "x10^3/ul": "10*3/uL",
    "×10^3/ul": "10*3/uL", "x10*3/ul": "10*3/uL", "10*3/ul": "10*3/uL", "m/ul": "10*6/uL", "million/ul": "10*6/uL",
    "10^6/ul": "10*6/uL", "x10^6/ul": "10*6/uL", "×10^6/ul": "10*6/uL", "cells/ul": "/uL", "kg/m^2": "kg/m2",
    "kg/m²": "kg/m2", "kg/m2": "kg/m2", "mm/h": "mm/h", "mm/hr": "mm/h", "mmol/mol": "mmol/mol",
    "ml/min": "mL/min", "ml/min/1.73m2": "mL/min/{1.73_m2}", "ml/min/1.73 m2": "mL/min/{1.73_m2}",
    "ml/min/1.73m²": "mL/min/{1.73_m2}", "ml/min/1.73 m²": "mL/min/{1.73_m2}",
    "ml/min/1.73m^2": "mL/min/{1.73_m2}", "ml/min/1.73 m^2": "mL/min/{1.73_m2}",
    "ml/min/{1.73_m2}": "mL/min/{1.73_m2}", "ml/min/1.73 sq m": "mL/min/{1.73_m2}", "kpa": "kPa",
    "cmh2o": "cm[H2O]",
}  # fmt: skip


def ucum_of(text: str) -> list[str]:
    """What a unit as people write it may stand for in UCUM: itself, and its common spelling (`37 C` is no coulomb)."""
    text = text.replace("\u00b5", "u").replace("\u03bc", "u")  # micro sign, Greek mu
    spelling = SPELLINGS.get(" ".join(text.casefold().split()))
    return [unit for unit in dict.fromkeys((text, spelling)) if unit is not None and is_ucum(unit)]
