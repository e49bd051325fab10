"""A text as words, in a form in which an answer, a question and a chart's names can be compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

Phrase = tuple[str, ...]
"""Words in their order, each in the form of `word`."""

_WORD = re.compile(r"[^\W_]+")
_UNSEEN = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD])
_PLAIN = str.maketrans(
    {"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u207a": "+"}
)


def words_in(text: str) -> frozenset[str]:
    """The parts of a text that blanks part."""
    return frozenset(text.split())


LINKS = words_in(
    """
    a an and approximately about around are as at was were is be been being came back by clearly current currently equal
    equals for found from had has have he her his high higher elevated in it its just last latest level levels low lower
    of off normal stable measured measurement measurements measuring most newest now obs observation on only or our
    patient patients reading readings recent recently recorded reported result results returned roughly s serum she
    shows showed shown stands still taken test that the their then these they this to today total up value values venous
    via when which with you yesterday drawn collected dated mean average averages averaged avg median minimum maximum
    min max lowest highest peak nadir trough lab labs laboratory blood plasma finally first final slightly mildly
    severely markedly respectively both also repeat repeated initial admission discharge between ranged ranging ranges
    range same day rest chart charted documented remains remained
    rise rises rose risen fall falls fell fallen drop drops dropped increase increased decrease decreased climbed went
    go improved worsened trended trending going rising falling
    """
)
"""Words that may stand between a measure and its number, or a number and its time, without parting them."""


def plain(text: str) -> str:
    """A text of the same length with one sign for each that looks the same: blanks, minus signs, lower case."""
    text = text.translate(_PLAIN).replace("->", "→ ").replace("=>", "→ ")
    return "".join(c if len(c) == 1 else o for c, o in ((o.lower(), o) for o in text))


def word(text: str) -> str:
    """A word in the form in which words are compared: lower case, without the s of a plural."""
    folded = text.lower()
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


def phrase(text: str) -> Phrase:
    """The words of a text."""
    text = unicodedata.normalize("NFKC", text).translate(_UNSEEN)
    return tuple(word(found) for found in _WORD.findall(text))


_LINK_FORMS = frozenset(word(each) for each in LINKS)


def is_link(token: str) -> bool:
    """Whether a token (a word, or a sign) may stand between a measure and its number."""
    return token in _LINK_FORMS


MeantT = TypeVar("MeantT")


class Vocabulary(Generic[MeantT]):
    """Phrases that are known, each with what it means."""

    def __init__(self, known: Mapping[Phrase, MeantT]) -> None:
        self.known = known
        self._longest = max(map(len, known), default=0)
        self._last: tuple[Sequence[str], tuple[tuple[int, int, MeantT], ...]] = ((), ())

    def occurrences(self, tokens: Sequence[str]) -> tuple[tuple[int, int, MeantT], ...]:
        """Where phrases stand in a list of tokens: start, end, what each means. The longest first, none in another."""
        last, found = self._last
        if last is not tokens:  # a sentence is asked about once for each of its numbers
            found = tuple(self._occurrences(tokens))
            self._last = tokens, found
        return found

    def _occurrences(self, tokens: Sequence[str]) -> Iterator[tuple[int, int, MeantT]]:
        at, has_hyphens = 0, "-" in tokens
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                meant = self.known.get(tuple(tokens[at : at + length]))
                if meant is not None:
                    yield at, at + length, meant
                    at += length
                    break
                if not has_hyphens:
                    continue
                end, joined = _joined(tokens, at, length)
                meant = self.known.get(joined) if end > at + length else None
                if meant is not None:
                    yield at, end, meant
                    at = end
                    break
            else:
                at += 1


def _joined(tokens: Sequence[str], at: int, length: int) -> tuple[int, Phrase]:
    """So many words from here with hyphens between them left out, and where they end: `C-reactive protein`."""
    words = [tokens[at]]
    end = at + 1
    while len(words) < length:
        end += tokens[end : end + 1] == ("-",)
        if end >= len(tokens):
            break
        words.append(tokens[end])
        end += 1
    return end, tuple(words)
