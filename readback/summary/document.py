"""The summary of a run as a document: what `--json` prints, what the report holds, and its JSON Schema.

An undefined number is null, and the `why` beside it says the reason. Within version 1 keys are only added.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from harness.values import Value

Interval = tuple[float, float]

_ALIASED = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)
"""Some keys are words that Python keeps for itself."""


class Rate(Value):
    """How often something passed. `rate` is pass / (pass + fail); vacuous and unscored stand beside it, never in it.

    `ci95` is Wilson's interval, `se_cluster` and `ci95_cluster` the error between clusters with t on G - 1. `bounds`,
    given where anything is unscored, are the rate if all of that had failed, and if all had passed; `flagged` says
    that more than 5 % of the episodes are unscored. `why` is the reason that there is no rate, `why_cluster` that there
    is no clustered error.
    """

    model_config = _ALIASED

    passed: int = Field(alias="pass")
    fail: int
    vacuous: int
    unscored: int
    rate: float | None
    ci95: Interval | None
    bounds: Interval | None
    cluster: str
    clusters: int
    se_cluster: float | None
    ci95_cluster: Interval | None
    flagged: bool
    why: str | None
    why_cluster: str | None

    @property
    def scored(self) -> int:
        """How many are in the rate."""
        return self.passed + self.fail


class LensRate(Rate):
    """A lens over all episodes that it judged, whether or not their tasks require it, and the labels it gave.

    `null_rate` is the rate of the same answers against other episodes' traces, and `null_why` the reason that there is
    none; only the grounding lens has them.
    `is_rule` says of a judge that it is a rule and no model.
    """

    labels: dict[str, int]
    null_rate: float | None = None
    null_why: str | None = None
    is_rule: bool = False


class Split(Value):
    """Success by what the task wants: an answer, a write, or that nothing is written. Null where no task is of it."""

    model_config = _ALIASED

    reads: Rate | None = Field(alias="read")  # `read` is how any value is read from its line
    write: Rate | None
    withhold: Rate | None


class Twin(Value):
    """Pairs of twins with both sides scored in one repeat, and in how many both succeeded.

    `unscored` counts pairs of which a side is not; a pair of which only one side was played is in neither.
    """

    model_config = _ALIASED

    passed: int = Field(alias="pass")
    pairs: int
    unscored: int
    rate: float | None
    ci95: Interval | None
    why: str | None


class MessageState(Value):
    """The message lens (first) against the state lens (second). `excluded`: one of them cannot judge."""

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int
    excluded: int


class OwnReadback(Value):
    """Of the scored episodes in which the server acknowledged a write of the agent, in how many it read all of it back.

    Read back is what `ehr.verify.readback` says: each resource written was read, or its type searched, afterwards.
    """

    wrote: int
    read_back: int


class FalseDone(Value):
    """Of the scored episodes that claim `done` (`claimed`), how many did not succeed (`false`)."""

    model_config = _ALIASED

    claimed: int
    untrue: int = Field(alias="false")
    rate: float | None
    ci95: Interval | None
    why: str | None


class RepairedWrites(Value):
    """Of the scored episodes in which the server refused a needed write, in how many the agent mended all of them."""

    refused: int
    repaired: int


class RowUsage(Value):
    """Tokens, model calls and money of all episodes, unscored ones too.

    `cost_usd` is null where the price of any used token is unknown; `cost_known_usd` is the sum of what is known and
    `cost_unknown` how many episodes it lacks. `why` is the reason that there is no cost.
    """

    input: int
    output: int
    cached: int
    calls: int
    cost_usd: float | None
    cost_known_usd: float | None
    cost_unknown: int
    why: str | None = None


class Seconds(Value):
    """How long a scored episode took, from its first moment to its last; `why` there is no median."""

    median: float | None
    why: str | None = None


class Share(Value):
    """The share of one cell in all episodes that are in any, with its error between repositories."""

    rate: float | None
    ci95_cluster: Interval | None
    clusters: int
    why: str | None


class Cells(Value):
    """Correct or incorrect by grounded or ungrounded, and what is in none of them; no refusal is in `vacuous`."""

    CG: int
    CU: int
    IG: int
    IU: int
    refusal: int
    vacuous: int
    unscored: int
    shares: dict[str, Share]


class PaperCells(Value):
    """The study's own quadrants: right by containment, and grounded also where an answer names nothing."""

    CG: int
    CU: int
    IG: int
    IU: int
    unscored: int


