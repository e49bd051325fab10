"""One episode as the report shows it: everything bounded, and what was left out said.

An episode has an allowance of bytes. It is spent on, in this order: the instruction and what the agent said at the end;
what the lenses found, failures first; what changed in the record; one line for each call; what the agent wrote beside
its calls; the calls' arguments and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.task import Task
from harness.trace import Call, Change, Episode
from harness.values import canonical
from harness.verdict import Clause, Verdict
from readback.asked import asked
from readback.report.allowance import Allowance, Shown
from readback.report.differences import differences
from readback.summary.ledger import Entry
from readback.tables.words import seconds

HEAD = 900
"""Bytes of markup of an episode with nothing in it."""

_CLAUSE, _VERDICT, _CHANGE, _LEAF, _CALL, _RESULT, _TEXT = 170, 170, 200, 60, 200, 90, 60
"""Bytes of markup around one of each."""


@dataclass(frozen=True, slots=True)
class CallView:
    """One call: a line of its own, and behind it, where they fit, its arguments and its result."""

    position: int
    step: int
    name: str
    status: str
    head: Shown
    arguments: Shown | None
    result: Shown | None
    cut_by: str | None
    texts: tuple[Shown, ...] = ()


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One clause in full."""

    name: str
    outcome: str
    label: str | None
    expected: Shown
    actual: Shown
    where: Shown
    call: int | None


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One lens's verdict: its clauses in full where they fit, the names of passing ones otherwise."""

    lens: str
    outcome: str
    required: bool
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    reason: Shown | None
    clauses: tuple[ClauseView, ...]
    passing: Shown | None
    unshown: int


