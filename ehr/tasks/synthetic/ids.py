"""Opaque ids: eight letters and digits in an order that has nothing to do with time, type or patient.

The first is a letter, because a HAPI server refuses a client's all-digit id (HAPI-0960).
"""

from __future__ import annotations

from functools import cache

from ehr.tasks.synthetic.draw import Draw

_DIGITS = "0123456789abcdfghjklmnpqrstvwxyz"
_FIRST = "bcdfghjkmnpqrstv"
_BITS = 39
_MASK = (1 << _BITS) - 1


class Ids:
    """Gives ids out, each once. Number n becomes an id by a bijection of 39 bits that the seed chooses."""

    def __init__(self, *key: object) -> None:
        draw = Draw("ids", *key)
        self._add = draw.below(1 << 30) << 9 | draw.below(512)
        self._factor = draw.below(1 << 30) << 9 | draw.below(256) << 1 | 1
        self._next = 0
        self._heads, self._tails = _tables()

    def give(self) -> str:
        """The next id."""
        number = self._next
        self._next = number + 1
        number = (number * self._factor + self._add) & _MASK
        number ^= number >> 17
        number = (number * 0x1B873593 + 0x2545F491) & _MASK
        number ^= number >> 20
        return self._heads[number >> 30] + self._tails[(number >> 15) & 32767] + self._tails[number & 32767]


@cache
def _tables() -> tuple[list[str], list[str]]:
    heads = [first + second for first in _FIRST for second in _DIGITS]
    tails = [a + b + c for a in _DIGITS for b in _DIGITS for c in _DIGITS]
    return heads, tails
