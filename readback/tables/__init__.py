"""The tables of a run: one content, shown on a terminal, as Markdown, and in the report."""

from readback.tables.content import screen_of
from readback.tables.grid import Column, Grid, Screen
from readback.tables.markdown import markdown
from readback.tables.terminal import show

__all__ = ["Column", "Grid", "Screen", "markdown", "screen_of", "show"]
