"""A record seen through one episode's writes.

New bodies live in a dictionary, base resources that are replaced or deleted are hidden; nothing of the record is
copied. Writes are indexed when a search first looks, by the same program as the record, and searched beside it. An
overlay belongs to one episode: it may not be used from two threads at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import orjson

from ehr.sandbox.parameters.searchparams import Rows, program, references
from ehr.sandbox.parameters.values import split_reference, stored_date
from ehr.sandbox.record import Record
from ehr.sandbox.store.build import rank
from ehr.sandbox.store.index import IntArray, MemoryIndex, no_rows
from ehr.sandbox.store.storage import TypeRows

__all__ = ["Overlay", "Snapshot", "Written"]


_LAG = 64
"""So many writes may wait to be indexed: most are made by agents that search in between, and some by none that ever
does.
"""


@dataclass(slots=True)
class Written:
    """One body written over the record. `rows` and `rank` are there once it is indexed."""

    number: int
    type: str
    id: str
    body: bytes
    resource: dict[str, Any] | None
    rows: dict[int, Rows] | None = None
    rank: int = 0


def _parsed(written: Written) -> dict[str, Any]:
    """A body as its index sees it. What has no numbers or text that can be searched is found by its id alone."""
    try:
        resource: dict[str, Any] = orjson.loads(written.body)
    except orjson.JSONDecodeError:  # a number beyond all measure, half a surrogate
        return {"resourceType": written.type, "id": written.id}
    return resource


class Snapshot(NamedTuple):
    """The state of an overlay at one moment, for `restore`."""

    new: dict[tuple[str, str], Written]
    hidden: dict[str, frozenset[int]]


class Overlay:
    """One episode's view of a record: what was written, over what was there.

    A body without `meta.lastUpdated` counts as written at `clock` (by default the record's).
    """

    def __init__(self, record: Record, clock: str | None = None) -> None:
        self.record = record
        self._updated = stored_date(clock or record.clock)
        self._new: dict[tuple[str, str], Written] = {}
        self._hidden: dict[str, frozenset[int]] = {}
        self._written: list[Written] = []
        self._index = MemoryIndex(self._updated)
        self._indexed = 0
        self._alive: dict[str, IntArray] | None = None
        self._hidden_rows: dict[str, IntArray] = {}

    # ---- bodies

    def get(self, type: str, id: str) -> bytes | None:
        """The body as it stands; `None` where there is none."""
        written = self._new.get((type, id))
        if written is not None:
            return written.body
        row = self._base_row(type, id)
        return None if row is None else self.record.file.body(row)

    def exists(self, type: str, id: str) -> bool:
        """Whether there is such a resource."""
        return (type, id) in self._new or self._base_row(type, id) is not None

    def put(self, type: str, id: str, body: bytes, resource: dict[str, Any] | None = None) -> None:
        """Write a body, in place of what was there. `resource` is the body parsed, where the caller has it."""
        self._hide(type, id)
        written = Written(len(self._written), type, id, body, resource)
        self._written.append(written)
        self._new[type, id] = written
        self._alive = None
        if len(self._written) - self._indexed > _LAG:
            self._index_new()

    def remove(self, type: str, id: str) -> None:
        """Take a resource away; nothing happens where there is none."""
        self._hide(type, id)
        self._new.pop((type, id), None)
        self._alive = None

    def snapshot(self) -> Snapshot:
        """The state now. Its cost grows with the writes only."""
        return Snapshot(dict(self._new), dict(self._hidden))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state; what was written since is as if it had never been."""
        self._new, self._hidden = dict(snapshot.new), dict(snapshot.hidden)
        self._alive = None
        self._hidden_rows.clear()

    def _base_row(self, type: str, id: str) -> int | None:
        """The row in the record, unless a write hides it."""
        row = self.record.file.row(type, id)
        return None if row is None or row in self._hidden.get(type, ()) else row

    def _hide(self, type: str, id: str) -> None:
        row = self._base_row(type, id)
        if row is not None:
            self._hidden[type] = self._hidden.get(type, frozenset()) | {row}
            self._hidden_rows.pop(type, None)

    # ---- for searches

    @property
    def index(self) -> MemoryIndex:
        """The index of everything written, also of what no longer stands (see `alive`): a snapshot may bring it
        back.
        """
        if self._indexed < len(self._written):
            self._index_new()
        return self._index

    def _index_new(self) -> None:
        for written in self._written[self._indexed :]:
            resource = written.resource if written.resource is not None else _parsed(written)
            written.rows = self._index.add(written.number, resource)
            written.rank = rank(written.type, written.id, written.rows)
            written.resource = None
        self._indexed = len(self._written)

    def alive(self, type: str) -> IntArray:
        """The numbers of the writes of a type that stand, sorted."""
        if self._alive is None:
            found: dict[str, list[int]] = {}
            for written in self._new.values():
                found.setdefault(written.type, []).append(written.number)
            self._alive = {name: np.sort(np.array(numbers, np.int32)) for name, numbers in found.items()}
        return self._alive.get(type, no_rows)

    def written(self, number: int) -> Written:
        """A write by its number."""
        return self._written[number]

    def rows_of(self, type: str, id: str) -> dict[int, Rows]:
        """The index rows of a resource as it stands (number of a space in its type's program -> rows); empty where
        there is none.
        """
        written = self._new.get((type, id))
        if written is not None and written.rows is not None:
            return written.rows
        body = self.get(type, id)
        return {} if body is None else program(type).rows(orjson.loads(body))

    def find(self, type: str, id: str) -> Written | None:
        """The write that stands for a resource; `None` where it comes from the record or does not exist."""
        return self._new.get((type, id))

    def base_row(self, type: str, id: str) -> int | None:
        """The row of a resource that still comes from the record."""
        return None if (type, id) in self._new else self._base_row(type, id)

    def added(self) -> Iterator[Written]:
        """The writes that stand and have no resource of the record under their name, not even a hidden one."""
        for written in self._new.values():
            if self.record.file.row(written.type, written.id) is None:
                yield written

    def stretch(self, type: str) -> TypeRows:
        """The rows of a type in the record, hidden ones too."""
        return self.record.file.types.get(type, TypeRows(0, 0))

    def hidden(self, type: str) -> IntArray:
        """The rows of a type in the record that writes hide, sorted."""
        hidden = self._hidden.get(type)
        if not hidden:
            return no_rows
        rows = self._hidden_rows.get(type)
        if rows is None:
            rows = self._hidden_rows[type] = np.array(sorted(hidden), np.int32)
        return rows

    # ---- who refers to a resource

    def referrers(self, type: str, id: str) -> Iterator[tuple[str, str, str]]:
        """Every resource that refers to this one in an element with a search parameter: type, id and path."""
        from ehr.sandbox.searching.including import referring_to

        for found_type, found_id in dict.fromkeys(referring_to(self, (type, id))):
            body = self.get(found_type, found_id)
            for path, reference in references(orjson.loads(body)) if body else ():
                text = reference.get("reference")
                if isinstance(text, str) and split_reference(text) == (type, id):
                    yield found_type, found_id, path
