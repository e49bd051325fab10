"""The `state` lens: did the record change as it should, and in nothing else?

Judged from the episode alone: its net changes, the raw requests (for refusals, repairs and other writers) and the
agent's claim. Counting rules are with `writes.py`, the matching rules with `matching.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehr.verify.changes import NetChange, net_changes, undone
from ehr.verify.clauses import World
from ehr.verify.expected import NOTHING, Expected
from ehr.verify.form import problems
from ehr.verify.labels import by_severity
from ehr.verify.lost import loses, with_lost
from ehr.verify.matching import Matched, Open, best, match
from ehr.verify.readback import read_back
from ehr.verify.writes import Write, call_of_request, writes
from harness.task import Task
from harness.trace import Claim, Episode, Verb
from harness.values import digest
from harness.verdict import Clause, Verdict

CONFIG = digest({"lens": "state", "version": 1})


@dataclass(frozen=True, slots=True)
class _Judged:
    matched: Matched
    labels: tuple[str, ...]
    clauses: tuple[Clause, ...]
    notes: tuple[str, ...]


def judge_state(task: Task, episode: Episode) -> Verdict:
    """The verdict of the `state` lens. Never raises for what an agent did."""
    expected = Expected.model_validate(task.expected, extra="ignore") if task.expected else NOTHING
    broken = problems(expected)
    if broken:
        return _unscored(episode, broken[0])
    written = writes(episode)
    try:
        changes = net_changes(episode, written)
    except ValueError as error:
        return _unscored(episode, str(error))
    lost = loses(episode, expected)
    counted = with_lost(changes, written, expected) if lost else changes
    judged = [
        _judge_alternative(alternative, counted, written, task.patient, episode, lost=lost)
        for alternative in expected.alternatives()
    ]
    chosen = best([j.matched for j in judged], [j.labels for j in judged])
    verdict = judged[chosen]
    return Verdict(
        episode=episode.id,
        lens="state",
        config=CONFIG,
        outcome="fail" if verdict.labels else "pass",
        label=verdict.labels[0] if verdict.labels else None,
        labels=verdict.labels,
        notes=(*verdict.notes, *_notes(episode, written, changes)),
        reason=f"judged as alternative {chosen + 1} of {len(judged)}" if len(judged) > 1 else None,
        clauses=_with_calls(verdict.clauses, written, call_of_request(episode)),
    )


def _judge_alternative(
    expected: Expected,
    changes: Sequence[NetChange],
    written: Sequence[Write],
    patient: str | None,
    episode: Episode,
    *,
    lost: bool,
) -> _Judged:
    created = {c.reference: c.after for c in changes if c.after is not None}
    matched = match(expected, changes, patient, World(episode.base, created))
    labels, clauses = set(matched.labels), list(matched.clauses)
    if lost:
        claimed = _not_claimed(episode.claim)
        clauses.append(claimed)
        labels |= {claimed.label} if claimed.label else set()
    for left in matched.open:
        clause = _missing(left, len(matched.met), episode.claim)
        if lost and clause.label == "PARTIAL":
            continue
        clauses.append(clause)
        labels.add(str(clause.label))
        if _is_refused(left, written):
            labels.add("REJECTED_WRITE")
            clauses.append(
                Clause(name=left.name, outcome="fail", label="REJECTED_WRITE", expected="accepted", actual="refused")
            )
    repaired = any(_is_repaired(verb, type_, id_, matched.open, written) for verb, type_, id_ in matched.met)
    notes = (*matched.notes, *(("REPAIRED_WRITE",) if repaired else ()))
    return _Judged(matched, by_severity(labels), tuple(clauses), notes)


def _missing(left: Open, pairs: int, claim: Claim | None) -> Clause:
    """Rule 6: what an expectation without a pair is called."""
    label = "PARTIAL" if pairs else "PHANTOM_SUCCESS" if claim == "done" else "MISSING_WRITE"
    wanted = f"{left.type}/{left.id} {left.verb}d" if left.id else f"{left.type} {left.verb}d"
    actual = "nothing of the kind, and done is claimed" if label == "PHANTOM_SUCCESS" else "nothing of the kind"
    return Clause(name=left.name, outcome="fail", label=label, expected=wanted, actual=actual)


def _not_claimed(claim: Claim | None) -> Clause:
    """Where the server loses what is written: who looks again does not say that it is done."""
    is_wrong = claim == "done"
    return Clause(
        name="what was lost is not claimed",
        outcome="fail" if is_wrong else "pass",
        label="PHANTOM_SUCCESS" if is_wrong else None,
        expected="not_done or unclear",
        actual=claim or "no claim",
    )


def _is_repaired(verb: Verb, type_: str, id_: str, still_open: Sequence[Open], written: Sequence[Write]) -> bool:
    """Whether a write that was met came after a refused one of its kind, and none of the kind is still open.

    A create has no id to meet: any refused create of the type counts as the earlier try.
    """
    own = [w for w in written if w.by == "agent" and verb in w.verbs and w.type == type_]
    tries = [w.request for w in own if _was_refused(w) and (verb == "create" or _id_of(w) == id_)]
    met = [w.request for w in own if w.accepted and w.id == id_]
    kept = any(left.verb == verb and left.type == type_ and left.id in (None, id_) for left in still_open)
    return bool(tries and met and min(tries) < max(met)) and not kept


def _is_refused(left: Open, written: Sequence[Write]) -> bool:
    """Whether the server refused the agent such a write: same verb and type, and the id where there is one."""
    return any(
        w.by == "agent"
        and _was_refused(w)
        and left.verb in w.verbs
        and w.type == left.type
        and (left.id is None or _id_of(w) == left.id)
        for w in written
    )


def _was_refused(write: Write) -> bool:
    """Whether the server did not carry it out. A gateway's 504 says nothing of that: no answer came in time."""
    return not write.accepted and write.status != 504


def _id_of(write: Write) -> str | None:
    """The id that a write was for: of its address, or where that is conditional, of the body."""
    if write.id is not None:
        return write.id
    id_ = write.sent.get("id") if isinstance(write.sent, dict) else None
    return id_ if isinstance(id_, str) else None


def _notes(episode: Episode, written: Sequence[Write], changes: Sequence[NetChange]) -> list[str]:
    notes = []
    if undone(written, changes):
        notes.append("UNDONE_WRITE")
    if read_back(episode, written) is False:
        notes.append("NO_READBACK")
    return notes


def _with_calls(
    clauses: Sequence[Clause], written: Sequence[Write], calls: Mapping[int, int]
) -> tuple[Clause, ...]:  # fmt: skip
    """Each clause with the call that last wrote its resource."""
    last = {w.reference: calls.get(w.request) for w in written if w.accepted and w.by == "agent"}
    return tuple(
        clause
        if clause.evidence is None or last.get(clause.evidence.resource) is None
        else clause.model_copy(
            update={"evidence": clause.evidence.model_copy(update={"call": last[clause.evidence.resource]})}
        )
        for clause in clauses
    )


def _unscored(episode: Episode, reason: str) -> Verdict:
    return Verdict(episode=episode.id, lens="state", config=CONFIG, outcome="unscored", reason=reason)
