"""The tables of a comparison: who rates, how far they agree, and what each finds of the incorrect answers.

Each figure stands twice, over answered episodes and over all with vacuous ones as passes, one below the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from harness.counted import counted
from readback.comparison.document import Comparison, DetectorSide, Figure, Pair, RaterLine, Split
from readback.tables.grid import Column, Grid, Screen
from readback.tables.words import NONE, interval, percent

Cell = Callable[[Pair], str]

_BY = {"condition": "condition", "agent": "agent", "bucket": "popularity bucket"}


def screen_of_comparison(comparison: Comparison) -> Screen:
    """Everything that the terminal, Markdown and the report show of a comparison's numbers."""
    suites = list(dict.fromkeys(pair.suite for pair in comparison.pairs))
    grids: list[Grid] = []
    for suite in suites:
        suffix = f" ({suite})" if len(suites) > 1 else ""
        raters = [rater for rater in comparison.raters if rater.suite == suite]
        names = _names(raters)
        grids.append(raters_grid(raters, suffix))
        grids += _of_pairs([pair for pair in comparison.pairs if pair.suite == suite], names, suffix)
        splits = [split for split in comparison.splits if split.suite == suite]
        for by in dict.fromkeys(split.by for split in splits):
            chosen = [split for split in splits if split.by == by]
            grids.append(_by_part(chosen, names, f", by {_BY[by]}{suffix}", _BY[by].capitalize()))
    return Screen(_head(comparison), tuple(grids), tuple(_notes(comparison)))


def raters_grid(raters: Sequence[RaterLine], suffix: str = "") -> Grid:
    """What each rater is, said, and how far its own votes agree."""
    columns = (
        Column("Rater", "left", squeeze=44),
        Column("Judged"),
        Column("Pass"),
        Column("Fail"),
        Column("Vacuous"),
        Column("Unscored"),
        Column("Votes", keep=2),
        Column("unscored", keep=1),
        Column("alpha"),
        Column("95 %", keep=3),
    )
    rows = tuple(
        (
            f"{letter(place)} {rater.name}",
            str(rater.episodes),
            *(str(rater.outcomes[outcome]) for outcome in ("pass", "fail", "vacuous", "unscored")),
            str(rater.votes.given) if rater.votes else NONE,
            str(rater.votes.unscored) if rater.votes else NONE,
            coefficient(rater.alpha),
            coefficients(rater.alpha),
        )
        for place, rater in enumerate(raters)
    )
    return Grid(f"Raters{suffix}, in episodes", columns, rows, _alpha_notes(raters))


def coefficient(number: Figure | None) -> str:
    """A coefficient between -1 and 1 with two decimals."""
    return NONE if number is None else decimals(number.value)


def coefficients(number: Figure | None) -> str:
    """The interval of a coefficient."""
    if number is None or number.ci95 is None:
        return NONE
    return f"{decimals(number.ci95[0])} to {decimals(number.ci95[1])}"


def decimals(value: float | None) -> str:
    """A value with two decimals; none is shown as less than nothing by its rounding."""
    if value is None:
        return NONE
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


Names = Mapping[tuple[str, str], str]
"""A rater's name in the tables by lens and configuration: its letter in the table of raters, and its first words."""


def _names(raters: Sequence[RaterLine]) -> Names:
    return {(rater.lens, rater.config): f"{letter(place)} {_first_words(rater)}" for place, rater in enumerate(raters)}


def _first_words(rater: RaterLine) -> str:
    """What a judge that is a rule is, it is in every table."""
    first = rater.name.split(" (")[0].split(",")[0]
    return f"{first.removeprefix('scripted:')} (a rule)" if rater.kind == "scripted" else first


def letter(place: int) -> str:
    """The letter that stands for a rater at this place of a list, counted from 0."""
    return chr(ord("A") + place) if place < 26 else f"R{place + 1}"


def _pair_name(pair: Pair, names: Names) -> str:
    return " / ".join(names[side.lens, side.config] for side in (pair.a, pair.b))


