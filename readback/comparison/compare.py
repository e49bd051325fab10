"""From runs to the comparison: who takes part, every pair over both populations, and the same pairs by parts.

Baselines are reference rows: where other agents were measured in a suite, its baselines take no part (they would fill
the table with episodes nobody asked about), and how many are left out is said. Where only baselines were played they
are compared. What was played under a fault is never in a figure with what was not: it takes part only where all of a
suite was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from harness.counted import counted
from harness.runfolder import RunFolder
from readback.comparison.disagreements import disagreements_of
from readback.comparison.document import (
    ComparedRun,
    Comparison,
    Pair,
    RaterLine,
    Split,
    Votes,
)
from readback.comparison.pairs import OUTCOMES, POPULATIONS, alpha_of, pair_of
from readback.comparison.raters import Rater, compared, raters_of
from readback.comparison.reading import Rated, Reading, ReadRun, read_runs, source_of
from readback.summary.ledger import variant_of

By = Literal["condition", "agent", "bucket"]

_PARTS: dict[By, Callable[[Rated], str | None]] = {
    "condition": lambda one: one.entry.condition,
    "agent": lambda one: one.entry.agent,
    "bucket": lambda one: one.bucket,
}
_BUCKETS = ("high", "mid", "low")


class ComparisonError(ValueError):
    """There is nothing to compare. One sentence, with what to do next."""


def compare_runs(folders: Sequence[RunFolder], *, disagreements: int = 0, baselines: bool = False) -> Comparison:
    """Compare everything that was said about the episodes of these runs.

    `disagreements` is how many of the most instructive ones are listed; with `baselines`, theirs take part beside other
    agents'. Raises `ComparisonError` where no two raters that are compared judged a common episode, and what reading a
    run raises.
    """
    reading = read_runs([source_of(folder) for folder in folders])
    return compare_read(reading, disagreements=disagreements, baselines=baselines)


def compare_read(reading: Reading, *, disagreements: int = 0, baselines: bool = False) -> Comparison:
    """The same, of runs that were read already."""
    sources = [run.source for run in reading.runs]
    measured = reading.rated if baselines else _measured(reading.rated)
    taking_part = _headline(measured)
    raters: list[RaterLine] = []
    pairs: list[Pair] = []
    splits: list[Split] = []
    chosen: list[tuple[list[Rated], list[tuple[Rater, Rater]]]] = []
    for suite in dict.fromkeys(one.suite for one in taking_part):
        rated = [one for one in taking_part if one.suite == suite]
        known = raters_of(rated, sources)
        sides = compared(known)
        raters += [_line(rater, rated) for rater in known]
        pairs += _pairs(rated, sides)
        splits += _splits(suite, rated, sides)
        chosen.append((rated, sides))
    if not pairs:
        raise ComparisonError(_nothing(reading.runs, raters, taking_part, len(reading.rated) - len(measured)))
    return Comparison(
        runs=tuple(
            ComparedRun(run=run.source.run, suite=run.source.suite, created=run.source.created, episodes=len(run.rated))
            for run in reading.runs
        ),
        episodes=len(taking_part),
        same=reading.same,
        baselines_left_out=len(reading.rated) - len(measured),
        faults_left_out=len(measured) - len(taking_part),
        raters=tuple(raters),
        pairs=tuple(pairs),
        splits=tuple(splits),
        disagreements=tuple(disagreements_of(chosen, sources, disagreements)) if disagreements else (),
    )


def _measured(rated: Sequence[Rated]) -> tuple[Rated, ...]:
    suites = {one.suite for one in rated if one.entry.kind != "baseline"}
    return tuple(one for one in rated if one.entry.kind != "baseline" or one.suite not in suites)


def _headline(rated: Sequence[Rated]) -> tuple[Rated, ...]:
    suites = {one.suite for one in rated if not _has_fault(one)}
    return tuple(one for one in rated if one.suite not in suites or not _has_fault(one))


def _has_fault(one: Rated) -> bool:
    return variant_of(one.entry).get("fault") is not None


def _pairs(rated: Sequence[Rated], sides: Sequence[tuple[Rater, Rater]]) -> Iterator[Pair]:
    for a, b in sides:
        for population in POPULATIONS:
            found = pair_of(rated, a, b, population)
            if found is not None:
                yield found


def _splits(suite: str, rated: Sequence[Rated], sides: Sequence[tuple[Rater, Rater]]) -> Iterator[Split]:
    for by, part in _PARTS.items():
        values = dict.fromkeys(value for one in rated if (value := part(one)) is not None)
        if len(values) < 2:
            continue
        for value in sorted(values, key=lambda value: (_place(by, value), value)):
            chosen = [one for one in rated if part(one) == value]
            yield Split(suite=suite, by=by, value=value, pairs=tuple(_pairs(chosen, sides)))


def _place(by: By, value: str) -> int:
    known = _BUCKETS if by == "bucket" else ("default", "grounded") if by == "condition" else ()
    return known.index(value) if value in known else len(known)


def _line(rater: Rater, rated: Sequence[Rated]) -> RaterLine:
    judged = [one for one in rated if rater.key in one.said]
    outcomes = Counter(one.said[rater.key].outcome for one in judged)
    votes = Counter(vote for one in judged for vote in one.said[rater.key].votes)
    return RaterLine(
        suite=judged[0].suite,
        lens=rater.key.lens,
        config=rater.key.config,
        name=rater.name,
        kind=rater.kind,
        about=rater.about,
        episodes=len(judged),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        votes=Votes(given=votes.total() - votes["unscored"], unscored=votes["unscored"]) if votes else None,
        alpha=alpha_of(judged, rater.key),
    )


def _nothing(
    runs: Sequence[ReadRun], raters: Sequence[RaterLine], taking_part: Sequence[Rated], left_out: int
) -> str:  # fmt: skip
    first = taking_part[0].run if taking_part else runs[0].source.run
    names = " and ".join(repr(run.source.run) for run in runs)
    if not any(run.rated for run in runs):
        return f"{names} holds no episode; go on with it by readback resume {first}"
    who = ", ".join(dict.fromkeys(rater.name for rater in raters)) or "nobody"
    baselines = f", or take {counted(left_out, 'episode')} of baselines in by --baselines" if left_out else ""
    return (
        f"there is nothing to compare in {names}: judged by {who}; have it judged by"
        f" readback judge {first} --model MODEL, then compare again{baselines}"
    )
