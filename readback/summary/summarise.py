"""A run as numbers: its tasks, episodes and verdicts, each read once, become the summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from harness.plain import clean
from harness.runfolder import RunFolder
from harness.stats import DRAWS, SEED
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from readback.summary.comparisons import comparisons_of, validation_differences
from readback.summary.document import EpisodeCounts, RecordName, Resampling, Summary
from readback.summary.ledger import Ledger, read_ledger
from readback.summary.null import null_rates
from readback.summary.quadrants import counterfactual_differences
from readback.summary.rows import Key, by_row, row_of

if TYPE_CHECKING:
    from grounding import Null


def summarise(
    about: Mapping[str, Any],
    tasks: Iterable[Task],
    episodes: Iterable[Episode],
    verdicts: Iterable[Verdict],
    *,
    run: str,
) -> Summary:
    """The summary of a run. `about` is its `run.json`, `run` the name it is shown under (its folder).

    Of `about` it takes `suite`, `suite_digest`, `record`, `seed` and `planned` (the number of episodes; where it is not
    said, and of `sessions`, as many as there are).

    Raises `LedgerError` where tasks and episodes do not belong together.
    """
    return summary_of_ledger(about, read_ledger(tasks, episodes, verdicts), run=run)


def summary_of(folder: RunFolder) -> Summary:
    """The summary of a stored run."""
    ledger = read_ledger(folder.tasks(), folder.episodes(), folder.verdicts())
    nulls = null_rates(folder.tasks(), folder.episodes())
    return summary_of_ledger(folder.about, ledger, run=str(folder.path), nulls=nulls)


def summary_of_ledger(
    about: Mapping[str, Any], ledger: Ledger, *, run: str, nulls: Mapping[Key, Null] | None = None
) -> Summary:
    """The summary of a run that has been read already. `nulls` are the nulls of its rows, where there are any."""
    rows = by_row(ledger.entries.values())
    suite = str(about.get("suite", ""))
    cluster = "repository" if suite == "repoqa" else "template"
    unscored = sum(entry.success == "unscored" for entry in ledger.entries.values())
    played = len(ledger.entries)
    planned = about.get("planned")
    planned = planned if isinstance(planned, int) and not about.get("sessions") else played
    return Summary(
        run=clean(run),
        suite=suite,
        suite_digest=suite_digest if isinstance(suite_digest := about.get("suite_digest"), str) else None,
        record=_record(about.get("record")),
        seed=seed if isinstance(seed := about.get("seed"), int) else None,
        episodes=EpisodeCounts(
            planned=planned, scored=played - unscored, unscored=unscored, missing=max(0, planned - played)
        ),
        rows=tuple(
            row_of(entries, cluster, (nulls or {}).get(key), judges=ledger.configs.get("judge", ()))
            for key, entries in rows.items()
        ),
        comparisons=comparisons_of(rows, cluster),
        validation=validation_differences(rows),
        counterfactual=counterfactual_differences(rows),
        configs=dict(ledger.configs),
        statistics=Resampling(confidence=0.95, draws=DRAWS, seed=SEED),
    )


def _record(record: Any) -> RecordName | None:
    if not isinstance(record, Mapping) or not isinstance(record.get("hash"), str):
        return None
    return RecordName(
        hash=record["hash"], clock=str(record.get("clock", "")), synthetic=bool(record.get("synthetic", False))
    )
