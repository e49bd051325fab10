"""Resampling whole clusters: the one bootstrap that every interval here uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNDEFINED_SHARE = 0.05
"""Above this share of draws in which a statistic is undefined, what is left no longer describes it."""


def cluster_weights(clusters: int, draws: int, seed: int) -> NDArray[np.int64]:
    """How often each cluster is drawn in each resample, shape (draws, clusters); each row sums to `clusters`."""
    import numpy as np

    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=draws)


def percentile_interval(statistics: NDArray[Any]) -> tuple[tuple[float, float] | None, str | None]:
    """The middle 95 % of a statistic's bootstrap draws, or None and why. NaN is a draw in which it is undefined.

    Percentile bootstrap: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13; whole
    clusters resampled: A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8.
    With few clusters it is too narrow.
    """
    import numpy as np

    defined = statistics[np.isfinite(statistics)]
    missing = (len(statistics) - len(defined)) / len(statistics)  # 1 - 0.95 would be over 0.05
    if missing > _UNDEFINED_SHARE:
        return None, f"undefined in {missing:.0%} of the bootstrap draws"
    low, high = (float(edge) for edge in np.quantile(defined, (0.025, 0.975)))
    if float(defined.max()) - float(defined.min()) <= 1e-12:
        return None, "every bootstrap draw is the same, so no interval can be estimated"
    return (low, high), None
