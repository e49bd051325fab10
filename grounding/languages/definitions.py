"""What a language gives: the names that a text defines, each with its place, its kind and what it is defined in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Kind = Literal["class", "function", "variable", "field", "attribute", "alias", "export"]
"""`variable` stands outside classes and functions, `field` in a class, `attribute` is set on `self`, `alias` is a type
statement, `export` a name in `__all__`. Methods are functions."""

Scope = Literal["module", "class", "function", "unknown"]
"""What a definition stands in; `unknown` where the text begins after the line that would say so."""


class Definition(NamedTuple):
    """One name that a text defines. `owner` is the class it stands in, where `scope` is `class`.

    `start` and `end` are the name's place, in characters of the text.
    """

    name: str
    kind: Kind
    scope: Scope
    owner: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a text defines, in its order.

    `uncertain` holds, by name, the place of what may or may not be a definition: a line that looks like one where the
    text cannot be parsed, or a name that is set in a block whose head the text does not show.
    """

    certain: tuple[Definition, ...]
    uncertain: dict[str, int]


class Language(Protocol):
    """One programming language."""

    @property
    def name(self) -> str:
        """`python`, ..."""
        ...

    def definitions(self, text: str, *, begins: bool) -> Definitions:
        """What `text` defines. It may be any part of a file; `begins` says that it is known to be the beginning.

        Never raises for what the text holds.
        """
        ...

    def outline(self, text: str) -> tuple[int, ...] | None:
        """Where the parts of a file begin, the first at 0, given from its beginning; None where that cannot be told.

        What a part defines does not depend on the others.
        """
        ...

    def part(self, text: str, *, cut: bool) -> Definitions | None:
        """What one part defines; None where it cannot be parsed by itself. The last one may be `cut` at its end."""
        ...

    def may_define(self, text: str, name: str, *, assigned: bool) -> bool:
        """A glance whether `text` may define `name`, or one that begins with it, both folded; never wrongly no.

        Without `assigned` only classes and functions are meant.
        """
        ...

    def has_class(self, text: str, name: str) -> bool:
        """A glance whether the head of a class of this name may stand in the text, both folded."""
        ...
