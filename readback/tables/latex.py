"""The tables as LaTeX, for a paper: one `table` each, with the rules of the package booktabs."""

from __future__ import annotations

from harness.visible import in_line
from readback.tables.grid import Grid, Screen

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "−": r"$-$", "·": r"$\cdot$", "…": r"\dots{}",
    "\u00a0": "~", "⏎": " ", "✓": r"$\checkmark$", "≥": r"$\geq$", "≤": r"$\leq$",
}  # fmt: skip


def latex(screen: Screen) -> str:
    """The screen as LaTeX, ending in a new line. It needs `booktabs`, UTF-8, and nothing else."""
    parts = ["% Needs \\usepackage{booktabs}.", *(f"% {in_line(line)}" for line in screen.head)]
    if screen.withheld:
        parts += ["", escaped(screen.withheld)]
    for grid in screen.grids:
        parts += ["", *_table(grid)]
    if screen.notes:
        parts += ["", *(f"% {in_line(note)}" for note in screen.notes)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return "".join(_SPECIAL.get(character, character) for character in in_line(text))


def _table(grid: Grid) -> list[str]:
    columns = "".join("l" if column.align == "left" else "r" for column in grid.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(grid.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row([column.header for column in grid.columns]),
        r"\midrule",
    ]
    for place, row in enumerate(grid.marked()):
        if place and place == grid.baselines:
            lines.append(r"\midrule")
        lines.append(_row(row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {escaped(note)}" for note in grid.notes]
    return [*lines, r"\end{table}"]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"
