"""The tables as Markdown, for a pull request or a paper's draft."""

from __future__ import annotations

import re

from harness.visible import in_line
from readback.tables.grid import Grid, Screen

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~!])")


def markdown(screen: Screen) -> str:
    """The screen as Markdown (pipe tables), ending in a new line. Names are data: nothing in them is formatted."""
    parts = ["\n".join(f"{escaped(line)}  " for line in screen.head).rstrip()]
    if screen.withheld:
        parts.append(escaped(screen.withheld))
    for grid in screen.grids:
        parts += [f"**{escaped(grid.title)}**", _pipe_table(grid), *map(escaped, grid.notes)]
    parts += map(escaped, screen.notes)
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown, and the HTML made of it, shows as it is."""
    safe = in_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)


def _pipe_table(grid: Grid) -> str:
    lines = [
        [escaped(column.header) for column in grid.columns],
        ["---" if column.align == "left" else "--:" for column in grid.columns],
        *([escaped(text) for text in row] for row in grid.marked()),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
