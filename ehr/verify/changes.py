"""The agent's net changes, as resources: another writer's surviving changes belong to "before" (rule 7).

The episode's changes are net whoever wrote. Where another writer touched a resource, its successive states are taken
from the answers of the raw requests, and the other writer's part is taken out (`otherwriters.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehr.verify.difference import Difference, differences, parse
from ehr.verify.otherwriters import State, Step, beside_others
from ehr.verify.writes import Write, is_patient, normal_reference
from harness.trace import Episode, Verb


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
    """The agent's net changes in the order of writing. Raises `ValueError` where a stored body is no resource."""
    raw = {c.reference: (_state(c.reference, c.before), _state(c.reference, c.after)) for c in episode.changes}
    found = []
    for reference in _in_order(episode, written):
        steps = _steps([w for w in written if w.accepted and w.reference == reference and _stores(w)])
        if (
            reference in raw
            and raw[reference][1] is None
            and any(_is_conditional_delete(w, reference) for w in written)
        ):
            steps.append(Step("agent", None))
        if all(step.by == "agent" for step in steps):
            change = _change(reference, *raw[reference]) if reference in raw else None
        else:
            before, after = raw.get(reference, (steps[-1].state, steps[-1].state))
            laid, lost = beside_others(before, [*steps[:-1], Step(steps[-1].by, after)])
            change = _change(reference, laid, after, lost)
        if change is not None:
            found.append(change)
    return found


def undone(written: Sequence[Write], changes: Sequence[NetChange]) -> list[str]:
    """References that the agent wrote and that are, net, as they were. A PUT of what is there already wrote nothing."""
    changed = {change.reference for change in changes}
    own: dict[str, list[Write]] = {}
    for write in written:
        if write.by == "agent" and write.accepted and write.reference and _stores(write):
            own.setdefault(write.reference, []).append(write)
    states = {reference: [step.state for step in _steps(each)] for reference, each in own.items()}
    for reference, steps in states.items():  # what was created and is no change is gone
        if own[reference][0].verbs == ("create",) and any(_is_conditional_delete(w, reference) for w in written):
            steps.append(None)
    return [
        reference
        for reference, steps in states.items()
        if reference not in changed and any(not _is_same_state(step, steps[-1]) for step in steps)
    ]


def patients_of(change: NetChange, base: str | None = None) -> set[str]:
    """Whose the resource is, before or after: its subject, patient, for and participants, or itself, if Patients."""
    named = {change.reference} if change.type == "Patient" else set()
    for state in (change.before, change.after):
        references = (normal_reference(place.get("reference"), base) for place in _places_of_patients(state or {}))
        named |= {reference for reference in references if reference and is_patient(reference)}
    return named


def _places_of_patients(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    participants = resource.get("participant")
    places = [resource.get(key) for key in ("subject", "patient", "for")]
    for participant in participants if isinstance(participants, list) else []:
        places += participant.values() if isinstance(participant, dict) else ()
    for place in places:
        yield from (p for p in (place if isinstance(place, list) else [place]) if isinstance(p, dict))


def _in_order(episode: Episode, written: Sequence[Write]) -> list[str]:
    """Every reference changed or written, in the order of its first accepted write; the rest behind."""
    first = [w.reference for w in written if w.accepted and w.reference]
    return list(dict.fromkeys([*first, *(c.reference for c in episode.changes)]))


def _stores(write: Write) -> bool:
    """Whether an accepted write left something behind: a conditional create that found its match did not."""
    return not (write.method == "POST" and write.status == 200)


def _steps(written: Sequence[Write]) -> list[Step]:
    """The resource after each write; where no answer shows it, what was sent, else what stood there before."""
    steps: list[Step] = []
    for write in written:
        state = write.stored
        if state is None and isinstance(write.sent, dict) and write.method in ("POST", "PUT"):
            state = write.sent
        if state is None and write.method != "DELETE":
            state = steps[-1].state if steps else {}
        steps.append(Step(write.by, None if write.method == "DELETE" else state))
    return steps


def _is_conditional_delete(write: Write, reference: str) -> bool:
    """A delete of the agent that names no id; the net change says what it hit."""
    is_one = write.by == "agent" and write.accepted and write.method == "DELETE" and write.id is None
    return is_one and write.type == reference.partition("/")[0]


def _is_same_state(a: State, b: State) -> bool:
    return a is b or (a is not None and b is not None and not differences(a, b))


def _change(
    reference: str, before: State, after: State, lost: tuple[Difference, ...] = ()
) -> NetChange | None:  # fmt: skip
    type_name, _, id_ = reference.partition("/")
    if before is None and after is None:
        return None
    if before is None:
        return NetChange("create", type_name, id_, before, after)
    if after is None:
        return NetChange("delete", type_name, id_, before, after)
    differs = bool(lost or differences(before, after))
    return NetChange("update", type_name, id_, before, after, lost) if differs else None


def _state(reference: str, body: str | None) -> State:
    try:
        return None if body is None else parse(body)
    except ValueError as error:
        raise ValueError(f"what is stored as {reference} is no resource: {error}") from None
