"""The page's pictures as numbers: what is drawn where. Each says the same in words, for whoever does not see it.

Lengths across a bar are per cent of its width; those of flows and mosaics are units of their own view boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from readback.comparison.document import Pair
from readback.summary.document import Cells, LensRate, MessageState, Rate, Row
from readback.tables.agreement import coefficients, decimals
from readback.tables.words import interval, percent

QUADRANTS = {
    "CG": "correct, grounded", "CU": "correct, ungrounded", "IG": "incorrect, grounded", "IU": "incorrect, ungrounded",
    "refusal": "refusal", "vacuous": "names nothing",
}  # fmt: skip
"""The parts of a bar of quadrants, in order."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rate from 0 to 100 with Wilson's interval (`wide`) and that between clusters (`thin`), and all in words."""

    name: str
    words: str
    rate: float | None
    wide: tuple[float, float] | None
    thin: tuple[float, float] | None
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of one measure."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar: which, how many, from where and how wide."""

    code: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Stack:
    """One stacked bar."""

    name: str
    segments: tuple[Segment, ...]
    words: str
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class Stacks:
    """Stacked bars of one bucket, or of all."""

    title: str
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """An end of a flow: its outcome and count, where it stands, and where its words do."""

    side: str
    outcome: str
    count: int
    top: float
    height: float
    text: float


@dataclass(frozen=True, slots=True)
class Band:
    """A band of a flow: `pass_fail` goes from message passes to state fails."""

    cell: str
    count: int
    path: str


@dataclass(frozen=True, slots=True)
class Flow:
    """What the message lens says, flowing into what the record says."""

    name: str
    nodes: tuple[Node, ...]
    bands: tuple[Band, ...]
    words: str
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How many episodes of a row have a label, and how many of a hundred."""

    count: int
    share: float


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label over all rows."""

    label: str
    counts: tuple[LabelCount, ...]


