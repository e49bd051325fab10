"""Differences between two sides that did the same work: pairs of one task and repeat, in clusters.

The primary test flips signs of whole clusters; McNemar's test stands beside it and ignores clusters, so it rejects a
true null too often where a cluster moves as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.stats.estimate import DRAWS, SEED, Estimate, undefined
from harness.stats.resampling import cluster_weights, percentile_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SUPPORT = 1 << 20
"""How many distinct sums the exact distribution may have (2^20: any 20 clusters, or any number of small counts)."""

_FLIPS = 100_000
"""How many random flips are drawn where the exact distribution would have more."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The p-value, how it was got, and the smallest one that so many clusters could give."""

    p: float | None
    method: Literal["exact", "monte carlo"] | None
    smallest: float | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Paired:
    """Side b against side a. `difference` is rate b - rate a with a cluster bootstrap interval."""

    pairs: int
    clusters: int
    only_a: int
    only_b: int
    rate_a: float | None
    rate_b: float | None
    difference: Estimate
    sign_flip: SignFlip
    mcnemar: Estimate


def paired(
    pairs: Iterable[tuple[Hashable, bool, bool]], *, draws: int = DRAWS, seed: int = SEED
) -> Paired:  # fmt: skip
    """Compare two sides over `(cluster, a passed, b passed)`, one for each pair that is scored on both sides."""
    rows = list(pairs)
    if not rows:
        none = undefined("no pair is scored on both sides")
        return Paired(0, 0, 0, 0, None, None, none, SignFlip(None, None, None, none.why), none)
    sums: dict[Hashable, int] = {}
    sizes: dict[Hashable, int] = {}
    for cluster, a, b in rows:
        sums[cluster] = sums.get(cluster, 0) + b - a
        sizes[cluster] = sizes.get(cluster, 0) + 1
    only_a = sum(a and not b for _, a, b in rows)
    only_b = sum(b and not a for _, a, b in rows)
    return Paired(
        pairs=len(rows),
        clusters=len(sums),
        only_a=only_a,
        only_b=only_b,
        rate_a=sum(a for _, a, _ in rows) / len(rows),
        rate_b=sum(b for _, _, b in rows) / len(rows),
        difference=_difference([*sums.values()], [*sizes.values()], draws, seed),
        sign_flip=sign_flip([*sums.values()], seed=seed),
        mcnemar=mcnemar(only_a, only_b),
    )


def sign_flip(sums: Sequence[float], *, seed: int = SEED) -> SignFlip:
    """Two-sided sign-flip test that the differences are symmetric about 0, over each cluster's sum of differences.

    Under the null each cluster's sum is as likely to have the other sign; the statistic is |Σ sums|, and p the chance
    of one at least as large over all flips. Exact (all flips, merged where their sums are equal, which keeps it exact
    for any number of clusters of counts); beyond 2^20 distinct sums from 100,000 seeded random flips, as
    (1 + hits) / (1 + flips). I. A. Canay, J. P. Romano and A. M. Shaikh, "Randomization tests under an approximate
    symmetry assumption", Econometrica 85 (2017) 1013-1030; the 1 +: B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol.
    Biol. 9 (2010) 39.

    With G clusters that differ at all, p is at least 2^(1-G): five clusters cannot reach 0.05.
    """
    if len(sums) < 2:
        return SignFlip(None, None, None, "one cluster cannot be tested" if sums else "there is no cluster")
    moved = [float(total) for total in sums if total != 0]
    smallest = 2.0 ** (1 - len(moved)) if moved else 1.0
    if not moved:
        return SignFlip(1.0, "exact", smallest)
    p = _exact_flips(moved)
    if p is not None:
        return SignFlip(p, "exact", smallest)
    return SignFlip(_random_flips(moved, seed), "monte carlo", max(smallest, 1 / (_FLIPS + 1)))


def mcnemar(only_a: int, only_b: int) -> Estimate:
    """McNemar's exact two-sided p from the pairs that only one side passed. It ignores clusters.

    p = min(1, 2 · P(X <= min(only_a, only_b))), X binomial over only_a + only_b with chance 1/2.
    Q. McNemar, Psychometrika 12 (1947) 153-157; the exact form: A. Agresti, "Categorical Data Analysis" (2013), 11.1.
    """
    total, least = only_a + only_b, min(only_a, only_b)
    term, tail = 1, 1
    for i in range(least):
        term = term * (total - i) // (i + 1)
        tail += term
    return Estimate(min(1.0, 2 * tail / 2**total))  # integers up to here: the parts would overflow a float


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the order given. None stays None and is not counted as a comparison.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979) 65-70.
    """
    order = sorted((p, i) for i, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    reached = 0.0
    for rank, (p, i) in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p))
        adjusted[i] = reached
    return adjusted


def _difference(sums: list[int], sizes: list[int], draws: int, seed: int) -> Estimate:
    value = sum(sums) / sum(sizes)
    if len(sums) < 2:
        return Estimate(value, None, "one cluster cannot be resampled")
    if not any(sums):
        return Estimate(value, None, "no cluster differs, so no interval can be estimated")
    import numpy as np

    weights = cluster_weights(len(sums), draws, seed)
    interval, why = percentile_interval((weights @ np.asarray(sums)) / (weights @ np.asarray(sizes)))
    return Estimate(value, interval, why)


def _exact_flips(moved: list[float]) -> float | None:
    """P(|sum of randomly signed `moved`| >= |their sum|), or None where it has too many distinct sums."""
    import numpy as np

    points: NDArray[np.float64] = np.zeros(1)
    chances: NDArray[np.float64] = np.ones(1)
    for size in sorted(abs(total) for total in moved):
        points, where = np.unique(np.concatenate((points - size, points + size)), return_inverse=True)
        chances = np.bincount(where, weights=np.concatenate((chances, chances)) / 2).astype(np.float64)
        if len(points) > _SUPPORT:
            return None
    seen = abs(math.fsum(moved))
    return min(1.0, float(chances[np.abs(points) >= seen - 1e-9 * max(1.0, seen)].sum()))


def _random_flips(moved: list[float], seed: int) -> float:
    import numpy as np

    generator, sizes, seen, hits = np.random.default_rng(seed), np.asarray(moved), abs(math.fsum(moved)), 0
    for start in range(0, _FLIPS, 10_000):
        signs = generator.integers(0, 2, size=(min(10_000, _FLIPS - start), len(moved)), dtype=np.int8) * 2 - 1
        hits += int((np.abs(signs @ sizes) >= seen - 1e-9 * max(1.0, seen)).sum())
    return (1 + hits) / (1 + _FLIPS)
