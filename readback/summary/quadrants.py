"""Answers by whether they are right and were read: quadrants, what a prompt changes, what renaming changes.

Counting rules:
- An episode is in a quadrant if `answer` and `grounding` both judge it: C or I for right or wrong, G or U for grounded
  or not. A vacuous answer is in none: `refusal` if it is the exact sentence, else `vacuous`. If either lens is
  unscored, or the episode is, it is `unscored`.
- `paper` are the study's own quadrants: right by its own rule (every entity of the truth is contained; the note
  CONTAINS_TRUTH), and grounded also where the answer names nothing, refusals included.
- `grounded` pairs, over all episodes scored on both sides, whether an answer is grounded or names nothing, so a prompt
  can raise it by refusals alone; `grounded_answered` pairs only those that name something on both sides; `CG` pairs
  right and grounded, which no refusal can raise.
- On a suite without quadrants there is `grounded_answered` alone: by the lens `grounding`, whatever the answer is.
- `counterfactual` pairs the success of one task on the original with that on the renamed tree; known repositories
  against those that no model can know, whose change is what renaming alone does to the difficulty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from harness.stats import clustered
from harness.stats.differences import Changed, difference_in_differences
from harness.values import canonical
from readback.summary.document import Cells, CounterfactualDifference, GroupChange, PaperCells, Quadrants, Share
from readback.summary.ledger import Entry, variant_of

CONTAINS_TRUTH = "CONTAINS_TRUTH"
QUADRANTS = ("CG", "CU", "IG", "IU")
_CELLS = (*QUADRANTS, "refusal", "vacuous", "unscored")

Key = tuple[str, str, str]


def has_quadrants(entry: Entry) -> bool:
    """Whether the task is of a suite of repositories."""
    return entry.task.bucket is not None


def quadrants_of(entries: Sequence[Entry]) -> Quadrants | None:
    """The quadrants of these entries; None for other suites."""
    asked = [entry for entry in entries if has_quadrants(entry)]
    if not asked:
        return None
    buckets = sorted({entry.task.bucket or "" for entry in asked}, key=_bucket_place)
    by_bucket = {bucket: Cells(**_counts(e for e in asked if e.task.bucket == bucket)) for bucket in buckets}
    paper = Counter(_paper_cell(entry) for entry in asked)
    return Quadrants(
        **_counts(asked),
        by_bucket=by_bucket,
        paper=PaperCells(**{cell: paper[cell] for cell in (*QUADRANTS, "unscored")}),
    )


def cell_of(entry: Entry) -> str:
    """The quadrant of one entry, or why it is in none."""
    answer, grounding = entry.of("answer"), entry.of("grounding")
    if answer is None or grounding is None or entry.success == "unscored":
        return "unscored"
    if "unscored" in (answer.outcome, grounding.outcome):
        return "unscored"
    if grounding.outcome == "vacuous":
        return "refusal" if "REFUSAL" in grounding.labels else "vacuous"
    return ("C" if answer.outcome == "pass" else "I") + ("G" if grounding.outcome == "pass" else "U")


MEASURES: Mapping[str, Callable[[Entry], bool | None]] = {
    "grounded": lambda entry: _of_cell(entry, {"CG", "IG", "refusal", "vacuous"}, {"CU", "IU"}),
    "grounded_answered": lambda entry: grounded_answer(entry),
    "CG": lambda entry: _of_cell(entry, {"CG"}, {"CU", "IG", "IU", "refusal", "vacuous"}),
}
"""What two conditions are compared in beside success: an entry's value, None where it has none."""


def grounded_answer(entry: Entry) -> bool | None:
    """Whether an answer that claims something is grounded; None where it claims nothing or nobody can say."""
    if has_quadrants(entry):
        return _of_cell(entry, {"CG", "IG"}, {"CU", "IU"})
    said = entry.of("grounding")
    return {"pass": True, "fail": False}.get(said.outcome) if said is not None else None


def is_unscored(entry: Entry, measure: str) -> bool:
    """Whether nobody can say what an entry's value in a measure is; one whose answer claims nothing may have none
    either, and is not unscored.
    """
    if measure == "success":
        return entry.success == "unscored"
    if has_quadrants(entry):
        return cell_of(entry) == "unscored"
    said = entry.of("grounding")
    return said is None or said.outcome == "unscored"


def counterfactual_differences(rows: Mapping[Key, Sequence[Entry]]) -> tuple[CounterfactualDifference, ...]:
    """Every renamed row against the original one of the same agent and condition."""
    found = []
    for (agent, condition, _), entries in rows.items():
        variant = variant_of(entries[0])
        seed = variant.get("counterfactual")
        original = rows.get((agent, condition, canonical({**variant, "counterfactual": None}).decode()))
        if seed is None or original is None:
            continue
        before = {(entry.task.id, entry.repeat): entry for entry in original}
        both = [(before[key], after) for after in entries if (key := (after.task.id, after.repeat)) in before]
        scored = [(a, b) for a, b in both if {a.success, b.success} <= {"pass", "fail"}]
        result = difference_in_differences(
            (a.task.cluster, not a.task.unknown, a.success == "pass", b.success == "pass") for a, b in scored
        )
        found.append(
            CounterfactualDifference(
                agent=agent,
                condition=condition,
                seed=int(seed),
                unscored=len(both) - len(scored),
                known=_group(result.first),
                unknown=_group(result.second),
                difference_in_differences=result.difference.value,
                ci95=result.difference.ci95,
                why=result.difference.why,
            )
        )
    return tuple(found)


def _group(changed: Changed) -> GroupChange:
    return GroupChange(
        pairs=changed.pairs,
        clusters=changed.clusters,
        original=changed.rate_a,
        counterfactual=changed.rate_b,
        difference=changed.difference,
    )


def _counts(entries: Iterable[Entry]) -> dict[str, Any]:
    """How many entries are in each cell, and its share of those that are in any."""
    cells = [(entry.task.cluster, cell_of(entry)) for entry in entries]
    found = Counter(cell for _, cell in cells)
    scored = [(cluster, cell) for cluster, cell in cells if cell != "unscored"]
    return {
        **{cell: found[cell] for cell in _CELLS},
        "shares": {cell: _share(scored, cell) for cell in _CELLS if cell != "unscored"},
    }


def _share(scored: Sequence[tuple[str, str]], cell: str) -> Share:
    counts: dict[Hashable, tuple[int, int]] = {}
    for cluster, one in scored:
        inside, all_ = counts.get(cluster, (0, 0))
        counts[cluster] = (inside + (one == cell), all_ + 1)
    found = clustered(counts)
    return Share(rate=found.value, ci95_cluster=found.ci95, clusters=found.clusters, why=found.why)


def _of_cell(entry: Entry, true: set[str], false: set[str]) -> bool | None:
    cell = cell_of(entry)
    return True if cell in true else False if cell in false else None


def _paper_cell(entry: Entry) -> str:
    answer, grounding = entry.of("answer"), entry.of("grounding")
    if cell_of(entry) == "unscored" or answer is None or grounding is None:
        return "unscored"
    return ("C" if CONTAINS_TRUTH in answer.notes else "I") + ("U" if grounding.outcome == "fail" else "G")


def _bucket_place(bucket: str) -> tuple[int, str]:
    order = ("high", "mid", "low")
    return (order.index(bucket) if bucket in order else len(order), bucket)
