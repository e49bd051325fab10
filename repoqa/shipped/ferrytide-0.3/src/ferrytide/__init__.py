"""Timetables for small ferries that sail by the tide."""

from ferrytide.board import parse_timetable, render_board
from ferrytide.fleet import CarDeck, Vessel
from ferrytide.problems import FerryTideError, TimetableSyntaxError
from ferrytide.sailing import Crossing, Timetable, next_departure, plan_crossings
from ferrytide.tariff import FareTable, apply_discount, quote_fare
from ferrytide.water import GaugeReading, TideCurve, read_gauge

__all__ = [
    "CarDeck",
    "Crossing",
    "FareTable",
    "FerryTideError",
    "GaugeReading",
    "TideCurve",
    "Timetable",
    "TimetableSyntaxError",
    "Vessel",
    "apply_discount",
    "next_departure",
    "parse_timetable",
    "plan_crossings",
    "quote_fare",
    "read_gauge",
    "render_board",
]

__version__ = "0.3.0"
