"""Readings of a tide gauge."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class GaugeReading(NamedTuple):
    """What a gauge showed at an hour."""

    hour: float
    metres: float


def read_gauge(path: Path) -> list[GaugeReading]:
    """The readings of a file, one a line: hour and metres."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return [GaugeReading(*(float(part) for part in line.split())) for line in lines if line.strip()]


def mean_error(readings: list[GaugeReading], foretold: list[float]) -> float:
    """How far the tide was from what was foretold, on average."""
    return sum(reading.metres - height for reading, height in zip(readings, foretold, strict=True)) / len(readings)
