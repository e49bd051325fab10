"""What the ids of a record look like, so that a planted one cannot be told from them."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehr.tasks.synthetic.draw import Draw

_SAMPLE = 2000
_KINDS = (
    "0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz",
    "0123456789abcdefghijklmnopqrstuvwxyz",
)  # fmt: skip


@dataclass(frozen=True)
class IdShape:
    """Which characters stand at each place of ids of the commonest length, each as often as it was seen there.

    `kinds` are the characters that might as well stand there: a digit where digits were seen, and so on.
    """

    places: tuple[str, ...]
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, ids: Sequence[str]) -> IdShape:
        """Learn the shape from ids (at most 2,000 of them, spread over all). Raises `ValueError` for none."""
        if not ids:
            raise ValueError("no ids to learn a shape from; the record needs at least one resource")
        sample = ids[:: len(ids) // _SAMPLE + 1]
        length = Counter(map(len, sample)).most_common(1)[0][0]
        same = [id for id in sample if len(id) == length]
        places = tuple("".join(id[place] for id in same) for place in range(length))
        return cls(places, tuple(_kind(set(seen)) for seen in places))

    def matches(self, id: str) -> bool:
        """Whether an id has this shape."""
        return len(id) == len(self.kinds) and all(c in kind for c, kind in zip(id, self.kinds, strict=True))

    def several(self, number: int, dice: Draw, is_taken: Callable[[str], bool]) -> list[str]:
        """That many different ids that are not taken, in storage order.

        They are as frequent as the record's; where that leaves no room (ids that run from 1 to 500), of the same kind;
        where even that does not, longer.
        """
        found: set[str] = set()
        places = self.places if min(map(len, self.places)) > 1 else self.kinds
        for widening in range(10):
            for _ in range(50 * number + 500):
                if len(found) == number:
                    return sorted(found, key=storage_place)
                id = "".join(dice.pick(place) for place in places)
                if id not in found and not is_taken(id):
                    found.add(id)
            places = (*self.kinds, *[_wide(self.kinds)] * widening)
        raise ValueError(f"no {number} free ids of the kind of {''.join(place[0] for place in self.places)!r}")


def storage_place(id: str) -> int:
    """Where a server lists a resource among one patient's (or a Patient among all): the sandbox sorts by this hash.

    A setup that is listed in this order is in storage order for a server that goes by insertion, too.
    """
    return zlib.crc32(id.encode())


def _kind(seen: set[str]) -> str:
    """The characters of which these are some; one that never varies stays itself."""
    if len(seen) == 1:
        return seen.pop()
    return next((kind for kind in _KINDS if seen <= set(kind)), "".join(sorted(seen)))


def _wide(kinds: Sequence[str]) -> str:
    """The kind of the last place that varies; digits where none does."""
    return next((kind for kind in reversed(kinds) if len(kind) > 1), _KINDS[0])
