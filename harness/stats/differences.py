"""The difference of two differences: how much more one group of clusters changed than another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from harness.stats.estimate import DRAWS, SEED, Estimate, undefined
from harness.stats.resampling import cluster_weights, percentile_interval


@dataclass(frozen=True, slots=True)
class Changed:
    """One group: rate on side a, rate on side b, over so many pairs of so many clusters."""

    pairs: int
    clusters: int
    rate_a: float | None
    rate_b: float | None

    @property
    def difference(self) -> float | None:
        """b - a."""
        return None if self.rate_a is None or self.rate_b is None else self.rate_b - self.rate_a


@dataclass(frozen=True, slots=True)
class Differences:
    """The two groups, and (b - a in the first) - (b - a in the second) with a cluster bootstrap interval."""

    first: Changed
    second: Changed
    difference: Estimate


def difference_in_differences(
    pairs: Iterable[tuple[Hashable, bool, bool, bool]], *, draws: int = DRAWS, seed: int = SEED
) -> Differences:
    """Compare two groups over `(cluster, in the first group, a passed, b passed)`, one for each pair.

    The design is that of D. Card and A. B. Krueger, Am. Econ. Rev. 84 (1994) 772-793: what both groups have
    in common (here, what renaming does to the difficulty) cancels. Clusters are resampled within each group, which
    keeps the sizes of the groups; a cluster must belong to one group only.

    Undefined where a group has no pair; without an interval where a group has fewer than two clusters.
    """
    sums: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = ({}, {})
    for cluster, is_first, a, b in pairs:
        counts = sums[0 if is_first else 1].setdefault(cluster, [0, 0, 0])
        counts[0] += 1
        counts[1] += a
        counts[2] += b
    first, second = (_changed(group) for group in sums)
    if first.difference is None or second.difference is None:
        empty = "first" if first.difference is None else "second"
        return Differences(first, second, undefined(f"the {empty} group has no pair that is scored on both sides"))
    value = first.difference - second.difference
    if min(first.clusters, second.clusters) < 2:
        return Differences(first, second, Estimate(value, None, "a group of one cluster cannot be resampled"))
    drawn = _drawn(sums[0], draws, seed) - _drawn(sums[1], draws, seed + 1)
    interval, why = percentile_interval(drawn)
    return Differences(first, second, Estimate(value, interval, why))


def _changed(group: dict[Hashable, list[int]]) -> Changed:
    pairs = sum(counts[0] for counts in group.values())
    if not pairs:
        return Changed(0, 0, None, None)
    a, b = (sum(counts[side] for counts in group.values()) / pairs for side in (1, 2))
    return Changed(pairs, len(group), a, b)


def _drawn(group: dict[Hashable, list[int]], draws: int, seed: int):  # type: ignore[no-untyped-def]
    """b - a in each resample of the group's clusters."""
    import numpy as np

    counts = np.asarray(list(group.values()))
    weights = cluster_weights(len(counts), draws, seed)
    return (weights @ (counts[:, 2] - counts[:, 1])) / (weights @ counts[:, 0])
