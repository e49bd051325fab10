"""How one patient's laboratory values and vital signs run over the years: own level, slow drift, illness, noise."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ehr.tasks.synthetic.codes import LABS, VITALS
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.rows import MINUTES_A_DAY

_YEAR = 365 * MINUTES_A_DAY
_SKEWED = frozenset({
    "alt", "ast", "crp", "ferritin", "lactate", "nt-probnp", "triglycerides", "troponin", "tsh", "urine-albumin",
})  # fmt: skip

Shifts = Mapping[str, float]


class Body:
    """One patient's physiology. `shifts` are what problems and illnesses add to a test's or vital sign's mean."""

    def __init__(self, draw: Draw, sex: str, start: int, *, height: float, weight: float) -> None:
        self._draw, self._sex, self._start = draw, sex, start
        self._levels = {"height": height, "weight": weight}
        self._drifts: dict[str, tuple[float, ...]] = {"height": (0.0,) * 8}

    def labs(self, keys: tuple[str, ...], at: int, age: int, shifts: Shifts) -> dict[str, float]:
        """The results of tests done on one sample; what is computed from others agrees with them."""
        values = {key: self.lab(key, at, shifts) for key in keys}
        if "egfr" in values:
            values["egfr"] = _within(self._filtration(round(values["creatinine"], 2), age), 4, 140)
        if "hematocrit" in values:
            values["hematocrit"] = values["hemoglobin"] * 2.95 + self._draw.normal(0.0, 0.4)
            values["erythrocytes"] = values["hematocrit"] * 10 / values["mcv"]
        if "ldl" in values:
            values["cholesterol"] = values["ldl"] + values["hdl"] + values["triglycerides"] / 5
        return values

    def lab(self, key: str, at: int, shifts: Shifts) -> float:
        """A result at that time."""
        test = LABS[key]
        shift = shifts.get(key, 0.0)
        value = self._level(key, at) + shift
        if key in _SKEWED:
            value *= math.exp(self._draw.normal(0.0, 0.2))
        elif shift > 25 and key in ("glucose", "bedside-glucose"):
            value += self._draw.normal(0.0, test.within * 3)
        else:
            value += self._draw.normal(0.0, test.within)
        return _within(value, test.floor, test.ceiling)

    def vital(self, key: str, at: int, shifts: Shifts) -> float:
        """A vital sign at that time."""
        vital = VITALS[key]
        value = self._level(key, at) + shifts.get(key, 0.0) + self._draw.normal(0.0, vital.within)
        return _within(value, vital.floor, vital.ceiling)

    def _filtration(self, creatinine: float, age: int) -> float:
        """eGFR by CKD-EPI 2021 (Inker et al., N Engl J Med 2021;385:1737), mL/min/1.73 m2."""
        woman = self._sex == "female"
        ratio = creatinine / (0.7 if woman else 0.9)
        slope = -0.241 if woman else -0.302
        return float(142 * min(ratio, 1) ** slope * max(ratio, 1) ** -1.2 * 0.9938**age * (1.012 if woman else 1))

    def _level(self, key: str, at: int) -> float:
        """The patient's own mean, drifting from year to year."""
        drift = self._drifts.get(key)
        if drift is None:
            drift = self._begin(key)
        place = (at - self._start) / _YEAR
        knot = 0 if place < 0 else 6 if place >= 6 else int(place)
        return self._levels[key] + drift[knot] + (drift[knot + 1] - drift[knot]) * (place - knot)

    def _begin(self, key: str) -> tuple[float, ...]:
        draw = self._draw
        lab = LABS.get(key)
        if lab:
            mean = lab.female[2] if lab.female and self._sex == "female" else lab.mean
            spread = lab.between
        else:
            mean, spread = VITALS[key].mean, VITALS[key].between
        if key not in self._levels:
            self._levels[key] = mean * math.exp(draw.normal(0.0, 0.3)) if key in _SKEWED else draw.normal(mean, spread)
        size = 3.0 if key == "weight" else 0.5 * spread
        self._drifts[key] = tuple(draw.normal(0.0, size) for _ in range(8))
        return self._drifts[key]


def _within(value: float, floor: float, ceiling: float) -> float:
    return floor if value < floor else ceiling if value > ceiling else value
