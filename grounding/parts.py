"""A file that was read from its beginning, parsed part by part, and only where a question is about that part.

Most questions are about one name, and most files are long. A part that cannot be parsed by itself answers nothing:
then the text is read as a whole (`grounding.sources`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from grounding.cache import Cache, content_key
from grounding.languages import Definitions, Language
from grounding.marks import pieces_of
from grounding.sources import INDENTED, Source, folded


class Parts:
    """The parts of one text. It is given again with each question, so that what is kept of it is what it defines."""

    def __init__(self, starts: Sequence[int], length: int) -> None:
        self._starts = tuple(starts)
        self._spans = tuple(pairwise((*starts, length)))
        self._read: dict[int, Source | None] = {}

    def texts(self, text: str) -> list[str]:
        """The text of each part."""
        return [text[start:end] for start, end in self._spans]

    def holding(self, word: str, folded_text: str) -> Iterator[tuple[int, str]]:
        """Each part that holds a word, with its text, where folding the text moved no place in it."""
        place = folded_text.find(word)
        while place >= 0:
            at = bisect_right(self._starts, place) - 1
            start, end = self._spans[at]
            yield at, folded_text[start:end]
            place = folded_text.find(word, end)

    def source(self, at: int, text: str, language: Language) -> Source | None:
        """What one part defines, with places in all of the text; None where it cannot be parsed by itself."""
        if at not in self._read:
            start, end = self._spans[at]
            found = language.part(text[start:end], cut=end == len(text))
            self._read[at] = None if found is None else _source(found, start)
        return self._read[at]


def read_parts(text: str, language: Language, cache: Cache) -> Parts | None:
    """The parts of a text that begins its file, from the cache where it was asked for before.

    None where something stands around the text or is left out of it, or where its parts cannot be told.
    """
    return cache.get(("parts", language.name, content_key(text)), lambda: _parts(text, language))


def _parts(text: str, language: Language) -> Parts | None:
    pieces = pieces_of(text, 1).pieces
    if len(pieces) != 1 or not pieces[0].is_all or INDENTED.match(text):
        return None
    starts = language.outline(text)
    return None if starts is None else Parts(starts, len(text))


def _source(found: Definitions, start: int) -> Source:
    definitions = (each._replace(start=each.start + start, end=each.end + start) for each in found.certain)
    return Source.of(definitions, {folded(name): at + start for name, at in found.uncertain.items()})