@dataclass(frozen=True, slots=True)
class LeafView:
    """One element before and after."""

    path: str
    before: Shown | None
    after: Shown | None


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One changed resource."""

    verb: str
    reference: str
    leaves: tuple[LeafView, ...]
    unshown: int


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """Everything that the report shows of one episode. `left_out` says in words what it does not."""

    anchor: str
    id: str
    task: str
    repeat: int
    outcome: str
    labels: tuple[str, ...]
    facts: str
    instruction: Shown
    answer: Shown | None
    note: Shown | None
    error: Shown | None
    verdicts: tuple[VerdictView, ...]
    changes: tuple[ChangeView, ...]
    changed: int
    calls: tuple[CallView, ...]
    last_words: tuple[Shown, ...]
    left_out: tuple[str, ...]

    @property
    def positions(self) -> frozenset[int]:
        """The calls that are shown, for links to them."""
        return frozenset(call.position for call in self.calls)


@dataclass(slots=True)
class _LeftOut:
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, count: int = 1) -> None:
        if count:
            self.counts[what] = self.counts.get(what, 0) + count

    def words(self) -> tuple[str, ...]:
        return tuple(f"{count} {what if count > 1 else what.removesuffix('s')}" for what, count in self.counts.items())


def view_of(
    entry: Entry, task: Task, episode: Episode, verdicts: Sequence[Verdict], *, anchor: str, size: int
) -> EpisodeView:  # fmt: skip
    """The view of one episode in about `size` bytes of HTML."""
    purse, left = Allowance(max(0, size - HEAD)), _LeftOut()
    instruction = purse.take(asked(task, episode), 3000)
    answer = purse.take(_answer(episode), 1000) if episode.answer else None
    note = purse.take(episode.note, 1500) if episode.note else None
    error = purse.take(episode.error, 2000) if episode.error else None
    judged = _verdicts(verdicts, task, purse, left)
    changes = _changes(episode.changes, purse, left)
    calls, last_words = _calls(episode, purse, left)
    return EpisodeView(
        anchor=anchor,
        id=_name(entry.id),
        task=_name(entry.task.id),
        repeat=entry.repeat,
        outcome=entry.success,
        labels=tuple(dict.fromkeys(_name(label) for said in entry.required for label in said.labels)),
        facts=_facts(entry, episode),
        instruction=instruction,
        answer=answer,
        note=note,
        error=error,
        verdicts=judged,
        changes=changes,
        changed=len(episode.changes),
        calls=calls,
        last_words=last_words,
        left_out=left.words(),
    )


def _answer(episode: Episode) -> str:
    """The values of the answer, texts as they are."""
    values = (value if isinstance(value, str) else canonical(value).decode() for value in episode.answer[:50])
    return " · ".join(value[:2000] for value in values)


def _facts(entry: Entry, episode: Episode) -> str:
    claim = f"claims {episode.claim}" if episode.claim else "claim unknown"
    facts = [f"ended {episode.ending}", claim, f"repeat {entry.repeat}", f"{len(episode.calls)} calls"]
    if episode.usage.input or episode.usage.output:
        facts.append(f"{episode.usage.input} tokens in, {episode.usage.output} out")
    if episode.usage.cost_usd is not None:
        facts.append(f"{episode.usage.cost_usd:.4f} $")
    if entry.seconds is not None:
        facts.append(f"{seconds(entry.seconds)} s")
    if episode.loss:
        facts.append(f"the source could not tell: {', '.join(episode.loss)[:400]}")
    return " · ".join(facts)


def _verdicts(verdicts: Sequence[Verdict], task: Task, purse: Allowance, left: _LeftOut) -> tuple[VerdictView, ...]:
    ordered = sorted(verdicts, key=lambda one: (one.lens not in task.requires, one.lens, one.config))
    return tuple(_verdict(one, task, purse, left) for one in ordered if _paid(purse, _VERDICT, left, "verdicts"))


def _verdict(verdict: Verdict, task: Task, purse: Allowance, left: _LeftOut) -> VerdictView:
    found = [clause for clause in verdict.clauses if clause.outcome != "pass"]
    passed = [clause for clause in verdict.clauses if clause.outcome == "pass"]
    reason = purse.take(verdict.reason, 600) if verdict.reason else None
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
        lens=_name(verdict.lens),
        outcome=verdict.outcome,
        required=verdict.lens in task.requires,
        labels=tuple(_name(label) for label in verdict.labels[:20]),
        notes=tuple(_name(note) for note in verdict.notes[:20]),
        reason=reason,
        clauses=tuple(shown),
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
        label=_name(clause.label) if clause.label else None,
        expected=purse.take(clause.expected or "", 400),
        actual=purse.take(clause.actual or "", 400),
        where=purse.take(" · ".join(where), 300),
        call=evidence.call if evidence else None,
    )


def _changes(changes: Sequence[Change], purse: Allowance, left: _LeftOut) -> tuple[ChangeView, ...]:
    return tuple(_change(change, purse, left) for change in changes if _paid(purse, _CHANGE, left, "changes"))


def _change(change: Change, purse: Allowance, left: _LeftOut) -> ChangeView:
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
    return ChangeView(change.verb, _name(change.reference), tuple(leaves), unshown)


def _calls(
    episode: Episode, purse: Allowance, left: _LeftOut
) -> tuple[tuple[CallView, ...], tuple[Shown, ...]]:  # fmt: skip
    heads: list[tuple[Call, Shown]] = []
    for call in episode.calls:
        if _paid(purse, _CALL, left, "calls"):
            heads.append((call, _arguments(call, purse, 160, indent=False)))
    texts: dict[int, list[Shown]] = {}
    for text in episode.texts:
        if _paid(purse, _TEXT, left, "texts"):
            texts.setdefault(text.step, []).append(purse.take(text.text, 4000))
    # What is left is shared over the calls, so that a long first result does not hide all the others; what a short
    # one leaves goes to those after it.
    views = [
        _call(call, head, purse, purse.left // (len(heads) - number), left) for number, (call, head) in enumerate(heads)
    ]
    placed = []
    for view in views:
        before = tuple(shown for step in sorted(texts) if step <= view.step for shown in texts.pop(step))
        placed.append(replace(view, texts=before))
    return tuple(placed), tuple(shown for step in sorted(texts) for shown in texts[step])


def _call(call: Call, head: Shown, purse: Allowance, room: int, left: _LeftOut) -> CallView:
    arguments = result = None
    if head.more and room > _RESULT:
        purse.pays(_RESULT)
        arguments = _arguments(call, purse, room // 3, indent=room > 3000)
        room -= room // 3
    if call.result is not None:
        if room > _RESULT + 60 and purse.pays(_RESULT):
            result = purse.take_json(_body_first(call.result), min(room - _RESULT, 20_000), indent=room > 3000)
        else:
            left.add("results")
    if result is not None and result.more:
        left.add("parts of results")
    status = call.status if call.http is None else f"{call.status} {call.http.get('status', '')}"
    return CallView(call.position, call.step, _name(call.name), status[:40], head, arguments, result, call.cut_by)


def _arguments(call: Call, purse: Allowance, most: int, *, indent: bool) -> Shown:
    if call.arguments is None and call.raw_arguments is not None:
        return purse.take(call.raw_arguments, most)
    return purse.take_json(call.arguments or {}, most, indent=indent)


def _body_first(result: object) -> object:
    """A server's answer with its body before its headers: what is cut is what matters least."""
    if isinstance(result, dict) and {"status", "body"} <= result.keys():
        return {key: result[key] for key in ("status", "body", *(k for k in result if k not in ("status", "body")))}
    return result


def _name(text: str) -> str:
    """A name, as far as it can be one: names are not paid for by the letter."""
    return text[:200]


def _paid(purse: Allowance, markup: int, left: _LeftOut, what: str) -> bool:
    if purse.pays(markup):
        return True
    left.add(what)
    return False