class Quadrants(Cells):
    """The quadrants of all episodes, and of each popularity bucket; `paper` by the study's own rules."""

    by_bucket: dict[str, Cells]
    paper: PaperCells


class Row(Value):
    """One agent under one condition and variant.

    `labels` and `notes` count episodes by what the lenses that their tasks require said; an episode with two labels
    counts under both. `pass_k` has k up to the most repeats of a task, `pass_k_tasks` over how many tasks each is, and
    `pass_k_why` is the reason that one is null.
    `judges` has each judge by its configuration; among the `lenses` a judge stands only where it is the run's only one.
    """

    agent: str
    kind: str
    condition: str
    variant: dict[str, Any]
    success: Rate
    lenses: dict[str, LensRate]
    judges: dict[str, LensRate] = Field(default_factory=dict)
    split: Split
    twin: Twin
    pass_k: dict[str, float | None]
    pass_k_tasks: dict[str, int]
    pass_k_why: str | None = None
    labels: dict[str, int]
    notes: dict[str, int]
    endings: dict[str, int]
    claims: dict[str, int]
    message_state: MessageState | None
    own_readback: OwnReadback
    false_done: FalseDone
    repaired_writes: RepairedWrites
    quadrants: Quadrants | None
    usage: RowUsage
    seconds: Seconds


class Side(Value):
    """What is compared."""

    agent: str
    condition: str
    variant: dict[str, Any]


class Comparison(Value):
    """Side b against side a over the pairs of task and repeat that are scored on both: `difference` is b - a.

    `p_sign_flip` (primary) flips whole clusters; `smallest_p` is the least it could be with so few clusters that
    differ. `p_mcnemar` ignores clusters. `p_holm` adjusts the primary over all comparisons of its measure. `ci95` is
    a cluster bootstrap interval. Pairs played on both sides that are not among the `pairs`: `unscored` where one of the
    two is, else `vacuous`, where one of the two claims nothing.
    """

    a: Side
    b: Side
    measure: Literal["success", "grounded", "grounded_answered", "CG"]
    pairs: int
    unscored: int
    vacuous: int = 0
    rate_a: float | None
    rate_b: float | None
    only_a: int
    only_b: int
    difference: float | None
    ci95: Interval | None
    p_sign_flip: float | None
    p_mcnemar: float | None
    p_holm: float | None
    smallest_p: float | None
    method: Literal["exact", "monte carlo"] | None
    cluster: str
    clusters: int
    why: str | None


class ValidationDifference(Value):
    """How often full validation led one agent to another end than HAPI's usual one, over tasks played under both.

    `pairs` are scored on both sides; `only_hapi` and `only_full` succeed under one alone.
    """

    agent: str
    condition: str
    fault: str | None
    pairs: int
    only_hapi: int
    only_full: int


class GroupChange(Value):
    """A group of repositories: success on the original trees and on the renamed ones, over pairs of one task."""

    pairs: int
    clusters: int
    original: float | None
    counterfactual: float | None
    difference: float | None


class CounterfactualDifference(Value):
    """What renaming by one seed changes, in known repositories and in those that no model can know.

    `difference_in_differences` is known minus unknown, with a cluster bootstrap interval within each group: what
    renaming does to the difficulty is in both, and what memory had given is in the known ones alone.
    """

    agent: str
    condition: str
    seed: int
    unscored: int
    known: GroupChange
    unknown: GroupChange
    difference_in_differences: float | None
    ci95: Interval | None
    why: str | None


class RecordName(Value):
    """Which record was played on."""

    hash: str
    clock: str
    synthetic: bool


class EpisodeCounts(Value):
    """How many episodes were planned, how many have an outcome, how many have none, how many were not played."""

    planned: int
    scored: int
    unscored: int
    missing: int


class Resampling(Value):
    """What the intervals and tests of this document were computed with."""

    confidence: float
    draws: int
    seed: int


class Summary(Value):
    """A run in numbers."""

    format: Literal["readback.summary/1"] = "readback.summary/1"
    run: str
    suite: str
    suite_digest: str | None
    record: RecordName | None
    seed: int | None
    episodes: EpisodeCounts
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    validation: tuple[ValidationDifference, ...] = ()
    counterfactual: tuple[CounterfactualDifference, ...] = ()
    configs: dict[str, tuple[str, ...]]
    statistics: Resampling

    @property
    def incomplete(self) -> bool:
        """Whether anything is unscored or was not played (exit code 3)."""
        return bool(self.episodes.unscored or self.episodes.missing)
