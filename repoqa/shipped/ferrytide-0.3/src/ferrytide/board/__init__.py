"""Timetables as text: written for the pier, and read again."""

from ferrytide.board.reading import parse_timetable
from ferrytide.board.writing import render_board

__all__ = ["parse_timetable", "render_board"]
