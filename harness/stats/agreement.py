"""How far two raters of the same episodes agree, and how far several votes do, beyond what chance would give.

Raters say pass or fail; what is vacuous or unscored is left out before. One number never tells all: with rare classes
raw agreement is high by itself and Cohen's kappa low by itself, so all of them are given, with the largest kappa that
the raters' margins allow.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.stats.estimate import DRAWS, SEED, Estimate, undefined
from harness.stats.resampling import cluster_weights, percentile_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.float64]
    """Cells in the order of `Cells`, along the last axis."""


class Cells(NamedTuple):
    """The two-by-two table of raters a and b: counts, or shares of any total. `pass_fail`: a passes, b fails."""

    pass_pass: float
    pass_fail: float
    fail_pass: float
    fail_fail: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everything about one pair of raters. `cohen_kappa_max` is the most that their margins allow."""

    cells: Cells
    clusters: int
    agreement: Estimate
    positive_agreement: Estimate
    negative_agreement: Estimate
    cohen_kappa: Estimate
    cohen_kappa_max: Estimate
    ac1: Estimate


def agreement(
    clusters: Mapping[Hashable, Cells], *, draws: int = DRAWS, seed: int = SEED
) -> Agreement:  # fmt: skip
    """Agreement over the sum of the clusters' tables, each number with a cluster bootstrap interval (95 %).

    - `agreement`: (a + d) / n.
    - `positive_agreement`: 2a / (2a + b + c): of what either passes, how much both do; negative likewise on d.
      D. V. Cicchetti and A. R. Feinstein, J. Clin. Epidemiol. 43 (1990) 551-558.
    - `cohen_kappa`: (po - pe) / (1 - pe), pe from the raters' own margins. J. Cohen, Educ. Psychol. Meas. 20 (1960)
      37-46; its greatest value with the margins held, the same with po = Σ min of the margins, is in that paper too.
    - `ac1`: (po - pe) / (1 - pe) with pe = 2q(1 - q), q the mean share of passes. K. L. Gwet, Brit. J. Math. Statist.
      Psychol. 61 (2008) 29-48.

    An interval is conditional on the draws in which its number is defined, and null where over 5 % are not. Clusters
    without an episode do not count.
    """
    import numpy as np

    tables = np.asarray([tuple(cells) for cells in clusters.values()], dtype=float).reshape(-1, 4)
    if (tables < 0).any():
        raise ValueError(f"cells must not be negative, got {clusters!r}")
    tables = tables[tables.sum(axis=1) > 0]
    total: Table = tables.sum(axis=0)
    drawn = cluster_weights(len(tables), draws, seed) @ tables if len(tables) > 1 and total.sum() > 0 else None

    def estimate(statistic: Callable[[Table], Table], why: str) -> Estimate:
        if total.sum() == 0:
            return undefined("no episode is scored by both")
        value = float(statistic(total))
        if not np.isfinite(value):
            return undefined(why)
        if drawn is None:
            return Estimate(value, None, "one cluster cannot be resampled")
        return Estimate(value, *percentile_interval(statistic(drawn)))

    return Agreement(
        cells=Cells(*(float(cell) for cell in total)),
        clusters=len(tables),
        agreement=estimate(_raw, ""),
        positive_agreement=estimate(_positive, "neither ever says pass"),
        negative_agreement=estimate(_negative, "neither ever says fail"),
        cohen_kappa=estimate(_cohen_kappa, "both always say the same one thing, so chance agreement is 1"),
        cohen_kappa_max=estimate(_cohen_kappa_max, "both always say the same one thing, so chance agreement is 1"),
        ac1=estimate(_ac1, ""),
    )


