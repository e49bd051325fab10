"""A table as data: the same cells for the terminal, Markdown and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `keep` 0 is always shown; where the page is narrow, the column with the greatest `keep` goes first.

    `squeeze`, for words, is the width to which a column may be wrapped before any column goes.
    """

    header: str
    align: Literal["left", "right"] = "right"
    keep: int = 0
    squeeze: int | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells as text, in rows, the first of each the agent's name; from row `baselines` on they are baselines'."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    baselines: int | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title!r} has {len(self.columns)} columns and a row of {len(row)}: {row!r}")

    def marked(self) -> tuple[tuple[str, ...], ...]:
        """The rows, with the word that tells a baseline after its name."""
        first = len(self.rows) if self.baselines is None else self.baselines
        return tuple((f"{row[0]} (baseline)", *row[1:]) if i >= first else row for i, row in enumerate(self.rows))


@dataclass(frozen=True, slots=True)
class Screen:
    """All that a run shows: a head, grids, notes; or, instead of grids, the one sentence why there are none."""

    head: tuple[str, ...]
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = field(default=())
    withheld: str | None = None
