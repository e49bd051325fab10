"""How names are spelled: the pieces of an identifier, and a new name in the style of the old one.

`HTTPAdapter` has the pieces HTTP and Adapter, `parse_config` parse and config, `TinyDB` Tiny and DB. A new name keeps
underscores, digits and capitals; each piece is replaced by one new word, the same wherever that piece stands, so that a
class `Console` in `console.py` becomes a class `Lantern` in `lantern.py`: what could be told from a directory listing
can still be told, and nothing else can. Pieces that only say what kind of thing it is (`get`, `is`, `Error`) are kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from importlib import resources

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A piece of letters; digits and underscores stand between pieces."""

KEPT = frozenset(
    [
        "get",
        "set",
        "is",
        "has",
        "to",
        "from",
        "of",
        "in",
        "on",
        "as",
        "by",
        "for",
        "with",
        "and",
        "or",
        "not",
        "at",
        "an",
        "the",
        "add",
        "all",
        "no",
        "new",
        "do",
        "make",
        "error",
        "errors",
        "exception",
        "exceptions",
        "warning",
        "mixin",
        "base",
        "abstract",
        "test",
        "tests",
    ]
)


def pieces(name: str) -> list[str]:
    """The pieces of letters of an identifier."""
    return PIECE.findall(name)


def respelled(name: str, new: Callable[[str], str]) -> str:
    """`name` with each piece replaced by `new(piece in lower case)`, in the piece's own style.

    A name all of whose pieces would be kept gets a new last piece, chosen by the whole name.
    """
    found = list(PIECE.finditer(name))
    changed = [match for match in found if _is_changed(match.group())]
    last = found[-1] if found and not changed else None
    shout = name.isupper()

    def one(match: re.Match[str]) -> str:
        old = match.group()
        if last is not None and match.span() == last.span():
            return styled(new(f"{name.lower()}|"), old, shout=shout)
        return styled(_inflected(old.lower(), new), old, shout=shout) if _is_changed(old) else old

    return PIECE.sub(one, name)


def styled(word: str, like: str, *, shout: bool = False) -> str:
    """`word` in the style of a piece: lower case, with a capital, or in capitals where the whole name is."""
    if like.islower():
        return word
    return word.upper() if shout and like.isupper() else word.capitalize()


def new_words(seed: str, avoid: Collection[str]) -> Iterator[str]:
    """New words in an order that the seed gives; none is in `avoid`, nor its plural.

    English nouns come first, then what sounds like names of places.
    """
    nouns, starts, ends = _lists()
    for words in (nouns, [start + end for start in starts for end in ends]):
        for word in sorted(words, key=lambda word: hashlib.sha256(f"{seed}:{word}".encode()).digest()):
            if word not in avoid and f"{word}s" not in avoid:
                yield word
    raise ValueError(f"there are no new words left for seed {seed!r}")


def _is_changed(piece: str) -> bool:
    return len(piece) > 1 and piece.lower() not in KEPT


def _inflected(piece: str, new: Callable[[str], str]) -> str:
    """A plural stays the plural of its singular's new word."""
    if len(piece) > 3 and piece.endswith("s") and not piece.endswith(("ss", "us", "is")):
        return new(piece[:-1]) + "s"
    return new(piece)


@cache
def _lists() -> tuple[list[str], list[str], list[str]]:
    text = resources.files(__package__).joinpath("words.txt").read_text(encoding="utf-8")
    sections = [section.split() for section in re.split(r"^#.*$", text, flags=re.MULTILINE) if section.strip()]
    nouns, starts, ends = sections
    return nouns, starts, ends


def lower_pieces(words: Iterable[str]) -> set[str]:
    """All pieces of these words, and the words themselves, in lower case."""
    return {piece.lower() for word in words for piece in (word, *pieces(word))}
