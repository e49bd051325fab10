"""What tools put around the text of a file: line numbers, fences, tags, and marks of what was left out.

A text is given back as pieces of the file itself, each with its way back to the place in what the tool showed. Where
somebody left something out, two pieces stand for the two sides of the gap.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_NUMBERED = re.compile(r"[ \t]*(?:L|line )?(?P<number>\d{1,7})(?P<mark>\t|→|[ ]?[|│:).]|(?=[ ])|(?=\r?$))")
_MOST_FOREIGN_LINES = 5
"""A tool's own lines before or after numbered ones."""
_LEAST_SHARE = 0.6
"""The share of lines that are numbered, at the least, where numbers are no part of the file."""

_LONGEST_MARK = 300
"""Characters of a line that may be a mark of what was left out."""
_WORDS = re.compile(
    r"\b(?:truncated|truncation|omitted|clipped|elided|snipped|abridged|not shown|too long|has more lines"
    r"|(?:more|remaining|hidden|skipped) (?:lines?|characters|chars|bytes|tokens)"
    r"|(?:lines?|characters|chars|bytes|tokens) (?:more|remaining|above|below|hidden|skipped))\b",
    re.IGNORECASE,
)
_DOTS = r"(?:\.{3}|…)"
_IN_BRACKETS = r"(?:\[(?!['\"])[^\]\n\"]*\]|<[^>\n\"]*>|\((?!['\"])[^)\n\"]*\))"
_MAYBE_A_MARK = re.compile(rf"\n[ \t]*(?:[\[<(]|{_DOTS})")
_MARK = re.compile(rf"[ \t]*(?:(?:{_DOTS}[ \t]*)?{_IN_BRACKETS}|{_DOTS}).*", re.DOTALL)
_MARK_AT_END = re.compile(rf"(?:{_DOTS}[ \t]*)?{_IN_BRACKETS}\s*\Z|…\s*\Z|(?<=[\w\"']){_DOTS}\s*\Z")
_TOOLS_OWN = re.compile(
    r"\b(?:use|to save|to (?:see|read|view)|offset|view_range|line range|scroll|above|below)\b", re.IGNORECASE
)
_WRAPPING = re.compile(r"[ \t]*(?:(?:`{3,}|~{3,})[^`\n]*|<[/\w][^<>\n]*>(?:[^<>\n]*</[\w-]+>)?)[ \t\r]*\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a file. `begins` says that it is the file's beginning; `lines` maps places in it to places shown."""

    text: str
    begins: bool
    _starts: tuple[int, ...]
    _shown_starts: tuple[int, ...]

    @property
    def is_all(self) -> bool:
        """Whether places in it are places in what was shown."""
        return self._starts == self._shown_starts == (0,)

    def shown_at(self, place: int) -> int:
        """Where a place of this piece stands in what the tool showed."""
        line = bisect_right(self._starts, place) - 1
        return self._shown_starts[line] + place - self._starts[line]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text as a tool showed it. `cut` says that a mark stands in it and nobody knows who put it there.

    A mark that tells the agent how to see more is the tool's own: the agent saw no more either.
    """

    pieces: tuple[Piece, ...]
    cut: bool


class _Line(NamedTuple):
    text: str
    at: int


class _Numbered(NamedTuple):
    number: int
    match: re.Match[str]
    line: _Line


def pieces_of(shown: str, first_line: int | None = None) -> Pieces:
    """The pieces of the file in what a tool showed. `first_line` is the file's line it begins with, where known."""
    marks = _marks(shown)
    if not marks and _is_plain(shown):
        piece = Piece(shown, first_line == 1, (0,), (0,))
        return Pieces((piece,) if shown.strip() else (), cut=False)
    pieces: list[Piece] = []
    at = 0
    for start, end in [*marks, (len(shown), len(shown))]:
        pieces += _pieces_of_part(_unwrapped(_lines(shown[at:start], at)), first_line if at == 0 else None)
        at = end
    cut = any(not _TOOLS_OWN.search(shown, start, end) for start, end in marks)
    return Pieces(tuple(piece for piece in pieces if piece.text.strip()), cut)


def _is_plain(shown: str) -> bool:
    """Whether nothing stands around the text: neither its first lines nor its last are a tool's."""
    first = shown[: _MOST_FOREIGN_LINES * _LONGEST_MARK].strip("\n").split("\n", _MOST_FOREIGN_LINES + 1)
    last = shown[-_LONGEST_MARK:].rstrip().rpartition("\n")[2]
    around = _WRAPPING.match(first[0]) or _WRAPPING.match(last)
    return not around and not any(_NUMBERED.match(line) for line in first)


def _marks(shown: str) -> list[tuple[int, int]]:
    """Where marks of what was left out stand: lines of their own, and the end of the last line."""
    starts = [0, *(line.start() + 1 for line in _MAYBE_A_MARK.finditer(shown))]
    lines = [(start, end) for start in starts if (end := _line_end(shown, start)) - start <= _LONGEST_MARK]
    marks = [span for span in lines if _MARK.fullmatch(shown, *span) and _WORDS.search(shown, *span)]
    tail = max(len(shown) - _LONGEST_MARK, marks[-1][1] if marks else 0)
    last = _MARK_AT_END.search(shown, tail)
    if last is not None and (last[0].lstrip()[:1] not in "[<(" or _WORDS.search(last[0])):
        marks.append((last.start(), len(shown)))
    return marks


def _line_end(shown: str, start: int) -> int:
    end = shown.find("\n", start)
    return len(shown) if end < 0 else end


def _lines(part: str, at: int) -> list[_Line]:
    lines = []
    for text in part.split("\n"):
        lines.append(_Line(text, at))
        at += len(text) + 1
    return lines


def _unwrapped(lines: Sequence[_Line]) -> Sequence[_Line]:
    """The lines without fences and tags around them."""
    first, last = 0, len(lines)
    while first < last and (not lines[first].text.strip() or _WRAPPING.match(lines[first].text)):
        first += 1
    while first < last and (not lines[last - 1].text.strip() or _WRAPPING.match(lines[last - 1].text)):
        last -= 1
    wrapped = any(line.text.strip() for line in (*lines[:first], *lines[last:]))
    return lines[first:last] if wrapped else lines


def _pieces_of_part(lines: Sequence[_Line], first_line: int | None) -> Iterator[Piece]:
    runs = _numbered_runs(lines, first_line)
    if not runs:
        yield _piece(lines, begins=first_line == 1)
    for number, run in runs:
        yield _piece(run, begins=number == 1)


def _piece(lines: Sequence[_Line], *, begins: bool) -> Piece:
    starts, place = [], 0
    for line in lines:
        starts.append(place)
        place += len(line.text) + 1
    text = "\n".join(line.text for line in lines)
    return Piece(text, begins, tuple(starts) or (0,), tuple(line.at for line in lines) or (0,))


def _numbered_runs(lines: Sequence[_Line], first_line: int | None) -> list[tuple[int, list[_Line]]]:
    """Runs of lines whose numbers follow one another, each with its first number; none where numbers are the file's.

    Whatever stands between or around the runs is the tool's own word.
    """
    filled = [line for line in lines if line.text.strip()]
    numbered = [
        _Numbered(int(match["number"]), match, line) for line in filled if (match := _NUMBERED.match(line.text))
    ]
    if not _are_line_numbers(filled, numbered, first_line):
        return []
    blanks = _blanks_behind(numbered)
    runs: list[tuple[int, list[_Line]]] = []
    last = None
    for number, match, line in numbered:
        at = min(match.end() + blanks, len(line.text))
        stripped = _Line(line.text[at:], line.at + at)
        if last is not None and number == last + 1:
            runs[-1][1].append(stripped)
        else:
            runs.append((number, [stripped]))
        last = number
    return runs


def _are_line_numbers(filled: Sequence[_Line], numbered: Sequence[_Numbered], first_line: int | None) -> bool:
    if len(numbered) < 2:
        return len(filled) == 1 and len(numbered) == 1 and numbered[0].number == first_line
    following = sum(b.number == a.number + 1 for a, b in pairwise(numbered))
    before = filled.index(numbered[0].line)
    after = len(filled) - 1 - filled.index(numbered[-1].line)
    return (
        following >= _LEAST_SHARE * (len(numbered) - 1)
        and len(numbered) >= _LEAST_SHARE * (len(filled) - before - after)
        and max(before, after) <= _MOST_FOREIGN_LINES
    )


def _blanks_behind(numbered: Sequence[_Numbered]) -> int:
    """How many blanks a tool put between the number and the line: those behind every number, one after a sign."""
    rests = [line.text[match.end() :] for _, match, line in numbered]
    least = min((len(rest) - len(rest.lstrip(" ")) for rest in rests if rest.strip()), default=0)
    marks = {match["mark"].strip(" ") for _, match, _ in numbered}
    if marks & {"\t", "→"}:
        return 0
    return min(least, 1) if marks & set("|│:).") else least
