"""A text that was read, made ready for questions: which names does it define, and where."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grounding.cache import Cache, content_key
from grounding.languages import Definition, Language
from grounding.marks import Piece, pieces_of

INDENTED = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\r?\n)*[ \t]+[^\s#]")
"""A text whose first line of code is indented: it does not begin its file."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one text defines, with places in the text as it was shown.

    `uncertain` holds by folded name the place of what may be a definition; see `grounding.languages.Definitions`.
    """

    definitions: tuple[Definition, ...]
    uncertain: dict[str, int]
    _folded: tuple[str, ...]
    _order: tuple[int, ...]

    @classmethod
    def of(cls, definitions: Iterable[Definition], uncertain: dict[str, int]) -> Source:
        """What is defined, in the order of the text."""
        found = tuple(definitions)
        names = [folded(definition.name) for definition in found]
        order = sorted(range(len(names)), key=lambda at: (names[at], at))
        return cls(found, uncertain, tuple(names[at] for at in order), tuple(order))

    def beginning_with(self, folded: str) -> Iterator[Definition]:
        """The definitions whose folded name begins with this, by name."""
        at = bisect_left(self._folded, folded)
        while at < len(self._folded) and self._folded[at].startswith(folded):
            yield self.definitions[self._order[at]]
            at += 1


def folded(name: str) -> str:
    """A name as it is compared where case does not count. Python itself compares names in the form NFKC."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def read_source(text: str, language: Language, first_line: int | None, cache: Cache) -> Source:
    """What a text in this language defines, from the cache where the same text was read before."""
    key = ("source", language.name, first_line, content_key(text))
    return cache.get(key, lambda: _read(text, language, first_line))


def is_whole(text: str, cache: Cache) -> bool:
    """Whether nothing says that a text lacks its beginning or something in between: no mark, no indented first line."""

    def look() -> bool:
        pieces = pieces_of(text).pieces
        return len(pieces) <= 1 and not any(INDENTED.match(piece.text) for piece in pieces)

    return cache.get(("whole", content_key(text)), look)


def is_cut(text: str, cache: Cache) -> bool:
    """Whether a mark in a text says that something was left out, and nobody knows whether the agent saw it."""
    return cache.get(("cut", content_key(text)), lambda: pieces_of(text).cut)


def _placed(definitions: Iterable[Definition], piece: Piece) -> Iterator[Definition]:
    """Definitions in a piece of what was shown, with their places in all of it."""
    for definition in definitions:
        start = piece.shown_at(definition.start)
        yield definition._replace(start=start, end=start + definition.end - definition.start)


def _read(text: str, language: Language, first_line: int | None) -> Source:
    found = pieces_of(text, first_line)
    definitions: list[Definition] = []
    uncertain: dict[str, int] = {}
    for piece in found.pieces:
        of_piece = language.definitions(piece.text, begins=piece.begins)
        definitions += of_piece.certain if piece.is_all else _placed(of_piece.certain, piece)
        for name, at in of_piece.uncertain.items():
            uncertain.setdefault(folded(name), piece.shown_at(at))
    return Source.of(definitions, uncertain)
