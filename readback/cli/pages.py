"""Text on the terminal: columns, and lines wrapped and indented. Whoever wrote the text, nothing hides in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING

from harness.visible import in_line
from readback.cli.output import is_terminal, result

if TYPE_CHECKING:
    from readback.cli.episode import Line

_WIDTH = 120
"""The width of what is written to a file or another program."""


def columns(rows: Iterable[Iterable[str]], *, right: Container[int] = ()) -> Iterator[str]:
    """The rows with their cells one below the other; the last cell of a row may be of any length.

    `right` are the columns of numbers, counted from 0: they stand at the right edge.
    """
    table = [[in_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for row in table:
        placed = zip(row, widths, strict=True)
        cells = (c.rjust(width) if at in right else c.ljust(width) for at, (c, width) in enumerate(placed))
        yield "  ".join(cells).rstrip()


def show_lines(lines: Iterable[Line]) -> None:
    """Lines wrapped to the terminal, with its colours; plain text where nobody is looking."""
    from rich.console import Console
    from rich.text import Text

    looking = is_terminal(sys.stdout)
    width = shutil.get_terminal_size().columns if looking else _WIDTH
    console = Console(width=width, highlight=False)
    for line in lines:
        room = max(20, width - line.indent - line.hang)
        for number, part in enumerate(Text(line.text, style=line.style).wrap(console, room) or [Text()]):
            part.pad_left(line.indent + (line.hang if number else 0))
            if looking:
                console.print(part, soft_wrap=True)
            else:
                result(part.plain.rstrip())