@dataclass(frozen=True, slots=True)
class LabelProfile:
    """Which labels which rows have, the most frequent first."""

    columns: tuple[str, ...]
    rows: tuple[LabelRow, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell of a mosaic; its area is its share."""

    cell: str
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Gauge:
    """Kappa on a line: the point, its interval, the most that the margins allow, and zero."""

    point: float
    low: float | None
    high: float | None
    most: float | None
    zero: float


@dataclass(frozen=True, slots=True)
class Mosaic:
    """Two raters of the same episodes. `number` tells the pair in the page's filter."""

    number: int
    first: str
    second: str
    n: int
    tiles: tuple[Tile, ...]
    gauge: Gauge | None
    words: str
    counts: dict[str, int]


def bars_of(rows: Sequence[Row], judged: Mapping[str, Sequence[Rate | None]]) -> list[Bars]:
    """Success, or for repositories what is right and what is grounded; and what each judge passes.

    `judged` holds, by a judge's name, its rate in each row, None where it judged nothing of it.
    """
    found = [Bars(_success_name(rows), tuple(_bar(row, row.success) for row in rows))]
    of_lens: list[tuple[Row, LensRate]] = [(row, row.lenses["grounding"]) for row in rows if "grounding" in row.lenses]
    if of_lens:
        bars = tuple(_bar(row, rate, null=rate.null_rate) for row, rate in of_lens)
        found.append(Bars("Grounded, of answers that name something", bars))
    for name, rates in judged.items():
        bars = tuple(_bar(row, rate) for row, rate in zip(rows, rates, strict=True) if rate is not None)
        if bars:
            found.append(Bars(f"Passed by {name}", bars))
    return found


def row_name(row: Row) -> str:
    """A row in words; a fault and a counterfactual seed belong to its name."""
    name = f"{row.agent}, {row.condition}"
    if row.variant.get("fault"):
        name += f", fault {row.variant['fault']}"
    if row.variant.get("counterfactual") is not None:
        name += f", renamed {row.variant['counterfactual']}"
    return name + (", full validation" if row.variant.get("validation") == "full" else "")


def _success_name(rows: Sequence[Row]) -> str:
    return "Correct" if any(row.quadrants for row in rows) else "Success"


def _bar(row: Row, rate: Rate, *, null: float | None = None) -> Bar:
    words = (
        rate.why or "" if rate.rate is None else f"{percent(rate.rate, 1)} % ({interval(rate.ci95)}), n {rate.scored}"
    )
    if null is not None:
        words += f", null {percent(null, 1)}"
    return Bar(
        name=row_name(row),
        words=words,
        rate=None if rate.rate is None else 100 * rate.rate,
        wide=_percents(rate.ci95),
        thin=_percents(rate.ci95_cluster),
        is_baseline=row.kind == "baseline",
    )


def _percents(ci95: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if ci95 is None else (100 * ci95[0], 100 * ci95[1])


def stacks_of(rows: Sequence[Row]) -> list[Stacks]:
    """The quadrants of all questions, and of each bucket where there are several."""
    of = [(row, row.quadrants) for row in rows if row.quadrants is not None]
    if not of:
        return []
    buckets = list(dict.fromkeys(bucket for _, quadrants in of for bucket in quadrants.by_bucket))
    found = [_stacks("All questions", [(row, quadrants) for row, quadrants in of])]
    for bucket in buckets if len(buckets) > 1 else ():
        cells = [(row, quadrants.by_bucket[bucket]) for row, quadrants in of if bucket in quadrants.by_bucket]
        found.append(_stacks(f"Bucket {bucket}", cells))
    return found


def _stacks(title: str, cells: Sequence[tuple[Row, Cells]]) -> Stacks:
    return Stacks(title, tuple(_stack(row, of) for row, of in cells))


def _stack(row: Row, cells: Cells) -> Stack:
    counts = {code: int(getattr(cells, code)) for code in QUADRANTS}
    total, start = sum(counts.values()), 0.0
    segments: list[Segment] = []
    for code, count in counts.items():
        if count:
            width = 100 * count / total
            segments.append(Segment(code, count, start, width))
            start += width
    words = " · ".join(f"{code} {count}" for code, count in counts.items() if count)
    words += f" · unscored {cells.unscored}" if cells.unscored else ""
    return Stack(row_name(row), tuple(segments), words or "nothing", row.kind == "baseline")


FLOW_WIDTH, FLOW_HEIGHT = 300, 116
_LEFT, _RIGHT, _BODY, _GAP = 78, 222, 100, 10
_CELLS = ("pass_pass", "pass_fail", "fail_pass", "fail_fail")
_LEAST_APART = 15


def flows_of(rows: Sequence[Row]) -> list[Flow]:
    """Message against state, for every row of which both were judged."""
    return [_flow(row, row.message_state) for row in rows if row.message_state and _total(row.message_state)]


def _total(cells: MessageState) -> int:
    return sum(getattr(cells, cell) for cell in _CELLS)


def _flow(row: Row, cells: MessageState) -> Flow:
    counts = {cell: int(getattr(cells, cell)) for cell in _CELLS}
    scale = (_BODY - _GAP) / sum(counts.values())
    left = {"pass": counts["pass_pass"] + counts["pass_fail"], "fail": counts["fail_pass"] + counts["fail_fail"]}
    right = {"pass": counts["pass_pass"] + counts["fail_pass"], "fail": counts["pass_fail"] + counts["fail_fail"]}
    nodes = [*_nodes("left", left, scale), *_nodes("right", right, scale)]
    tops = {(node.side, node.outcome): node.top for node in nodes}
    bands = []
    for cell, count in counts.items():
        if not count:
            continue
        a, b = cell.split("_")
        y, z = tops["left", a], tops["right", b]
        height = count * scale
        tops["left", a] += height
        tops["right", b] += height
        bands.append(Band(cell, count, _band(y, z, height)))
    words = f"both pass {counts['pass_pass']}, message only {counts['pass_fail']}, state only {counts['fail_pass']},"
    words += f" neither {counts['fail_fail']}" + (f", {cells.excluded} excluded" if cells.excluded else "")
    return Flow(row_name(row), tuple(nodes), tuple(bands), words, row.kind == "baseline")


def _nodes(side: str, counts: dict[str, int], scale: float) -> Iterator[Node]:
    top, last = 8.0, -_LEAST_APART * 1.0
    for outcome, count in counts.items():
        height = count * scale
        if count:
            text = max(top + height / 2, last + _LEAST_APART)
            last = text
            yield Node(side, outcome, count, top, height, text)
        top += height + _GAP


def _band(y: float, z: float, height: float) -> str:
    middle = (_LEFT + _RIGHT) / 2
    return (
        f"M{_LEFT} {y:.1f}C{middle:g} {y:.1f} {middle:g} {z:.1f} {_RIGHT} {z:.1f}V{z + height:.1f}"
        f"C{middle:g} {z + height:.1f} {middle:g} {y + height:.1f} {_LEFT} {y + height:.1f}Z"
    )


def labels_of(rows: Sequence[Row]) -> LabelProfile | None:
    """The labels of the lenses that tasks require, over the rows that have any."""
    shown = [row for row in rows if row.labels]
    totals: dict[str, int] = {}
    for row in shown:
        for label, count in row.labels.items():
            totals[label] = totals.get(label, 0) + count
    if not totals:
        return None
    sizes = [row.success.scored + row.success.vacuous + row.success.unscored for row in shown]
    return LabelProfile(
        tuple(row_name(row) for row in shown),
        tuple(
            LabelRow(
                label,
                tuple(
                    LabelCount(row.labels.get(label, 0), 100 * row.labels.get(label, 0) / size)
                    for row, size in zip(shown, sizes, strict=True)
                ),
            )
            for label in sorted(totals, key=lambda label: (-totals[label], label))
        ),
    )


MOSAIC_WIDTH, MOSAIC_HEIGHT = 300, 150
_LOWEST = -0.5
"""The left end of a gauge of kappa; lower values stand there."""


def mosaics_of(pairs: Sequence[Pair]) -> list[Mosaic]:
    """Every pair over answered episodes, numbered as given."""
    return [_mosaic(number, pair) for number, pair in enumerate(pairs)]


def _mosaic(number: int, pair: Pair) -> Mosaic:
    cells = pair.cells
    counts = {cell: int(getattr(cells, cell)) for cell in _CELLS}
    kappa = pair.cohen_kappa
    words = f"kappa {decimals(kappa.value)}"
    words += f" ({coefficients(kappa)})" if kappa.ci95 else ""
    words += f", at most {decimals(kappa.max)}" if kappa.max is not None else f": {kappa.why}"
    words += f" · agreement {percent(pair.agreement.value, 1)} %" if pair.n else ""
    return Mosaic(
        number=number,
        first=pair.a.name,
        second=pair.b.name,
        n=pair.n,
        tiles=tuple(_tiles(counts)) if pair.n else (),
        gauge=None if kappa.value is None else _gauge(kappa.value, kappa.ci95, kappa.max),
        words=words,
        counts=counts,
    )


def _tiles(counts: dict[str, int]) -> Iterator[Tile]:
    """Columns by what the first says, parts of a column by what the second says."""
    total, x = sum(counts.values()), 0.0
    for a in ("pass", "fail"):
        column = {f"{a}_{b}": counts[f"{a}_{b}"] for b in ("pass", "fail")}
        size = sum(column.values())
        width = MOSAIC_WIDTH * size / total
        y = 0.0
        for cell, count in column.items():
            height = MOSAIC_HEIGHT * count / size if size else 0.0
            if count:
                yield Tile(cell, count, x, y, width, height)
            y += height
        x += width


def _gauge(value: float, ci95: tuple[float, float] | None, most: float | None) -> Gauge:
    place: Callable[[float], float] = lambda kappa: 100 * (max(_LOWEST, kappa) - _LOWEST) / (1 - _LOWEST)  # noqa: E731
    return Gauge(
        point=place(value),
        low=place(ci95[0]) if ci95 else None,
        high=place(ci95[1]) if ci95 else None,
        most=place(most) if most is not None else None,
        zero=place(0),
    )
