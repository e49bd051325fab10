"""Pages over a fixed list of hits: what a search found stays found, whatever is written between two pages.

The contents are read anew for each page, so that an updated hit shows its new content and a deleted one is missing (the
page is then one short, and `total` still counts it), as at HAPI.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.rest.call import Parameters

DEFAULT_COUNT = 20
LARGEST_PAGE = 10_000
"""Entries that one page may hold, whatever `_count` says: a page is built in memory."""
MOST_SEARCHES = 100
"""Searches that a fork keeps for paging; the oldest go first."""
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Listing:
    """What a search of a type found: its id, its parameters, the hits in order, and how many they are.

    `total` is `None` where the client asked for so many and no more (`max-results`): then there are no other pages.
    `included` gives what is to be sent with a page of hits, looked up for each page.
    """

    id: str
    type: str
    parameters: Parameters
    hits: Sequence[tuple[str, str]]
    total: int | None
    included: Callable[[Sequence[tuple[str, str]]], Sequence[tuple[str, str]]] = lambda page: ()


class Pages:
    """The searches of a fork that can still be paged through."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Listing] = OrderedDict()

    def keep(self, listing: Listing) -> None:
        """Make a search's pages available under its id."""
        self._kept[listing.id] = listing
        while len(self._kept) > MOST_SEARCHES:
            self._kept.popitem(last=False)

    def find(self, id: str) -> Listing:
        """The search of an id. Raises `RefusedError` (410) where it is unknown or expired."""
        if id not in self._kept:
            raise RefusedError(410, f'HAPI-0417: Search ID "{id}" does not exist and may have expired')
        self._kept.move_to_end(id)
        return self._kept[id]


def count_of(value: str | None) -> int:
    """`_count` as a number; a negative one is kept. Raises `RefusedError` (HAPI-0375)."""
    if value is None or value == "":
        return DEFAULT_COUNT
    text = value.strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10 or abs(int(text)) > _MOST:
        raise RefusedError(400, f"HAPI-0375: Invalid _count value: {value}")
    return int(text)


def offset_of(value: str | None) -> int:
    """`_offset` as a number, never negative. Raises `RefusedError` (HAPI-0461)."""
    text = (value or "0").strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise RefusedError(400, f"HAPI-0461: Invalid _offset value: {value}")
    return int(text)


def lenient(read: Callable[[str | None], int], value: str | None) -> int:
    """The number that `read` finds, or what it gives for no value: pages and histories mind no nonsense."""
    try:
        return read(value)
    except RefusedError:
        return read(None)
