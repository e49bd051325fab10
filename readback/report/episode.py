"""One episode as the report shows it: everything bounded, and what was left out said.

An episode has an allowance of bytes. It is spent on, in this order: the instruction and what the agent said at the end;
what the lenses found, failures first, and the votes of judges; what changed in the record; one line for each call; the
results that support an entity of the answer; what the agent wrote beside its calls; the other arguments and results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.counted import counted
from harness.plain import json_text
from harness.task import Task
from harness.trace import Change, Episode
from harness.verdict import Clause, Verdict
from readback.instruction import instruction_of
from readback.report.allowance import Allowance
from readback.report.calls import calls_of
from readback.report.differences import differences
from readback.report.leftout import LeftOut, name_of, paid
from readback.report.marks import Entity, Marked, entities_of, take_marked
from readback.report.views import ChangeView, ClauseView, EpisodeView, LeafView, VerdictView
from readback.report.votes import is_vote, votes_view
from readback.summary.ledger import Entry
from readback.tables.words import seconds

HEAD = 900
"""Bytes of markup of an episode with nothing in it."""

_CLAUSE, _VERDICT, _CHANGE, _LEAF, _VALUE = 170, 170, 200, 60, 30
"""Bytes of markup around one of each."""

_FOR_A_CALL = 260
"""Bytes that the line of one call takes."""


def view_of(
    entry: Entry,
    task: Task,
    episode: Episode,
    verdicts: Sequence[Verdict],
    *,
    anchor: str,
    size: int,
    raters: Mapping[tuple[str, str], str] | None = None,
    facets: Mapping[str, str] | None = None,
) -> EpisodeView:
    """The view of one episode in about `size` bytes of HTML. `raters` names lenses by their name and configuration."""
    purse, left = Allowance(max(0, size - HEAD)), LeftOut()
    entities = entities_of(verdicts)
    instruction = purse.take(instruction_of(task, episode), 3000)
    answer = _answer(episode, entities, purse, left)
    note = take_marked(purse, episode.note, entities, 1500) if episode.note else None
    error = purse.take(episode.error, 2000) if episode.error else None
    judged = _verdicts(verdicts, task, raters or {}, min(len(episode.calls), 20), purse, left)
    changes = _changes(episode.changes, purse, left)
    calls, last_words = calls_of(episode, entities, purse, left)
    return EpisodeView(
        anchor=anchor,
        id=name_of(entry.id),
        task=name_of(entry.task.id),
        repeat=entry.repeat,
        outcome=entry.success,
        labels=tuple(dict.fromkeys(name_of(label) for said in entry.required for label in said.labels)),
        facts=_facts(entry, episode),
        instruction=instruction,
        answer=answer,
        note=note,
        error=error,
        verdicts=judged,
        changes=changes,
        changed=len(episode.changes),
        shows_changes=any(verdict.lens == "state" for verdict in verdicts),
        calls=calls,
        last_words=last_words,
        left_out=left.words(),
        facets=facets or {},
    )


def _answer(episode: Episode, entities: Sequence[Entity], purse: Allowance, left: LeftOut) -> tuple[Marked, ...]:
    """The values of the answer, texts as they are, in 1,200 bytes together."""
    values: list[Marked] = []
    room = 1200
    for value in episode.answer:
        before = purse.left
        if room <= 0 or not purse.pays(_VALUE):
            left.add("values of the answer")
            continue
        values.append(take_marked(purse, json_text(value), entities, room))
        room -= before - purse.left
    return tuple(values)


def _facts(entry: Entry, episode: Episode) -> str:
    claim = f"claims {episode.claim}" if episode.claim else "claim unknown"
    facts = [f"ended {episode.ending}", claim, f"repeat {entry.repeat}", counted(len(episode.calls), "call")]
    if episode.usage.input or episode.usage.output:
        facts.append(f"{episode.usage.input} tokens in, {episode.usage.output} out")
    if episode.usage.cost_usd is not None:
        facts.append(f"{episode.usage.cost_usd:.4f} $")
    if entry.seconds is not None:
        facts.append(f"{seconds(entry.seconds)} s")
    if episode.loss:
        facts.append(f"the source could not tell: {', '.join(episode.loss)[:400]}")
    return " · ".join(facts)


def _verdicts(
    verdicts: Sequence[Verdict],
    task: Task,
    raters: Mapping[tuple[str, str], str],
    calls: int,
    purse: Allowance,
    left: LeftOut,
) -> tuple[VerdictView, ...]:
    ordered = sorted(verdicts, key=lambda one: (one.lens not in task.requires, one.lens, one.config))
    judges = sum(one.lens == "judge" for one in ordered)
    # Judges may be long-winded: together they get a third of what there is beside a line for each call.
    each = max(0, purse.left - calls * _FOR_A_CALL) // (3 * judges) if judges else 0
    return tuple(
        _verdict(one, task, raters.get((one.lens, one.config), one.lens), each, purse, left)
        for one in ordered
        if paid(purse, _VERDICT, left, "verdicts")
    )


def _verdict(
    verdict: Verdict, task: Task, name: str, for_votes: int, purse: Allowance, left: LeftOut
) -> VerdictView:  # fmt: skip
    clauses = [clause for clause in verdict.clauses if not (verdict.lens == "judge" and is_vote(clause))]
    found = [clause for clause in clauses if clause.outcome != "pass"]
    passed = [clause for clause in clauses if clause.outcome == "pass"]
    reason = purse.take(verdict.reason, 600) if verdict.reason else None
    votes, votes_unshown = votes_view(verdict, purse, for_votes) if verdict.lens == "judge" else ((), 0)
    left.add("votes", votes_unshown)
    shown = [_clause(clause, purse) for clause in found if purse.pays(_CLAUSE)]
    unshown = len(found) - len(shown)
    # Passing clauses in full only where there is plenty left for the trace; else their names.
    in_full = purse.left > 6_000 + 400 * len(passed)
    if in_full:
        shown += [_clause(clause, purse) for clause in passed if purse.pays(_CLAUSE)]
    names = ", ".join(clause.name for clause in passed)
    passing = None if in_full or not names else purse.take(names, 400)
    left.add("clauses", unshown)
    return VerdictView(
        lens=name_of(verdict.lens),
        name=name_of(name),
        outcome=verdict.outcome,
        required=verdict.lens in task.requires,
        labels=tuple(name_of(label) for label in verdict.labels[:20]),
        notes=tuple(name_of(note) for note in verdict.notes[:20]),
        reason=reason,
        clauses=tuple(shown),
        votes=votes,
        passing=passing,
        unshown=unshown,
    )


def _clause(clause: Clause, purse: Allowance) -> ClauseView:
    evidence = clause.evidence
    where = [text for text in (evidence.resource, evidence.path) if text] if evidence else []
    if clause.why:
        where.append(clause.why)
    return ClauseView(
        name=purse.take(clause.name, 200).text,
        outcome=clause.outcome,
        label=name_of(clause.label) if clause.label else None,
        expected=purse.take(clause.expected or "", 400),
        actual=purse.take(clause.actual or "", 400),
        where=purse.take(" · ".join(where), 300),
        call=evidence.call if evidence else None,
    )


def _changes(changes: Sequence[Change], purse: Allowance, left: LeftOut) -> tuple[ChangeView, ...]:
    return tuple(_change(change, purse, left) for change in changes if paid(purse, _CHANGE, left, "changes"))


def _change(change: Change, purse: Allowance, left: LeftOut) -> ChangeView:
    leaves: list[LeafView] = []
    unshown = 0
    for leaf in differences(change.before, change.after):
        # What is left is kept for the calls, unless there is plenty.
        if len(leaves) >= 200 or (len(leaves) >= 8 and purse.left < 600) or not purse.pays(_LEAF):
            unshown += 1
            continue
        leaves.append(
            LeafView(
                purse.take(leaf.path, 300).text,
                None if leaf.before is None else purse.take(leaf.before, 500),
                None if leaf.after is None else purse.take(leaf.after, 500),
            )
        )
    left.add("elements of changes", unshown)
    return ChangeView(change.verb, name_of(change.reference), tuple(leaves), unshown)