def _of_pairs(pairs: Sequence[Pair], names: Names, suffix: str) -> Iterable[Grid]:
    yield _grid(f"Agreement{suffix}", pairs, names, _AGREEMENT, _why(pairs))
    note = "First, second: the raters in the order of the name. Excluded: vacuous; unscored by the first + the second."
    yield _grid(f"Cells{suffix}, in episodes", pairs, names, _CELLS, (note,))
    if any(pair.detector.episodes for pair in pairs):
        yield _detectors(pairs, names, suffix)


_OVER: tuple[Column, Cell] = (Column("Over", "left"), lambda pair: pair.population)
_N: tuple[Column, Cell] = (Column("n"), lambda pair: str(pair.n))

_AGREEMENT: tuple[tuple[Column, Cell], ...] = (
    _OVER,
    _N,
    (Column("Agree %"), lambda pair: percent(pair.agreement.value, 1)),
    (Column("95 %", keep=5), lambda pair: interval(pair.agreement.ci95)),
    (Column("kappa"), lambda pair: coefficient(pair.cohen_kappa)),
    (Column("95 %", keep=1), lambda pair: coefficients(pair.cohen_kappa)),
    (Column("at most"), lambda pair: decimals(pair.cohen_kappa.max)),
    (Column("AC1"), lambda pair: coefficient(pair.ac1)),
    (Column("positive", keep=2), lambda pair: coefficient(pair.positive_agreement)),
    (Column("negative", keep=2), lambda pair: coefficient(pair.negative_agreement)),
)

_CELLS: tuple[tuple[Column, Cell], ...] = (
    _OVER,
    _N,
    (Column("Both pass"), lambda pair: str(pair.cells.pass_pass)),
    (Column("First only"), lambda pair: str(pair.cells.pass_fail)),
    (Column("Second only"), lambda pair: str(pair.cells.fail_pass)),
    (Column("Neither"), lambda pair: str(pair.cells.fail_fail)),
    (Column("Vacuous"), lambda pair: str(pair.excluded.vacuous)),
    (Column("Unscored"), lambda pair: f"{pair.excluded.unscored_a} + {pair.excluded.unscored_b}"),
    (Column("Unjudged", keep=2), lambda pair: f"{pair.unjudged.a} + {pair.unjudged.b}"),
)


def _grid(
    title: str,
    pairs: Sequence[Pair],
    names: Names,
    cells: Sequence[tuple[Column, Cell]],
    notes: tuple[str, ...] = (),
) -> Grid:
    columns = (Column("First / second", "left", squeeze=36), *(column for column, _ in cells))
    rows = tuple((_pair_name(pair, names), *(cell(pair) for _, cell in cells)) for pair in pairs)
    return Grid(title, columns, rows, notes)


def _detectors(pairs: Sequence[Pair], names: Names, suffix: str) -> Grid:
    cells: list[tuple[Column, Cell]] = [_OVER, (Column("n"), lambda pair: str(pair.detector.episodes))]
    for place, side in (("First", _first), ("Second", _second)):
        cells += [
            (Column(f"{place}: precision"), _of_side(side, "precision")),
            (Column("recall"), _of_side(side, "recall")),
            (Column("F1"), _of_side(side, "f1")),
        ]
    notes = [
        "A fail is a flag: TP = IU (incorrect, ungrounded), FP = CU, FN = IG, TN = CG, the study's convention. n: those"
        " whose answer is scored.",
        *sorted({f"{NONE} {why}." for pair in pairs for why in (pair.detector.a.why, pair.detector.b.why) if why}),
    ]
    return _grid(f"As detectors of incorrect answers{suffix}, in %", pairs, names, cells, tuple(notes))


def _first(pair: Pair) -> DetectorSide:
    return pair.detector.a


def _second(pair: Pair) -> DetectorSide:
    return pair.detector.b