def krippendorff_alpha(
    votes: Sequence[Sequence[Hashable | None]],
    clusters: Sequence[Hashable] | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Estimate:
    """Krippendorff's alpha for nominal votes: one row of votes for each unit, None for a vote that is missing.

    alpha = 1 - Do / De over the coincidence matrix of units with two votes or more; a unit with m votes counts each of
    its ordered pairs 1/(m - 1). K. Krippendorff, "Content Analysis", 3rd ed. (2013), section 12.3. The interval
    resamples `clusters` (one name for each unit); without them every unit is its own cluster.

    Undefined where no unit has two votes, and where all votes that can be paired are the same: there is then nothing
    to disagree about, and alpha would be 0/0. Raises `ValueError` where `clusters` and `votes` differ in length.
    """
    if clusters is not None and len(clusters) != len(votes):
        raise ValueError(f"each unit needs one cluster, got {len(votes)} units and {len(clusters)} clusters")
    import numpy as np

    values = sorted({vote for row in votes for vote in row if vote is not None}, key=repr)
    column = {value: i for i, value in enumerate(values)}
    groups: dict[Hashable, int] = {}
    # Per cluster: agreeing coincidences, and how many votes each value has. Alpha depends on their sums only.
    agreeing: list[float] = []
    counts: list[list[float]] = []
    for unit, row in enumerate(votes):
        given = [column[vote] for vote in row if vote is not None]
        if len(given) < 2:
            continue
        group = groups.setdefault(unit if clusters is None else clusters[unit], len(groups))
        if group == len(agreeing):
            agreeing.append(0.0)
            counts.append([0.0] * len(values))
        of_value = [given.count(i) for i in range(len(values))]
        agreeing[group] += sum(n * (n - 1) for n in of_value) / (len(given) - 1)
        counts[group] = [seen + n for seen, n in zip(counts[group], of_value, strict=True)]
    if not agreeing:
        return undefined("no unit has two votes")
    same, shares = np.asarray(agreeing), np.asarray(counts)
    value = float(_alpha(same.sum(), shares.sum(axis=0)))
    if not np.isfinite(value):
        return undefined("all votes that can be paired are the same, so there is nothing to disagree about")
    if len(same) < 2:
        return Estimate(value, None, "one cluster cannot be resampled")
    weights = cluster_weights(len(same), draws, seed)
    return Estimate(value, *percentile_interval(_alpha(weights @ same, weights @ shares)))


def _alpha(same: Any, counts: Any) -> Any:
    import numpy as np

    n = counts.sum(axis=-1)
    expected = n * n - (counts * counts).sum(axis=-1)  # n(n - 1) · De, up to the factor below
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - (n - 1) * (n - same) / np.where(expected > 0, expected, np.nan)


def _shares(table: Table) -> tuple[Any, Any, Any]:
    """Observed agreement, and both raters' shares of passes."""
    n = table.sum(axis=-1)
    return (
        (table[..., 0] + table[..., 3]) / n,
        (table[..., 0] + table[..., 1]) / n,
        (table[..., 0] + table[..., 2]) / n,
    )


def _raw(table: Table) -> Any:
    return _shares(table)[0]


def _positive(table: Table) -> Any:
    return _over(2 * table[..., 0], 2 * table[..., 0] + table[..., 1] + table[..., 2])


def _negative(table: Table) -> Any:
    return _over(2 * table[..., 3], 2 * table[..., 3] + table[..., 1] + table[..., 2])


def _cohen_kappa(table: Table) -> Any:
    return _beyond_chance(_shares(table)[0], table)


def _cohen_kappa_max(table: Table) -> Any:
    import numpy as np

    _, a, b = _shares(table)
    return _beyond_chance(np.minimum(a, b) + np.minimum(1 - a, 1 - b), table)


def _beyond_chance(observed: Any, table: Table) -> Any:
    # 1 - pe = a(1 - b) + b(1 - a), written on the cells so that it is exactly 0 where it is 0.
    a, b = table[..., 0] + table[..., 1], table[..., 0] + table[..., 2]
    not_a, not_b = table[..., 2] + table[..., 3], table[..., 1] + table[..., 3]
    n = table.sum(axis=-1)
    disagreement = (a * not_b + b * not_a) / (n * n)
    return 1 - _over(1 - observed, disagreement)


def _ac1(table: Table) -> Any:
    observed, a, b = _shares(table)
    q = (a + b) / 2
    chance = 2 * q * (1 - q)
    return (observed - chance) / (1 - chance)


def _over(top: Any, bottom: Any) -> Any:
    """`top / bottom`, NaN where the bottom is 0."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return top / np.where(bottom > 0, bottom, np.nan)
