"""The texts of a parameter in order, so that resources can be sorted by numbers."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.index import IntArray

__all__ = ["TextTable"]

Text = tuple[str, str]


class TextTable:
    """For each row of a type the place of its smallest and its largest text among all texts of a parameter.

    Tokens and references are sorted by system (type) first, strings and addresses by value.
    """

    def __init__(self, space: Any, first: int, size: int, by_qualifier: bool) -> None:
        self._by_qualifier = by_qualifier
        self._first = first
        self._low = np.full(size, np.inf)
        self._high = np.full(size, np.inf)
        self._texts: list[Text] = []
        listed: list[tuple[Text, IntArray]] = []
        if space is not None:
            listed = [(self.text(value, qualifier), rows) for value, qualifier, rows in space.listed()]
            listed.sort(key=lambda pair: pair[0])
        placed: list[tuple[int, IntArray]] = []
        for text, rows in listed:
            if not self._texts or self._texts[-1] != text:
                self._texts.append(text)
            placed.append((len(self._texts) - 1, rows - first))
        for place, rows in placed:
            self._high[rows] = place
        for place, rows in reversed(placed):
            self._low[rows] = place

    def text(self, value: str, qualifier: str) -> Text:
        """What a value is sorted by."""
        return (qualifier, value) if self._by_qualifier else (value, "")

    def of(self, rows: IntArray, largest: bool) -> NDArray[np.float64]:
        """The place of each row's text, infinity where it has none."""
        return (self._high if largest else self._low)[rows - self._first]

    def places(self, texts: list[Text]) -> dict[Text, float]:
        """Places for other texts, given sorted: that of an equal text, else between its neighbours, in order."""
        gaps: dict[int, list[Text]] = {}
        result: dict[Text, float] = {}
        for text in texts:
            place = bisect_left(self._texts, text)
            if place < len(self._texts) and self._texts[place] == text:
                result[text] = float(place)
            else:
                gaps.setdefault(place, []).append(text)
        for place, gap in gaps.items():
            for number, text in enumerate(gap, 1):
                result[text] = place - 1 + number / (len(gap) + 1)
        return result
