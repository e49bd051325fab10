"""The tables of questions about repositories: right or wrong by read or not, by bucket, and what renaming changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from readback.summary.document import Cells, CounterfactualDifference, Row
from readback.tables.grid import Column, Grid
from readback.tables.words import NONE, interval, percent, reasons_of_grounding, signed, signed_interval

Cell = Callable[[Row], str]


def quadrant_grids(rows: Sequence[Row], suffix: str) -> list[Grid]:
    """Success and grounding, the quadrants, and the quadrants of each bucket. Empty for other suites."""
    if not any(row.quadrants for row in rows):
        return []
    buckets = list(dict.fromkeys(bucket for row in rows if row.quadrants for bucket in row.quadrants.by_bucket))
    return [_rates(rows, suffix), _quadrants(rows, suffix), *(_of_bucket(rows, bucket, suffix) for bucket in buckets)]


def counterfactual_grid(differences: Sequence[CounterfactualDifference]) -> Grid:
    """Original beside counterfactual, in known repositories and in those that no model can know."""
    rows = tuple(
        (
            one.agent,
            one.condition,
            str(one.seed),
            percent(one.known.original, 1),
            percent(one.known.counterfactual, 1),
            signed(one.known.difference),
            percent(one.unknown.original, 1),
            percent(one.unknown.counterfactual, 1),
            signed(one.unknown.difference),
            signed(one.difference_in_differences),
            signed_interval(one.ci95),
        )
        for one in differences
    )
    columns = (
        Column("Agent", "left", squeeze=18),
        Column("Condition", "left", squeeze=12),
        Column("Seed", keep=2),
        Column("Known"),
        Column("renamed"),
        Column("change", keep=3),
        Column("Unknown"),
        Column("renamed"),
        Column("change", keep=3),
        Column("Difference"),
        Column("95 %", keep=1),
    )
    notes = [
        "Known: repositories that a model may remember; unknown: first released after the training of the models of"
        " their time. Difference: the change in known ones minus that in unknown ones, so what renaming does to the"
        " difficulty cancels. 95 %: bootstrap of repositories within each group.",
        *sorted({f"{NONE} {one.why}." for one in differences if one.why}),
    ]
    return Grid("Success on original and on renamed repositories, in %", columns, rows, tuple(notes))


def _grid(title: str, rows: Sequence[Row], cells: Sequence[tuple[Column, Cell]], notes: tuple[str, ...] = ()) -> Grid:
    columns = (Column("Agent", "left", squeeze=18), Column("Condition", "left", squeeze=12), *(c for c, _ in cells))
    lines = tuple((_name(row), row.condition, *(cell(row) for _, cell in cells)) for row in rows)
    return Grid(title, columns, lines, notes, next((i for i, row in enumerate(rows) if row.kind == "baseline"), None))


def _name(row: Row) -> str:
    return f"{row.agent} !" if row.success.flagged else row.agent


def _rates(rows: Sequence[Row], suffix: str) -> Grid:
    def grounding(row: Row, what: Callable[..., str], name: str) -> str:
        return what(getattr(row.lenses["grounding"], name)) if "grounding" in row.lenses else NONE

    cells: list[tuple[Column, Cell]] = [
        (Column("n", keep=2), lambda row: str(row.success.scored)),
        (Column("Correct"), lambda row: percent(row.success.rate, 1)),
        (Column("95 %", keep=4), lambda row: interval(row.success.ci95)),
        (Column("clustered"), lambda row: interval(row.success.ci95_cluster)),
        (Column("Grounded"), lambda row: grounding(row, lambda rate: percent(rate, 1), "rate")),
        (Column("clustered"), lambda row: grounding(row, interval, "ci95_cluster")),
        (Column("Null"), lambda row: grounding(row, lambda rate: percent(rate, 1), "null_rate")),
    ]
    most_repeats = max(len(row.pass_k) for row in rows)
    if most_repeats > 1:
        k = str(most_repeats)
        cells.insert(2, (Column(f"pass^{k}", keep=3), lambda row: percent(row.pass_k.get(k))))
    notes = (
        "Grounded: of answers that name something. Null: the same answers against reads for other questions.",
        *reasons_of_grounding(row.lenses["grounding"] for row in rows if "grounding" in row.lenses),
    )
    return _grid(f"Correct and grounded{suffix}, in %", rows, cells, notes)


def _quadrants(rows: Sequence[Row], suffix: str) -> Grid:
    def paper(name: str) -> Cell:
        return lambda row: str(getattr(row.quadrants.paper, name)) if row.quadrants else NONE

    cells = [
        *_cells(lambda row: row.quadrants),
        *((Column(f"{name}*", keep=5), paper(name)) for name in ("CG", "CU", "IG", "IU")),
    ]
    brackets = any(share.ci95_cluster for row in rows if row.quadrants for share in row.quadrants.shares.values())
    notes = (
        *(["In brackets: the share in %, 95 % by the error between repositories."] if brackets else []),
        "C correct, I incorrect; G grounded, U ungrounded. Refusals and other answers that name nothing are in none.",
        "*: by the study's own rules: correct if every entity of the truth is contained, refusals grounded.",
    )
    return _grid(f"Quadrants{suffix}, in episodes", rows, cells, notes)


def _of_bucket(rows: Sequence[Row], bucket: str, suffix: str) -> Grid:
    cells = _cells(lambda row: row.quadrants.by_bucket.get(bucket) if row.quadrants else None)
    return _grid(f"Quadrants in the bucket {bucket}{suffix}, in episodes", rows, cells)


def _cells(of: Callable[[Row], Cells | None]) -> list[tuple[Column, Cell]]:
    def cell(name: str) -> Cell:
        return lambda row: _with_interval(found, name) if (found := of(row)) else NONE

    names = {"CG": "CG", "CU": "CU", "IG": "IG", "IU": "IU", "refusal": "Refusal", "vacuous": "Vacuous"}
    shown = [(Column(header), cell(name)) for name, header in names.items()]
    return [*shown, (Column("Unscored", keep=1), cell("unscored"))]


def _with_interval(cells: Cells, name: str) -> str:
    """The count, and where it can be estimated, the interval of its share."""
    share = cells.shares.get(name)
    count = str(getattr(cells, name))
    return f"{count} ({interval(share.ci95_cluster)})" if share is not None and share.ci95_cluster else count
