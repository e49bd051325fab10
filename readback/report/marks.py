"""What the grounding lens says, word by word: entities marked in the answer, and in the result that supports them.

Taken from the stored verdict alone (one clause an entity), so the page shows what was judged and judges nothing itself:

- an entity is marked in the answer wherever its words stand there, by its outcome;
- where a call showed it at a place (`defined at 120`), the word at that place of the call's text is marked; where in
  an element of a resource, see `found`;
- the supporting call names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.verdict import Clause, Verdict
from readback.report.allowance import Allowance

_AT = re.compile(r"(\w+) at (\d+)")
_IN_TEXT = frozenset({"defined", "mentioned"})
_WORD = re.compile(r"\w+")

_MARKUP = 70
"""Bytes of markup around a marked word, and around a gap."""

_BEFORE, _AFTER = 3, 4
"""Lines around a marked word that an excerpt shows."""

_MOST = 200
"""Entities of one episode that are marked."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity of an answer: its words, what became of it, and what supports it, if anything does.

    That is a call, and in its result a place of the text, or the path of an element of a resource.
    """

    text: str
    outcome: str
    call: int | None
    at: int | None
    resource: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: plain, marked by an outcome (`call` supports it), or a gap said in words."""

    text: str
    mark: str = ""
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Marked:
    """The first part of a text in pieces, and in words what is left out after it, if anything."""

    pieces: tuple[Piece, ...]
    more: str | None = None

    @property
    def text(self) -> str:
        """All of its words."""
        return "".join(piece.text for piece in self.pieces)


def entities_of(verdicts: Iterable[Verdict]) -> tuple[Entity, ...]:
    """The entities of the grounding lens's verdict; of several settings, of the last."""
    found = [verdict for verdict in verdicts if verdict.lens == "grounding"]
    return tuple(_entity(clause) for clause in found[-1].clauses[:_MOST]) if found else ()


def _entity(clause: Clause) -> Entity:
    text = clause.name.partition(" ")[2] or clause.name
    place = _AT.fullmatch(clause.actual or "")
    at = int(place[2]) if place and place[1] in _IN_TEXT else None
    where = clause.evidence
    if where is None:
        return Entity(text, clause.outcome, None, at)
    return Entity(text, clause.outcome, where.call, at, where.resource, where.path)


def take_marked(purse: Allowance, text: str, entities: Sequence[Entity], most: int) -> Marked:
    """As much of `text` as fits into `most` bytes and what is left, its entities marked, paid for."""
    return take_pieces(purse, _split(text, entities), len(text), most)


def _split(text: str, entities: Sequence[Entity]) -> Iterator[Piece]:
    by_text = {entity.text: entity for entity in entities if entity.text}
    if not by_text:
        yield Piece(text)
        return
    # The longest first, so that a path is not taken for the name that it ends in.
    ordered = sorted(by_text, key=lambda words: (-len(words), words))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(_whole, ordered))})")
    end = 0
    for found in pattern.finditer(text):
        if found.start() > end:
            yield Piece(text[end : found.start()])
        entity = by_text[found[0]]
        yield Piece(found[0], entity.outcome, entity.call)
        end = found.end()
    if end < len(text):
        yield Piece(text[end:])


def _whole(words: str) -> str:
    return re.escape(words) + (r"(?!\w)" if re.match(r"\w", words[-1]) else "")


def take_pieces(purse: Allowance, pieces: Iterable[Piece], length: int, most: int) -> Marked:
    """As much of the pieces, which have `length` characters, as fits into `most` bytes and what is left; paid for."""
    kept: list[Piece] = []
    room, read = min(most, purse.left), 0
    for piece in pieces:
        marked = bool(piece.mark) and room > _MARKUP and purse.pays(_MARKUP)
        room -= _MARKUP * marked
        before = purse.left
        shown = purse.take(piece.text, max(0, room))
        room -= before - purse.left
        read += len(piece.text)
        if shown.text:
            kept.append(Piece(shown.text, piece.mark if marked else "", piece.call if marked else None))
        if shown.more:
            cut = length - read + _cut(shown.more)
            return Marked(tuple(kept), f"{cut:,} more characters")
    return Marked(tuple(kept))


def _cut(more: str) -> int:
    return int(more.split(" ")[0].replace(",", ""))


def text_of(result: Any) -> str | None:
    """The text that a result holds, where it is an object around one, as a file that was read is."""
    content = result.get("content") if isinstance(result, dict) else None
    return content if isinstance(content, str) and content else None


def take_excerpt(purse: Allowance, text: str, entities: Sequence[Entity], first_line: int, most: int) -> Marked:
    """A call's text: all of it where it fits, else the lines around what supports an entity.

    `entities` are those that this call supports; `first_line` is the number of the text's first line.
    """
    places = sorted({(at, _end_of_word(text, at)) for entity in entities if (at := entity.at) is not None})
    places = [(start, end) for start, end in places if end > start]
    if len(text) + _MARKUP * len(places) < min(most, purse.left) or not places:
        return take_pieces(purse, _with_places(text, 0, places), len(text), most)
    return take_pieces(purse, _around(text, places, first_line), 0, most)


def _end_of_word(text: str, at: int) -> int:
    found = _WORD.match(text, at)
    return found.end() if found else at


def _with_places(text: str, offset: int, places: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    end = offset
    for start, stop in places:
        if start < end:
            continue
        yield Piece(text[end - offset : start - offset])
        yield Piece(text[start - offset : stop - offset], "pass")
        end = stop
    yield Piece(text[end - offset :])


def _around(text: str, places: Sequence[tuple[int, int]], first_line: int) -> Iterator[Piece]:
    """The lines around each place, and how many lines are left out between them."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    lines = len(starts) - text.endswith("\n")
    wanted: set[int] = set()
    for start, _ in places:
        line = _line_of(starts, start)
        wanted.update(range(max(0, line - _BEFORE), min(lines, line + _AFTER + 1)))
    at = 0
    while at < lines:
        stop = at
        while stop < lines and (stop in wanted) == (at in wanted):
            stop += 1
        begin, end = starts[at], starts[stop] if stop < len(starts) else len(text)
        if at in wanted:
            yield from _with_places(text[begin:end], begin, [place for place in places if begin <= place[0] < end])
        elif end > begin:
            yield Piece(f"… lines {first_line + at}–{first_line + stop - 1} …\n", "gap")
        at = stop


def _line_of(starts: Sequence[int], place: int) -> int:
    from bisect import bisect_right

    return bisect_right(starts, place) - 1
