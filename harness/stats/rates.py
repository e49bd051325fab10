"""How often something passes: a rate, how sure one can be of it, and whether it holds in every repeat.

A rate is passes / (passes + fails). What is vacuous or unscored is never in it; `bounds` says how much the unscored
could have moved it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from harness.stats.estimate import Estimate, undefined

_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Clustered:
    """A rate whose uncertainty is measured between clusters: standard error, interval, number of clusters.

    `se` and `ci95` are None, and `why` the reason, where there is nothing to measure it by.
    """

    value: float | None
    se: float | None
    ci95: tuple[float, float] | None
    clusters: int
    why: str | None = None


def wilson(passed: int, scored: int) -> Estimate:
    """The rate `passed / scored` with Wilson's score interval (95 %). It takes the observations as independent.

    centre = (p + z²/2n) / (1 + z²/n), half width = z/(1 + z²/n) · sqrt(p(1-p)/n + z²/4n²).
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212.

    Raises `ValueError` unless 0 <= passed <= scored.
    """
    if not 0 <= passed <= scored:
        raise ValueError(f"passed must lie between 0 and scored, got {passed!r} of {scored!r}")
    if scored == 0:
        return undefined("nothing was scored")
    rate, z2 = passed / scored, _Z * _Z
    scale = 1 + z2 / scored
    centre = (rate + z2 / (2 * scored)) / scale
    half = _Z / scale * math.sqrt(rate * (1 - rate) / scored + z2 / (4 * scored * scored))
    # At the ends the formula is exact (0 and 1); only rounding would move it off them.
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == scored else min(1.0, centre + half)
    return Estimate(rate, (low, high))


def clustered(counts: Mapping[Hashable, tuple[int, int]]) -> Clustered:
    """The rate over clusters, each given as `(passed, scored)`, with a cluster-robust error and t on G - 1.

    With residual sums s_g = passed_g - p · scored_g over G clusters and n observations,
    var = G/(G-1) · Σ s_g² / n². K.-Y. Liang and S. L. Zeger, Biometrika 73 (1986) 13-22; the G/(G-1) and t on G - 1 are
    those of A. C. Cameron and D. L. Miller, J. Human Resources 50 (2015) 317-372; for evaluations of language models,
    E. Miller, "Adding error bars to evals", arXiv:2411.00640 (2024). The interval is cut to [0, 1].

    The error is undefined with fewer than two clusters, and where no cluster departs from the mean: a sample without
    variation does not show that there is none.
    """
    kept = {name: pair for name, pair in counts.items() if pair[1] > 0}
    groups, scored = len(kept), sum(pair[1] for pair in kept.values())
    if scored == 0:
        return Clustered(None, None, None, 0, "nothing was scored")
    passed = sum(pair[0] for pair in kept.values())
    rate = passed / scored
    if groups < 2:
        return Clustered(rate, None, None, groups, "one cluster cannot show how clusters differ")
    # Residuals are kept as integers, so that "no variation" is seen exactly: s_g · n = passed_g · n - passed · n_g.
    squares = sum((k * scored - passed * n) ** 2 for k, n in kept.values())
    if squares == 0:
        return Clustered(rate, None, None, groups, "every cluster has the same rate, so no error can be estimated")
    se = math.sqrt(groups / (groups - 1) * squares) / scored / scored
    from scipy.special import stdtrit

    half = float(stdtrit(groups - 1, 0.975)) * se
    return Clustered(rate, se, (max(0.0, rate - half), min(1.0, rate + half)), groups)


def bounds(passed: int, failed: int, unscored: int) -> tuple[float, float] | None:
    """The rate if all that is unscored had failed, and if all had passed. None where there is nothing at all."""
    total = passed + failed + unscored
    return (passed / total, (passed + unscored) / total) if total else None


def pass_k(counts: Iterable[tuple[int, int]], k: int) -> tuple[Estimate, int]:
    """pass^k: the chance that k independent tries at a task *all* pass, averaged over tasks; and over how many tasks.

    `counts` holds `(passed, scored)` of each task's repeats. Per task the unbiased estimate is C(passed, k) /
    C(scored, k); a task scored fewer than k times cannot be estimated and is left out.
    S. Yao et al., "tau-bench", arXiv:2406.12045 (2024), section 4. (pass@k, that *any* of k passes, is another number.)

    Raises `ValueError` unless k >= 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
    chances = [math.comb(passed, k) / math.comb(scored, k) for passed, scored in counts if scored >= k]
    if not chances:
        return undefined(f"no task was scored {k} times" if k > 1 else "nothing was scored"), 0
    return Estimate(math.fsum(chances) / len(chances)), len(chances)
