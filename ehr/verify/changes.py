"""The agent's net changes, as resources: another writer's surviving changes belong to "before" (rule 7).

The episode's changes are net whoever wrote. Where another writer touched a resource, its successive states are taken
from the answers of the raw requests: what the other writer changed is laid over "before"; and where the agent's last
version puts back what stood there before the other writer came, that is a lost update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ehr.verify.difference import ABSENT, Difference, Path, differences, is_same, parse
from ehr.verify.writes import Write
from harness.trace import Episode, Verb

State = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class NetChange:
    """One resource that the agent changed, net. `lost` are the other writer's changes that it overwrote."""

    verb: Verb
    type: str
    id: str
    before: State
    after: State
    lost: tuple[Difference, ...] = ()

    @property
    def reference(self) -> str:
        """`Type/id`."""
        return f"{self.type}/{self.id}"


def net_changes(episode: Episode, written: Sequence[Write]) -> list[NetChange]:
    """The agent's net changes in the order of writing. Raises `ValueError` where a stored body is no JSON object."""
    raw = {c.reference: (_state(c.before), _state(c.after)) for c in episode.changes}
    found = []
    for reference in _in_order(episode, written):
        steps = [w for w in written if w.accepted and w.reference == reference and _stores(w)]
        others = any(w.by != "agent" for w in steps)
        if not others:
            before, after = raw.get(reference, (None, None))
            change = _change(reference, before, after) if reference in raw else None
        elif all(w.by != "agent" for w in steps):
            change = None
        else:
            change = _beside_others(reference, raw.get(reference), steps)
        if change is not None:
            found.append(change)
    return found


def undone(written: Sequence[Write], changes: Sequence[NetChange]) -> list[str]:
    """References that the agent wrote and that are, net, as they were. A PUT of what is there already wrote nothing."""
    changed = {change.reference for change in changes}
    states: dict[str, list[State]] = {}
    for write in written:
        if write.by == "agent" and write.accepted and write.reference and _stores(write):
            states.setdefault(write.reference, []).append(_stored(write))
    return [
        reference
        for reference, steps in states.items()
        if reference not in changed and any(not _is_same_state(step, steps[-1]) for step in steps)
    ]


def patients_of(resource: State, base: str | None = None) -> set[str]:
    """The patients whose the resource is: its subject, patient, for, participants, or itself."""
    from ehr.verify.writes import normal_reference

    if resource is None:
        return set()
    if resource.get("resourceType") == "Patient":
        return {f"Patient/{resource.get('id')}"}
    places = [resource.get(key) for key in ("subject", "patient", "for")]
    participants = resource.get("participant")
    for participant in participants if isinstance(participants, list) else []:
        if isinstance(participant, dict):
            places += participant.values()
    named = (normal_reference(p.get("reference"), base) for p in places if isinstance(p, dict))
    return {reference for reference in named if reference and reference.startswith("Patient/")}


def _in_order(episode: Episode, written: Sequence[Write]) -> list[str]:
    """Every reference changed or written, in the order of its first accepted write; the rest behind."""
    first = [w.reference for w in written if w.accepted and w.reference]
    return list(dict.fromkeys([*first, *(c.reference for c in episode.changes)]))


def _stores(write: Write) -> bool:
    """Whether an accepted write left something behind: a conditional create that found its match did not."""
    return not (write.method == "POST" and write.status == 200)


def _stored(write: Write) -> State:
    """The state after an accepted write; where the answer does not show it, what was sent."""
    if write.method == "DELETE":
        return None
    if write.stored is not None:
        return write.stored
    return write.sent if isinstance(write.sent, dict) and write.method != "PATCH" else {}


def _beside_others(reference: str, raw: tuple[State, State] | None, steps: Sequence[Write]) -> NetChange | None:
    after = raw[1] if raw else _stored(steps[-1])
    original = raw[0] if raw else after
    before = state = original
    deltas: list[tuple[State, State]] = []
    for step in steps:
        following = _stored(step)
        if step.by != "agent":
            deltas.append((state, following))
            before = _laid_over(before, state, following)
        state = following
    lost = tuple(_lost(deltas, after))
    change = _change(reference, before, after)
    if change is None:
        return None
    return NetChange(change.verb, change.type, change.id, before, after, lost)


def _lost(deltas: Sequence[tuple[State, State]], after: State) -> Iterator[Difference]:
    """What another writer changed and the last version has as it was before."""
    if after is None:
        return
    for earlier, later in deltas:
        if earlier is None or later is None:
            continue
        for delta in differences(earlier, later):
            if _is_lost(delta, after):
                yield delta


def _is_lost(delta: Difference, after: dict[str, Any]) -> bool:
    place = _at(after, delta.path)
    if isinstance(delta.path[-1], int) and ABSENT in (delta.before, delta.after):  # an item added to, or taken from
        items = _at(after, delta.path[:-1])
        is_there = isinstance(items, list) and any(
            is_same(i, delta.before if delta.after is ABSENT else delta.after) for i in items
        )
        return is_there if delta.after is ABSENT else not is_there
    return not _is_same_value(place, delta.after) and _is_same_value(place, delta.before)


def _laid_over(base: State, earlier: State, later: State) -> State:
    """`base` with what changed from `earlier` to `later`."""
    if earlier is None or later is None or base is None or is_same(base, earlier):
        return later
    merged: State = _merge(base, earlier, later)
    return merged


def _merge(base: Any, earlier: Any, later: Any) -> Any:
    if isinstance(base, dict) and isinstance(earlier, dict) and isinstance(later, dict):
        merged = {}
        for key in [*base, *(k for k in later if k not in base)]:
            value = _merge(base.get(key, ABSENT), earlier.get(key, ABSENT), later.get(key, ABSENT))
            if value is not ABSENT:
                merged[key] = value
        return merged
    if isinstance(base, list) and isinstance(earlier, list) and isinstance(later, list):
        kept = [i for i in base if any(is_same(i, x) for x in later) or not any(is_same(i, x) for x in earlier)]
        return [*kept, *(i for i in later if not any(is_same(i, x) for x in [*earlier, *kept]))]
    return base if _is_same_value(earlier, later) else later


def _at(value: Any, path: Path) -> Any:
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else ABSENT
        else:
            value = value.get(part, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def _is_same_value(a: Any, b: Any) -> bool:
    return a is b or (a is not ABSENT and b is not ABSENT and is_same(a, b))


def _is_same_state(a: State, b: State) -> bool:
    return a is b or (a is not None and b is not None and not differences(a, b))


def _change(reference: str, before: State, after: State) -> NetChange | None:
    type_name, _, id_ = reference.partition("/")
    if before is None and after is None:
        return None
    if before is None:
        return NetChange("create", type_name, id_, before, after)
    if after is None:
        return NetChange("delete", type_name, id_, before, after)
    return NetChange("update", type_name, id_, before, after) if differences(before, after) else None


def _state(body: str | None) -> State:
    return None if body is None else parse(body)
