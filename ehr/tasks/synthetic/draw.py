"""Random draws that are the same on every Python: built on `Random.random`, the one method that promises it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A stream of draws named by its key: the same key gives the same stream, whatever else was drawn elsewhere."""

    __slots__ = ("fraction",)

    def __init__(self, *key: object) -> None:
        self.fraction = Random("/".join(str(part) for part in key)).random  # noqa: S311 - no secret is drawn here

    def below(self, end: int) -> int:
        """A whole number from 0 to `end` - 1."""
        return int(self.fraction() * end)

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both inside."""
        return low + int(self.fraction() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """A number from `low` up to `high`."""
        return low + self.fraction() * (high - low)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.fraction() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self.fraction() * len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """One of the options, each as likely as its weight says."""
        rest = self.fraction() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            rest -= weight
            if rest < 0:
                return option
        return options[-1]

    def normal(self, mean: float = 0.0, deviation: float = 1.0) -> float:
        """A normally distributed number (Box and Muller 1958)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.fraction()))
        return mean + deviation * radius * math.cos(2.0 * math.pi * self.fraction())

    def count(self, mean: float) -> int:
        """A Poisson-distributed number (Knuth's product of uniforms; `mean` is small here)."""
        limit, product, number = math.exp(-mean), self.fraction(), 0
        while product > limit:
            product *= self.fraction()
            number += 1
        return number

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in a random order."""
        order = sorted((self.fraction(), position) for position in range(len(options)))
        return [options[position] for _, position in order]
