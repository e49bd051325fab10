"""What the ids of a record look like, so that a planted one cannot be told from them."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehr.tasks.synthetic.draw import Draw

_SAMPLE = 2000
_KINDS = ("0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class IdShape:
    """Which characters stand at each place of ids of the commonest length, each as often as it was seen there."""

    places: tuple[str, ...]

    @classmethod
    def of(cls, ids: Sequence[str]) -> IdShape:
        """Learn the shape from ids (at most 2,000 of them, spread over all). Raises `ValueError` for none."""
        if not ids:
            raise ValueError("no ids to learn a shape from; the record needs at least one resource")
        sample = ids[:: len(ids) // _SAMPLE + 1]
        length = Counter(map(len, sample)).most_common(1)[0][0]
        same = [id for id in sample if len(id) == length]
        return cls(tuple(_characters("".join(id[place] for id in same)) for place in range(length)))

    def matches(self, id: str) -> bool:
        """Whether an id has this shape."""
        return len(id) == len(self.places) and all(c in place for c, place in zip(id, self.places, strict=True))

    def several(self, number: int, dice: Draw, is_taken: Callable[[str], bool]) -> list[str]:
        """That many different ids that are not taken, in storage order.

        Raises `ValueError` where the shape has no room for them.
        """
        found: set[str] = set()
        for _ in range(100 * number + 1000):
            if len(found) == number:
                return sorted(found, key=storage_place)
            id = "".join(dice.pick(place) for place in self.places)
            if id not in found and not is_taken(id):
                found.add(id)
        raise ValueError(f"no {number} free ids of the shape {'|'.join(self.places)!r}")


def storage_place(id: str) -> int:
    """Where a server lists a resource among one patient's (or a Patient among all): the sandbox sorts by this hash.

    A setup that is listed in this order is in storage order for a server that goes by insertion, too.
    """
    return zlib.crc32(id.encode())


def _characters(seen: str) -> str:
    """What may stand at a place where these were seen: they, or their whole kind where few ids were seen."""
    different = set(seen)
    if len(different) == 1:
        return seen[0]
    if len(seen) < 10 * len(different):
        for kind in _KINDS:
            if len(different) > 4 and different <= set(kind):
                return kind
    return seen
