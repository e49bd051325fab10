"""Tides, foretold and measured."""

from .curve import TideCurve, windows_above
from .gauge import GaugeReading, read_gauge

__all__ = ["GaugeReading", "TideCurve", "read_gauge", "windows_above"]
