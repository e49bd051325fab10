"""The comparison as a document: what `readback compare --json` prints. Within version 1 keys are only added.

A rater is one lens under one configuration: the predicate under a policy, a judge with its settings, people. An
undefined number is null, and the `why` beside it says the reason.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from harness.values import Value
from harness.verdict import Outcome

Interval = tuple[float, float]

Population = Literal["answered", "all"]
"""Which episodes a figure is over, of those that both raters judged.

- `answered`: those that both can judge and neither calls vacuous.
- `all`: those that both can judge; vacuous counts as a pass, since nothing in it is unsupported (the study's way).
"""

RaterKind = Literal["predicate", "lens", "model", "scripted", "people"]


class Number(Value):
    """A number with its 95 % interval; `why` is the reason where it, or only the interval, is undefined."""

    value: float | None
    ci95: Interval | None
    why: str | None


class Kappa(Value):
    """Cohen's kappa as a number; `max` is the largest that the raters' margins allow."""

    value: float | None
    ci95: Interval | None
    max: float | None
    why: str | None


Figure = Number | Kappa
"""Any number of a pair, with its interval."""


class SideName(Value):
    """One rater of a pair. `name` is for readers."""

    lens: str
    config: str
    name: str


class Excluded(Value):
    """Episodes that both raters judged and that are not among the `n`, each counted under the first that holds."""

    vacuous: int
    unscored_a: int
    unscored_b: int


class Unjudged(Value):
    """Episodes that only the other rater judged: `a` of them lack a verdict of a."""

    a: int
    b: int


class CellCounts(Value):
    """The two by two table. `pass_fail`: a passes, b fails."""

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int


class DetectorSide(Value):
    """A rater's fail taken as a flag. `tp` flagged and on target, `fp` flagged only, `fn` on target only, `tn` neither.

    With the predicate and the target `incorrect` they are IU, CU, IG and CG.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    tp: int
    fp: int
    fn: int
    tn: int
    why: str | None


class DetectorPair(Value):
    """How well each side's fail finds incorrect answers, over those of the `n` that the `answer` lens scored."""

    target: Literal["incorrect"] = "incorrect"
    episodes: int
    a: DetectorSide
    b: DetectorSide


class Alphas(Value):
    """Krippendorff's alpha of the votes of each side, over the pair's episodes; null where a side has no votes."""

    a: Number | None
    b: Number | None


class Bootstrap(Value):
    """How the intervals were made: so many draws of whole clusters."""

    draws: int
    cluster: str
    clusters: int
    seed: int


class Pair(Value):
    """Two raters of the same episodes. A pass is `positive`.

    `outcomes` counts the episodes that both judged by both outcomes (`pass_vacuous`: a passes, b says vacuous); it does
    not depend on the population.
    """

    suite: str
    a: SideName
    b: SideName
    population: Population
    n: int
    excluded: Excluded
    unjudged: Unjudged
    cells: CellCounts
    outcomes: dict[str, int]
    agreement: Number
    cohen_kappa: Kappa
    ac1: Number
    positive_agreement: Number
    negative_agreement: Number
    alpha: Alphas
    detector: DetectorPair
    bootstrap: Bootstrap


class Split(Value):
    """The same pairs over a part of the episodes: of one condition, agent or popularity bucket."""

    suite: str
    by: Literal["condition", "agent", "bucket"]
    value: str
    pairs: tuple[Pair, ...]


class Votes(Value):
    """The votes of one rater: all that stand in its verdicts, and how many of them say nothing."""

    given: int
    unscored: int


class RaterLine(Value):
    """One rater: what it is, what it said, and how far its own votes agree."""

    suite: str
    lens: str
    config: str
    name: str
    kind: RaterKind
    about: str
    episodes: int
    outcomes: dict[str, int]
    votes: Votes | None
    alpha: Number | None


class ComparedRun(Value):
    """A run that takes part; `created` is when it was begun, as its `run.json` says."""

    run: str
    suite: str
    created: str | None
    episodes: int


class Opinion(Value):
    """What one rater said about one episode: `evidence` are sentences, `votes` counts its votes by outcome."""

    lens: str
    config: str
    name: str
    outcome: Outcome
    labels: tuple[str, ...]
    votes: dict[str, int] | None
    evidence: tuple[str, ...]


class Disagreement(Value):
    """One episode on which raters differ. `correct` is what the `answer` lens says, null where it cannot."""

    suite: str
    run: str
    episode: str
    task: str
    agent: str
    condition: str
    variant: dict[str, Any]
    repeat: int
    pair: str
    question: str
    claim: str | None
    answer: tuple[Any, ...]
    note: str
    correct: bool | None
    opinions: tuple[Opinion, ...]


class Comparison(Value):
    """What raters say about the same episodes, in numbers.

    `same` counts episodes that stand in several runs with the same trace; they are taken once, with the verdicts of
    all. `baselines_left_out` counts those of baselines that are left out because other agents were measured,
    `faults_left_out` those under a fault that are left out because others were not.
    """

    format: Literal["readback.comparison/1"] = "readback.comparison/1"
    runs: tuple[ComparedRun, ...]
    episodes: int
    same: int
    baselines_left_out: int
    faults_left_out: int
    raters: tuple[RaterLine, ...]
    pairs: tuple[Pair, ...]
    splits: tuple[Split, ...]
    disagreements: tuple[Disagreement, ...] = Field(default=())
