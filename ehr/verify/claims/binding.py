"""Which measure a number in a sentence is a value of.

Where a sentence names several, in this order:

1. the one right before the number, with nothing but linking words between ("a potassium of 4.1", "potassium (LOINC
   2823-3): 4.1");
2. the one right behind it that is not itself right before another number ("4.1 mmol/L (potassium)");
3. the one before it, with linking words, commas and other numbers between ("potassium: 4.1, 4.3 and 4.0");
4. weakly, the nearest before it in the sentence, else the nearest behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ehr.verify.claims.sentences import CODE, NUMBER, TIME
from ehr.verify.claims.words import Vocabulary, is_link

MeantT = TypeVar("MeantT")

_SIGNS = frozenset(
    {":", "=", "(", ")", "-", "–", "—", "|", "*", "~", "≈", "[", "]", '"', "'", "/", "→", "+", CODE, TIME}
)
_LISTING = frozenset({",", NUMBER, "&", "or", "to"})
_BEHIND = frozenset({"(", "for", "of", "["})


@dataclass(frozen=True, slots=True)
class Bound(Generic[MeantT]):
    """What a number is bound to. `strong` unless it is only the nearest in the sentence."""

    meant: MeantT
    strong: bool


def bind(tokens: Sequence[str], at: int, known: Vocabulary[MeantT]) -> Bound[MeantT] | None:
    """What the number at this place is a value of, among the phrases that are known."""
    found = known.occurrences(tokens)
    before = [each for each in found if each[1] <= at]
    behind = [each for each in found if each[0] > at]
    if before and _links(tokens, before[-1][1], at, _SIGNS):
        return Bound(before[-1][2], strong=True)
    if behind and all(token in _BEHIND for token in tokens[at + 1 : behind[0][0]]):
        following = next((place for place in range(behind[0][1], len(tokens)) if tokens[place] == NUMBER), None)
        if following is None or not _links(tokens, behind[0][1], following, _SIGNS):
            return Bound(behind[0][2], strong=True)
    if before and _links(tokens, before[-1][1], at, _SIGNS | _LISTING):
        return Bound(before[-1][2], strong=True)
    if before:
        return Bound(before[-1][2], strong=False)
    return Bound(behind[0][2], strong=False) if behind else None


def _links(tokens: Sequence[str], start: int, end: int, signs: frozenset[str]) -> bool:
    return all(token in signs or is_link(token) for token in tokens[start:end])
