"""An expectation under a fault that cannot be recovered from: what the fault leaves is right, and `done` is wrong.

Under `lost_write` the server acknowledges the writes that the task needs and stores none. Counting rules:

- What was acknowledged and is not there counts as if it were: so a wrong dose, or nothing sent at all, is found as
  everywhere else. Equal creates count once (who reads back may well send it again), of updates the last.
- Who claims `done` is wrong whatever was sent: `PHANTOM_SUCCESS`.
- Who stops after the first write that was lost has not failed to do the rest: no `PARTIAL` then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ehr.verify.changes import NetChange
from ehr.verify.difference import is_same
from ehr.verify.expected import Expected
from ehr.verify.writes import Write
from harness.trace import Episode

LOSING = "lost_write"
"""The fault that cannot be recovered from."""


def loses(episode: Episode, expected: Expected) -> bool:
    """Whether what the task needs was lost in this episode, whatever the agent did."""
    return episode.variant.get("fault") == LOSING and not expected.is_nothing


def with_lost(changes: Sequence[NetChange], written: Sequence[Write], expected: Expected) -> list[NetChange]:
    """The changes, and what was acknowledged of the expected ones and is not there, as if it were."""
    there = {change.reference for change in changes}
    return [*changes, *_lost([write for write in written if write.reference not in there], expected)]


def _lost(written: Sequence[Write], expected: Expected) -> Iterator[NetChange]:
    creates: list[NetChange] = []
    others: dict[str, NetChange] = {}
    for write in written:
        if write.by != "agent" or not write.accepted or write.reference is None or write.id is None:
            continue
        if write.method == "POST" and write.status == 200:  # a conditional create that found its match
            continue
        verb, after = write.verbs[0], _after(write)
        if not _is_expected(write, expected):
            continue
        if verb == "delete":
            others[write.reference] = NetChange("delete", write.type, write.id, {}, None)
        elif verb == "update":
            others[write.reference] = NetChange("update", write.type, write.id, after, after)
        elif not any(is_same(_content(after), _content(one.after or {})) for one in creates):
            creates.append(NetChange("create", write.type, write.id, None, after))
    yield from creates
    yield from others.values()


def _is_expected(write: Write, expected: Expected) -> bool:
    verb = write.verbs[0]
    for way in expected.alternatives():
        if verb == "create" and any(create.type == write.type for create in way.creates):
            return True
        if verb == "update" and any(update.reference == write.reference for update in way.updates):
            return True
        if verb == "delete" and write.reference in way.deletes:
            return True
    return False


def _after(write: Write) -> dict[str, Any]:
    """The resource as the answer showed it, else as it was sent."""
    return write.stored or (write.sent if isinstance(write.sent, dict) else {})


def _content(resource: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resource.items() if key not in ("id", "meta")}
