"""The words that Python and its standard library give a meaning; see `stdlib.py` for how the list is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`taken` by Python itself, `attributes` of its classes, `parameters` of its functions; and `all`."""

    taken: frozenset[str]
    attributes: frozenset[str]
    parameters: frozenset[str]
    all: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """The list that comes with Readback."""
    text = resources.files(__package__).joinpath("stdlib.txt").read_text(encoding="utf-8")
    kinds: dict[str, set[str]] = {"t": set(), "a": set(), "p": set()}
    for line in text.splitlines():
        word, _, letters = line.partition(" ")
        for letter in letters:
            kinds[letter].add(word)
    every = frozenset().union(*kinds.values())
    return Vocabulary(frozenset(kinds["t"]), frozenset(kinds["a"]), frozenset(kinds["p"]), every)
