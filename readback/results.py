"""Runs read once, with everything that is concluded from them: a summary each, and what their raters say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from readback.comparison.compare import ComparisonError, compare_read
from readback.comparison.document import Comparison
from readback.comparison.reading import Reading, ReadRun, Source, read_runs
from readback.summary.document import Summary
from readback.summary.null import null_rates
from readback.summary.summarise import summary_of_ledger


@dataclass(frozen=True, slots=True)
class Results:
    """Runs, their summaries in the same order, and their comparison; None where nobody is to be compared."""

    reading: Reading
    summaries: tuple[Summary, ...]
    comparison: Comparison | None

    @property
    def sources(self) -> tuple[Source, ...]:
        """The runs."""
        return tuple(run.source for run in self.reading.runs)


def results_of(sources: Sequence[Source], *, known: Mapping[str, Summary] | None = None) -> Results:
    """Read these runs and conclude. `known` are summaries that were made already, by the names of the runs.

    Raises `LedgerError` and `RunFolderError`.
    """
    reading = read_runs(sources)
    summaries = [(known or {}).get(run.source.run) or _summary(run) for run in reading.runs]
    try:
        comparison = compare_read(reading)
    except ComparisonError:
        comparison = None
    return Results(reading, tuple(summaries), comparison)


def _summary(run: ReadRun) -> Summary:
    stored = run.source.stored
    nulls = null_rates(stored.tasks(), stored.episodes())
    return summary_of_ledger(stored.about, run.ledger, run=run.source.run, nulls=nulls)
