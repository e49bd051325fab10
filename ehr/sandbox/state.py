"""What an episode has written so far over its record: bodies, versions, the log of writes, ids and time.

Everything is laid over the record on first use, so that making a fork costs nothing. Ids and instants depend only on
the writes that were carried out, so that the same writes on a fresh fork give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import orjson

from ehr.sandbox.body import compact, same_content, tree_of
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.versions import Key, Version, Versions

if TYPE_CHECKING:
    from ehr.sandbox.record import Record

FIRST_ID = 1000
Verb = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True)
class Change:
    """One resource that differs, net over the episode. `before` and `after` are the stored bytes."""

    verb: Verb
    reference: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Write:
    """One write as it was carried out: what stood before, what stands after, by whom, and in which request.

    `request` counts the fork's requests from 0. A write of tags alone (`$meta-add`) is one too, without a new version.
    """

    verb: Verb
    reference: str
    before: bytes | None
    after: bytes | None
    by: str
    request: int


Storing = Callable[[Key, bytes | None, Version, str], Version | None]
"""What the storage makes of a write that was acknowledged: resource, body before, the version, and who writes it.

`None`: it is not stored. A sound storage has no such thing; it is there so that one that fails can be tried.
"""


class State:
    """The writable side of a fork. Not for two threads at once."""

    def __init__(
        self, record: Record, setup: Sequence[dict[str, Any] | bytes], clock: str, validation: str = "hapi"
    ) -> None:
        self.record = record
        self.clock = clock
        self.validation = validation
        self.writes: list[Write] = []
        self.storing: Storing | None = None
        self._setup = setup
        self._ticks = 0
        self._given = 0
        self._initial: dict[Key, bytes | None] = {}

    @cached_property
    def overlay(self) -> Overlay:
        """The record with the setup laid over it and everything written since."""
        overlay = Overlay(self.record, self.clock)
        for body in self._laid:
            resource = orjson.loads(body)
            overlay.put(resource["resourceType"], resource["id"], body)
        return overlay

    @cached_property
    def _laid(self) -> list[bytes]:
        return [given if isinstance(given, bytes) else compact(tree_of(given)) for given in self._setup]

    @cached_property
    def laid(self) -> dict[Key, None]:
        """The resources of the setup, the last first."""
        resources = [orjson.loads(body) for body in self._laid]
        return dict.fromkeys(Key(r["resourceType"], r["id"]) for r in reversed(resources))

    @cached_property
    def versions(self) -> Versions:
        """Every version of every resource."""
        start, beginning = shifted(self.clock, 0), shifted(self.record.clock, 0)
        return Versions(self.overlay.get, lambda key: start if key in self.laid else beginning)

    def overlay_keys(self) -> list[Key]:
        """The resources that were laid or written over the record, whether they stand or not."""
        return list({**self.laid, **dict.fromkeys(self.versions.written_keys())})

    def counts(self) -> dict[str, int]:
        """How many resources stand, by type."""
        found = Counter(self.record.counts)
        for key in self.overlay_keys():
            held = self.record.body(key.type, key.id) is not None
            found[key.type] += (self.overlay.get(key.type, key.id) is not None) - held
        return dict(found)

    # ---- ids and time

    @cached_property
    def _first_id(self) -> int:
        ids = [orjson.loads(body).get("id", "") for body in self._laid]
        numbers = [int(id) for id in ids if id.isascii() and id.isdigit() and len(id) < 19]
        return max([FIRST_ID, self.record.largest_id + 1, *(number + 1 for number in numbers)])

    @property
    def next_number(self) -> int:
        """The number that the next resource gets as its id: one sequence over all types."""
        return self._first_id + self._given

    def instant(self, ticks: int = 1) -> str:
        """`lastUpdated` of the next write: the clock and one millisecond for each write so far."""
        return shifted(self.clock, self._ticks + ticks)

    @property
    def now(self) -> str:
        """The instant of the newest write, or the clock."""
        return self.instant(0)

    # ---- writing

    def carry_out(self, written: Sequence[tuple[Key, Version]], ids: int, by: str, request: int) -> None:
        """Store new versions in their order. `ids` of the sequence were given. Nothing in here can fail half way."""
        for key, version in written:
            before = self.overlay.get(key.type, key.id)
            kept = version if self.storing is None else self.storing(key, before, version, by)
            if kept is None:
                continue
            version = kept
            self._log(key, before, version.body, by, request)
            self.versions.add(key, version)
            if version.body is None:
                self.overlay.remove(key.type, key.id)
            else:
                self.overlay.put(key.type, key.id, version.body)
        self._given += ids
        self._ticks += bool(written)

    def amend(self, key: Key, body: bytes, by: str, request: int) -> None:
        """Another body for the current version (tags only): no new version, no new instant."""
        self._log(key, self.overlay.get(key.type, key.id), body, by, request)
        self.versions.amend(key, body)
        self.overlay.put(key.type, key.id, body)

    def forget(self, key: Key, keep: Callable[[Version], bool]) -> int:
        """Remove versions for good; how many."""
        self._initial.setdefault(key, self.overlay.get(key.type, key.id))
        return self.versions.forget(key, keep)

    def _log(self, key: Key, before: bytes | None, after: bytes | None, by: str, request: int) -> None:
        self._initial.setdefault(key, before)
        verb: Verb = "delete" if after is None else "create" if before is None else "update"
        self.writes.append(Write(verb, key.reference, before, after, by, request))

    def changes(self) -> list[Change]:
        """The net changes, in the order in which the resources were first written."""
        result = []
        for key, before in self._initial.items():
            after = self.overlay.get(key.type, key.id)
            if before is None and after is None:
                continue
            if before is not None and after is not None and same_content(before, after):
                continue
            verb: Verb = "delete" if after is None else "create" if before is None else "update"
            result.append(Change(verb, key.reference, before, after))
        return result


def shifted(clock: str, milliseconds: int) -> str:
    """An ISO instant with milliseconds, later than `clock` by so many, in the clock's zone."""
    moment = datetime.fromisoformat(clock) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds")
