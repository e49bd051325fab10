"""A number with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

DRAWS = 2000
"""How many times a bootstrap resamples, unless told otherwise."""

SEED = 1
"""The seed of every resampling, unless told otherwise: the same data give the same interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval. `why` is the reason wherever the value, or only the interval, is undefined."""

    value: float | None
    ci95: tuple[float, float] | None = None
    why: str | None = None

    def __post_init__(self) -> None:
        if self.value is None and not self.why:
            raise ValueError("an undefined estimate must say why")
        if self.value is None and self.ci95 is not None:
            raise ValueError(f"an undefined estimate has no interval, got {self.ci95!r}")


def undefined(why: str) -> Estimate:
    """An estimate without a value, and the reason."""
    return Estimate(None, None, why)
