"""What a page leaves out of an episode for want of room, counted and said."""

from __future__ import annotations

from dataclasses import dataclass, field

from readback.report.allowance import Allowance


@dataclass(slots=True)
class LeftOut:
    """Counts by what is counted, a plural: `calls`, `parts of results`."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, count: int = 1) -> None:
        """So many more of them."""
        if count:
            self.counts[what] = self.counts.get(what, 0) + count

    def words(self) -> tuple[str, ...]:
        """`3 calls`, `1 part of results`."""
        return tuple(f"{count} {what if count > 1 else _one_of(what)}" for what, count in self.counts.items())


def _one_of(what: str) -> str:
    first, blank, rest = what.partition(" ")
    return first.removesuffix("s") + blank + rest


def name_of(text: str) -> str:
    """A name, as far as it can be one: names are not paid for by the letter."""
    return text[:200]


def paid(purse: Allowance, markup: int, left: LeftOut, what: str) -> bool:
    """Whether there is room for the markup of one more; else it is counted as left out."""
    if purse.pays(markup):
        return True
    left.add(what)
    return False