def _of_side(side: Callable[[Pair], DetectorSide], name: str) -> Cell:
    return lambda pair: percent(getattr(side(pair), name), 1)


def _by_part(splits: Sequence[Split], names: Names, suffix: str, part: str) -> Grid:
    """Both populations side by side: what a part of the episodes says is short."""
    columns = (
        Column("First / second", "left", squeeze=36),
        Column(part, "left", squeeze=18),
        *(column for population in ("answered", "all") for column, _ in _of_part(population)),
    )
    rows = []
    for key in dict.fromkeys((pair.a, pair.b) for split in splits for pair in split.pairs):
        for split in splits:
            both = {pair.population: pair for pair in split.pairs if (pair.a, pair.b) == key}
            if both:
                cells = [cell(both[name]) for name in ("answered", "all") for _, cell in _of_part(name)]
                rows.append((_pair_name(both["all"], names), split.value, *cells))
    return Grid(f"Agreement{suffix}", columns, tuple(rows), _why([p for split in splits for p in split.pairs]))


def _of_part(population: Literal["answered", "all"]) -> tuple[tuple[Column, Cell], ...]:
    return (
        (Column(f"{population.capitalize()}: n"), lambda pair: str(pair.n)),
        (Column("Agree %", keep=1), lambda pair: percent(pair.agreement.value, 1)),
        (Column("kappa"), lambda pair: coefficient(pair.cohen_kappa)),
        (Column("95 %", keep=2), lambda pair: coefficients(pair.cohen_kappa)),
        (Column("AC1"), lambda pair: coefficient(pair.ac1)),
    )


def _why(pairs: Sequence[Pair]) -> tuple[str, ...]:
    whys = {number.why for pair in pairs for number in _numbers(pair) if number.why}
    return tuple(f"{NONE} {why}." for why in sorted(whys))


def _numbers(pair: Pair) -> tuple[Figure, ...]:
    return (pair.agreement, pair.cohen_kappa, pair.ac1, pair.positive_agreement, pair.negative_agreement)


def _alpha_notes(raters: Sequence[RaterLine]) -> tuple[str, ...]:
    if not any(rater.votes for rater in raters):
        return ()
    whys = sorted({rater.alpha.why for rater in raters if rater.alpha and rater.alpha.why})
    return ("alpha: Krippendorff's, between the votes of one rater.", *(f"{NONE} {why}." for why in whys))


def _head(comparison: Comparison) -> tuple[str, ...]:
    runs = ", ".join(f"{run.run} ({run.suite}, {run.created or 'no date'})" for run in comparison.runs)
    counts = counted(comparison.episodes, "episode")
    if comparison.same:
        counts += f", {comparison.same} of them in several runs and counted once"
    if comparison.baselines_left_out:
        counts += f"; {comparison.baselines_left_out} of baselines left out (--baselines takes them in)"
    if comparison.faults_left_out:
        counts += f"; {comparison.faults_left_out} under a fault left out (compare their run alone)"
    return (runs, counts)


def _notes(comparison: Comparison) -> Iterable[str]:
    first = comparison.pairs[0].bootstrap
    clusters = " or ".join(dict.fromkeys(pair.bootstrap.cluster for pair in comparison.pairs))
    yield (
        "Over answered: episodes that both raters can judge and neither calls vacuous. Over all: vacuous ones count as"
        " passes, since nothing in them is unsupported."
    )
    yield (
        f"95 %: bootstrap of {clusters} clusters, {first.draws} draws, seed {first.seed}. At most: the largest kappa"
        " that the raters' margins allow. Positive, negative: agreement on passes and on fails."
    )
    if any(rater.kind == "people" for rater in comparison.raters):
        yield (
            "People label a sheet that is drawn over the disagreements: figures with people are those of its episodes,"
            " and no estimate for the run (sheets.jsonl has what to weight them by)."
        )
    if any(rater.kind == "scripted" for rater in comparison.raters):
        yield "A judge marked as a rule is no model: it shows that everything works, and measures nothing else."
