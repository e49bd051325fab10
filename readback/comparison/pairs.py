"""The numbers of one pair of raters over one population.

Counting rules:
- The pool of a pair are the episodes that both raters judged; those that only one did are `unjudged`.
- Over `answered`, an episode is excluded under the first that holds: one of them says vacuous; a is unscored; b is.
- Over `all`, vacuous is a pass, and only unscored ones are excluded, again a before b.
- As a detector of incorrect answers (the study's convention): a fail is a flag, so TP = IU, FP = CU, FN = IG, TN = CG.
  Only episodes of the population whose answer the `answer` lens scored take part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from harness.stats import DRAWS, SEED, Cells, Estimate, agreement, detector, krippendorff_alpha
from harness.verdict import Outcome
from readback.comparison.document import (
    Alphas,
    Bootstrap,
    CellCounts,
    DetectorPair,
    DetectorSide,
    Excluded,
    Kappa,
    Number,
    Pair,
    Population,
    SideName,
    Unjudged,
)
from readback.comparison.raters import Rater
from readback.comparison.reading import Rated, RaterKey

OUTCOMES: tuple[Outcome, ...] = ("pass", "fail", "vacuous", "unscored")
POPULATIONS: tuple[Population, ...] = ("answered", "all")


def pair_of(rated: Sequence[Rated], a: Rater, b: Rater, population: Population) -> Pair | None:
    """The pair over these episodes of one suite; None where both judged none of them."""
    pool = [one for one in rated if a.key in one.said and b.key in one.said]
    if not pool:
        return None
    excluded: Counter[str] = Counter()
    counted: list[tuple[Rated, bool, bool]] = []
    for one in pool:
        said = (one.said[a.key].outcome, one.said[b.key].outcome)
        why = _excluded(said, population)
        if why is None:
            counted.append((one, said[0] != "fail", said[1] != "fail"))
        else:
            excluded[why] += 1
    cells = Counter((x, y) for _, x, y in counted)
    found = agreement(_by_cluster(counted))
    return Pair(
        suite=pool[0].suite,
        a=side_name(a),
        b=side_name(b),
        population=population,
        n=len(counted),
        excluded=Excluded(**{name: excluded[name] for name in ("vacuous", "unscored_a", "unscored_b")}),
        unjudged=Unjudged(a=_lacking(rated, b, a), b=_lacking(rated, a, b)),
        cells=CellCounts(
            pass_pass=cells[True, True],
            pass_fail=cells[True, False],
            fail_pass=cells[False, True],
            fail_fail=cells[False, False],
        ),
        outcomes=_outcomes(pool, a.key, b.key),
        agreement=number(found.agreement),
        cohen_kappa=Kappa(**_fields(found.cohen_kappa), max=found.cohen_kappa_max.value),
        ac1=number(found.ac1),
        positive_agreement=number(found.positive_agreement),
        negative_agreement=number(found.negative_agreement),
        alpha=Alphas(
            a=alpha_of([one for one, _, _ in counted], a.key), b=alpha_of([one for one, _, _ in counted], b.key)
        ),
        detector=DetectorPair(
            episodes=sum(one.correct is not None for one, _, _ in counted),
            a=_detects((one, x) for one, x, _ in counted),
            b=_detects((one, y) for one, _, y in counted),
        ),
        bootstrap=Bootstrap(
            draws=DRAWS, cluster=cluster_word(pool[0].suite), clusters=found.clusters, seed=SEED
        ),
    )  # fmt: skip


def cluster_word(suite: str) -> str:
    """What a cluster of this suite is called."""
    return "repository" if suite == "repoqa" else "template"


def alpha_of(rated: Sequence[Rated], key: RaterKey) -> Number | None:
    """Krippendorff's alpha of a rater's own votes; None where it has no votes at all."""
    votes: list[list[Hashable | None]] = []
    clusters: list[Hashable] = []
    for one in rated:
        said = one.said.get(key)
        if said is not None and said.votes:
            votes.append([None if vote == "unscored" else vote for vote in said.votes])
            clusters.append(one.entry.task.cluster)
    return number(krippendorff_alpha(votes, clusters)) if votes else None


def number(estimate: Estimate) -> Number:
    """An estimate as it stands in the document."""
    return Number(**_fields(estimate))


def side_name(rater: Rater) -> SideName:
    """A rater as a side of a pair."""
    return SideName(lens=rater.key.lens, config=rater.key.config, name=rater.name)


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "ci95": estimate.ci95, "why": estimate.why}


def _excluded(said: tuple[Outcome, Outcome], population: Population) -> str | None:
    if population == "answered" and "vacuous" in said:
        return "vacuous"
    if said[0] == "unscored":
        return "unscored_a"
    return "unscored_b" if said[1] == "unscored" else None


def _by_cluster(counted: Iterable[tuple[Rated, bool, bool]]) -> dict[Hashable, Cells]:
    of: dict[Hashable, Counter[tuple[bool, bool]]] = {}
    for one, x, y in counted:
        of.setdefault(one.entry.task.cluster, Counter())[x, y] += 1
    order = ((True, True), (True, False), (False, True), (False, False))
    return {name: Cells(*(cells[place] for place in order)) for name, cells in sorted(of.items(), key=_named)}


_named: Callable[[tuple[Hashable, Any]], str] = lambda pair: str(pair[0])  # noqa: E731 - a key with a type


def _outcomes(pool: Sequence[Rated], a: RaterKey, b: RaterKey) -> dict[str, int]:
    found = Counter((one.said[a].outcome, one.said[b].outcome) for one in pool)
    return {f"{x}_{y}": found[x, y] for x in OUTCOMES for y in OUTCOMES}


def _lacking(rated: Sequence[Rated], has: Rater, lacks: Rater) -> int:
    return sum(has.key in one.said and lacks.key not in one.said for one in rated)


def _detects(counted: Iterable[tuple[Rated, bool]]) -> DetectorSide:
    found = Counter((passes, one.correct) for one, passes in counted if one.correct is not None)
    tp, fp, fn = found[False, False], found[False, True], found[True, False]
    sides = detector(hits=tp, false_alarms=fp, misses=fn)
    return DetectorSide(
        precision=sides.precision.value,
        recall=sides.recall.value,
        f1=sides.f1.value,
        tp=tp,
        fp=fp,
        fn=fn,
        tn=found[True, True],
        why=sides.why if found.total() else "no answer is scored by the lens answer",
    )
