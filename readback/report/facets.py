"""What the page's filter looks at: for each episode a few codes, and for each facet the words of its codes.

Codes are numbers and our own letters, so nothing untrusted is in an attribute that a script reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from readback.comparison.document import Pair
from readback.comparison.reading import Rated, RaterKey
from readback.summary.ledger import Entry, labels_of, variant_of
from readback.summary.quadrants import QUADRANTS, cell_of, has_quadrants
from readback.tables.words import variant_words


@dataclass(frozen=True, slots=True)
class Choice:
    """One code of a facet, its words, and how many episodes have it."""

    code: str
    words: str
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """One facet: the letter of its attribute, its name, and what can be chosen."""

    letter: str
    name: str
    choices: tuple[Choice, ...]


_OUTCOMES = {"pass": "succeeded", "fail": "failed", "vacuous": "vacuous", "unscored": "unscored"}
_CELLS = {
    "pass_pass": "both pass", "pass_fail": "message passes, record fails", "fail_pass": "record passes, message fails",
    "fail_fail": "both fail",
}  # fmt: skip
_QUADRANT_WORDS = {
    "CG": "CG correct, grounded", "CU": "CU correct, ungrounded", "IG": "IG incorrect, grounded",
    "IU": "IU incorrect, ungrounded", "refusal": "refusal", "vacuous": "names nothing", "unscored": "unscored",
}  # fmt: skip


@dataclass(slots=True)
class Facets:
    """The facets of a page, gathered episode by episode."""

    pairs: Sequence[Pair] = ()
    _runs: dict[str, str] = field(default_factory=dict)
    _agents: dict[str, str] = field(default_factory=dict)
    _conditions: dict[str, str] = field(default_factory=dict)
    _variants: dict[str, str] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def of(self, rated: Rated) -> dict[str, str]:
        """The codes of one episode by letter; those of a letter are apart by blanks."""
        entry = rated.entry
        codes: dict[str, Iterable[str]] = {
            "r": [_code(self._runs, rated.run)],
            "a": [_code(self._agents, entry.agent)],
            "c": [_code(self._conditions, entry.condition)],
            "v": [_code(self._variants, variant_words(variant_of(entry)))],
            "o": [entry.success],
            "l": [_code(self._labels, label) for label in labels_of(entry)],
            "q": [cell_of(entry)] if has_quadrants(entry) else (),
            "m": _message_state(entry),
            "d": list(self._disagreements(rated)),
        }
        for letter, found in codes.items():
            self._counts.update((letter, code) for code in found)
        return {letter: " ".join(found) for letter, found in codes.items() if found}

    def facets(self) -> list[Facet]:
        """Those in which there is something to choose."""
        pairs: dict[str, str] = {}
        for number, pair in enumerate(self.pairs):
            pairs[f"{number}a"] = f"{pair.a.name} passes, {pair.b.name} fails"
            pairs[f"{number}b"] = f"{pair.b.name} passes, {pair.a.name} fails"
        all_facets = [
            self._facet("r", "Run", _swapped(self._runs)),
            self._facet("a", "Agent", _swapped(self._agents)),
            self._facet("c", "Condition", _swapped(self._conditions)),
            self._facet("v", "Variant", _swapped(self._variants)),
            self._facet("o", "Success", _OUTCOMES),
            self._facet("l", "Label", _swapped(self._labels)),
            self._facet("q", "Quadrant", {cell: _QUADRANT_WORDS[cell] for cell in (*QUADRANTS, *_REST)}),
            self._facet("m", "Message and record", _CELLS),
            self._facet("d", "Disagreement", pairs),
        ]
        always = {"l", "d"}
        return [one for one in all_facets if len(one.choices) > 1 or (one.choices and one.letter in always)]

    def code_of_label(self, label: str) -> str | None:
        """The code of a label that some episode has."""
        return self._labels.get(label)

    def _facet(self, letter: str, name: str, words: Mapping[str, str]) -> Facet:
        choices = [Choice(code, said, self._counts[letter, code]) for code, said in words.items()]
        return Facet(letter, name, tuple(choice for choice in choices if choice.count))

    def _disagreements(self, rated: Rated) -> Iterable[str]:
        for number, pair in enumerate(self.pairs):
            if pair.suite != rated.suite:
                continue
            a, b = (rated.said.get(RaterKey(side.lens, side.config)) for side in (pair.a, pair.b))
            if a is None or b is None:
                continue
            if (a.outcome, b.outcome) == ("pass", "fail"):
                yield f"{number}a"
            elif (a.outcome, b.outcome) == ("fail", "pass"):
                yield f"{number}b"


_REST = ("refusal", "vacuous", "unscored")


def _code(known: dict[str, str], words: str) -> str:
    return known.setdefault(words, str(len(known)))


def _swapped(known: Mapping[str, str]) -> dict[str, str]:
    return {code: words for words, code in sorted(known.items(), key=lambda pair: pair[0])}


def _message_state(entry: Entry) -> tuple[str, ...]:
    message, state = entry.of("message"), entry.of("state")
    if message is None or state is None:
        return ()
    cell = f"{message.outcome}_{state.outcome}"
    return (cell,) if cell in _CELLS else ()
