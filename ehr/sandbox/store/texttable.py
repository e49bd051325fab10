"""The texts of a parameter in order, so that resources can be sorted by numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.store.index import IntArray
from ehr.sandbox.store.storage import TypeRows
from ehr.sandbox.store.stored import StoredKeys

__all__ = ["Text", "TextTable"]

Text = tuple[str, str]
"""What is compared: a string or address (and nothing), or system and code, or type and id."""


class TextTable:
    """For each row of a type the place of its smallest and its largest text among all texts of a parameter.

    Tokens and references are sorted by system (type) first, strings and addresses by value.
    """

    def __init__(self, space: StoredKeys | None, stretch: TypeRows, by_qualifier: bool) -> None:
        self._space = space
        self._by_qualifier = by_qualifier
        self._first = stretch.first
        self._low = np.full(stretch.size, -1, np.int32)
        self._high = np.full(stretch.size, -1, np.int32)
        if space is not None:
            rows, places = space.texts()
            self._low[rows[::-1] - stretch.first] = places[::-1]  # of several values for one row the last one stays
            self._high[rows - stretch.first] = places

    def text(self, value: str, qualifier: str) -> Text:
        """What a value is sorted by."""
        return (qualifier, value) if self._by_qualifier else (value, "")

    def of(self, rows: IntArray, largest: bool) -> NDArray[np.float64]:
        """The place of each row's text, infinity where it has none."""
        places = (self._high if largest else self._low)[rows - self._first]
        return np.where(places < 0, np.inf, places)

    def places(self, texts: list[Text]) -> dict[Text, float]:
        """Places for other texts, given sorted: that of an equal text, else between its neighbours, in order."""
        find: Callable[[Text], tuple[int, bool]] = self._place if self._space is not None else lambda text: (0, False)
        gaps: dict[int, list[Text]] = {}
        result: dict[Text, float] = {}
        for text in texts:
            place, there = find(text)
            if there:
                result[text] = float(place)
            else:
                gaps.setdefault(place, []).append(text)
        for place, gap in gaps.items():
            for number, text in enumerate(gap, 1):
                result[text] = place - 1 + number / (len(gap) + 1)
        return result

    def _place(self, text: Text) -> tuple[int, bool]:
        assert self._space is not None  # without a space nothing is looked up
        return self._space.place(text[1], text[0]) if self._by_qualifier else self._space.place(text[0], None)
