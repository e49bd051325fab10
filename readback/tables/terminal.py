"""The tables on a terminal, with rich. Readable at 120 columns, fewer columns at 80; nothing depends on colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.visible import in_line
from readback.tables.grid import Grid, Screen

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_GAP = 2
_MARK = "baselines:"


def show(screen: Screen, console: Console) -> None:
    """Print a screen. What does not fit is left out and named."""
    from rich.text import Text

    for line in screen.head:
        console.print(Text(in_line(line)))
    if screen.withheld:
        console.print()
        console.print(Text(in_line(screen.withheld)))
    for grid in screen.grids:
        fitting, left_out = fit(grid, console.width)
        console.print()
        console.print(Text(in_line(grid.title), style="bold"))
        console.print(_table(fitting))
        for note in grid.notes:
            console.print(Text(in_line(note), style="dim"))
        if left_out:
            names = ", ".join(dict.fromkeys(left_out))
            console.print(Text(f"Left out for want of width: {names}.", "dim"))
    if screen.notes:
        console.print()
    for note in screen.notes:
        console.print(Text(in_line(note), style="dim"))


def fit(grid: Grid, width: int) -> tuple[Grid, tuple[str, ...]]:
    """The grid without the columns that do not fit into `width`, and their headers in the order of the columns."""
    kept = list(range(len(grid.columns)))
    while _needed(grid, kept) > width:
        droppable = [i for i in kept if grid.columns[i].keep]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda i: (grid.columns[i].keep, i)))
    chosen = Grid(
        grid.title,
        tuple(grid.columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in grid.rows),
        grid.notes,
        grid.baselines,
    )
    return chosen, tuple(column.header for i, column in enumerate(grid.columns) if i not in kept)


def _needed(grid: Grid, kept: Sequence[int]) -> int:
    from rich.cells import cell_len

    widths = []
    for i in kept:
        widest = max(cell_len(in_line(text)) for text in (grid.columns[i].header, *(row[i] for row in grid.rows)))
        widths.append(min(widest, grid.columns[i].squeeze or widest))
    return sum(widths) + _GAP * (len(widths) - 1)


def _table(grid: Grid) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for column in grid.columns:
        wraps = column.squeeze is not None
        table.add_column(Text(in_line(column.header)), justify=column.align, no_wrap=not wraps, overflow="fold")
    for i, row in enumerate(grid.rows):
        if i == grid.baselines:
            table.add_row(_MARK)
        indent = "  " if grid.baselines is not None and i >= grid.baselines else ""
        table.add_row(Text(indent + in_line(row[0])), *(Text(in_line(text)) for text in row[1:]))
    return table
