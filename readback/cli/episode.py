"""One episode on the terminal: instruction, calls, what changed, and each clause of each verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.plain import json_text
from harness.task import Task
from harness.trace import Call, Change, Episode
from harness.verdict import Clause, Outcome, Verdict
from harness.visible import in_line, visible
from readback.instruction import instruction_of
from readback.report.differences import differences

_SHORT = 300
"""Characters of a call's arguments, result or of an agent's text that are shown unless all is asked for."""
_ERROR = 1_000
"""The same of an error, at its end, where a traceback says most; whole lines."""
_MARKS = {"pass": "✓", "fail": "✗", "vacuous": "·", "unscored": "?"}
_STYLES = {"pass": "green", "fail": "red", "vacuous": "dim", "unscored": "yellow"}


class Line(NamedTuple):
    """A line to show: wrapped where it is too long, each part of it indented, and those after the first by `hang` more.

    It holds nothing invisible.
    """

    text: str = ""
    indent: int = 0
    style: str = ""
    hang: int = 0


def lines_of(
    task: Task, episode: Episode, verdicts: Sequence[Verdict], success: Outcome, *, full: bool
) -> Iterator[Line]:
    """The episode from the instruction to the verdicts. Without `full`, long values are cut and say so."""
    yield from _head(task, episode, success)
    yield from _section("Instruction")
    yield from _text(instruction_of(task, episode), full=True)
    yield from _section(f"Calls ({len(episode.calls)})")
    yield from _trace(episode, full)
    yield from _section("Answer")
    yield from _answer(episode, full)
    if episode.error:
        yield from _section("Error")
        yield from _text(episode.error if full else _end_of(episode.error), full=True)
    yield from _section(f"What changed ({len(episode.changes)})")
    if not episode.changes:
        yield Line("nothing", 2, "dim")
    for change in episode.changes:
        yield from _change(change)
    if episode.self_check is not None and not episode.self_check.agrees:
        yield from _section("Self-check")
        for difference in (*episode.self_check.differences, *episode.self_check.foreign):
            yield Line(in_line(difference), 2, "yellow")
    yield from _section("Verdicts")
    for verdict in verdicts:
        yield from _verdict(verdict, required=verdict.lens in task.requires)


def _head(task: Task, episode: Episode, success: Outcome) -> Iterator[Line]:
    repeat = f" · repeat {episode.repeat}" if episode.repeat else ""
    yield Line(in_line(f"{task.id} · {episode.agent} · {episode.condition}{repeat}"), style="bold")
    traps = f" · traps: {', '.join(task.traps)}" if task.traps else ""
    twin = f" · twin: {task.twin}" if task.twin else ""
    yield Line(in_line(f"{episode.id} · {task.kind}{twin}{traps}"), style="dim")
    verb = {"pass": "succeeded", "fail": "failed", "vacuous": "nothing to judge", "unscored": "unscored"}[success]
    yield Line(f"{_MARKS[success]} {verb}; it requires {' and '.join(task.requires)}", style=_STYLES[success])


def _trace(episode: Episode, full: bool) -> Iterator[Line]:
    if not episode.calls and not episode.texts:
        yield Line("none", 2, "dim")
    texts = sorted(episode.texts, key=lambda text: text.step)
    said = 0
    for call in episode.calls:
        while said < len(texts) and texts[said].step <= call.step:
            yield from _text(texts[said].text, full=full, style="italic")
            said += 1
        yield from _call(call, full)
    for text in texts[said:]:
        yield from _text(text.text, full=full, style="italic")


def _call(call: Call, full: bool) -> Iterator[Line]:
    arguments = call.raw_arguments if call.arguments is None else json_text(call.arguments)
    yield Line(in_line(f"{call.position}. {call.name} {_cut(arguments or '', full)}"), 2, "bold", hang=3)
    status = call.result.get("status", call.status) if isinstance(call.result, dict) else call.status
    body = call.result.get("body", call.result) if isinstance(call.result, dict) else call.result
    cut = f" (cut by the {call.cut_by})" if call.cut_by else ""
    yield Line(in_line(f"→ {status}{cut} {_cut(json_text(body), full)}"), 5, "" if call.status == "ok" else "yellow")


def _answer(episode: Episode, full: bool) -> Iterator[Line]:
    claim = episode.claim or "no claim"
    answer = ", ".join(value if isinstance(value, str) else json_text(value) for value in episode.answer)
    yield Line(in_line(f"{episode.ending}; {claim}{': ' if answer else ''}{_cut(answer, full)}"), 2)
    if episode.note:
        yield from _text(episode.note, full=full, style="italic")


def _change(change: Change) -> Iterator[Line]:
    yield Line(in_line(f"{change.verb} {change.reference}"), 2, "bold")
    for leaf in differences(change.before, change.after):
        if leaf.before is not None:
            yield Line(in_line(f"- {leaf.path} {leaf.before}"), 4, "red")
        if leaf.after is not None:
            yield Line(in_line(f"+ {leaf.path} {leaf.after}"), 4, "green")


def _verdict(verdict: Verdict, *, required: bool) -> Iterator[Line]:
    words = [verdict.lens, verdict.outcome, *verdict.labels]
    aside = "" if required else "  (not required)"
    notes = f"  notes: {', '.join(verdict.notes)}" if verdict.notes else ""
    line = f"{_MARKS[verdict.outcome]} {' '.join(words)}{aside}{notes}"
    yield Line(in_line(line), 2, _STYLES[verdict.outcome] if required else "dim")
    if verdict.reason:
        yield Line(in_line(verdict.reason), 6)
    for clause in verdict.clauses:
        style = "" if clause.outcome == "pass" else "bold"
        yield Line(in_line(f"{_MARKS[clause.outcome]} {_clause(clause)}"), 6, style, hang=2)


def _clause(clause: Clause) -> str:
    said = clause.name
    if clause.label and clause.outcome != "pass":
        said += f"  {clause.label}"
    if clause.outcome != "pass" or clause.actual is not None:
        wanted = f"expected {clause.expected}" if clause.expected is not None else ""
        found = f"found {clause.actual}" if clause.actual is not None else ""
        said += f"  {', '.join(part for part in (wanted, found) if part)}"
    if clause.why:
        said += f"  ({clause.why})"
    if clause.evidence is not None:
        evidence = clause.evidence
        call = f"call {evidence.call}" if evidence.call is not None else None
        said += f"  [{' '.join(part for part in (call, evidence.resource, evidence.path) if part)}]"
    return said


def _section(title: str) -> Iterator[Line]:
    yield Line()
    yield Line(title, style="bold underline")


def _text(text: str, *, full: bool, style: str = "") -> Iterator[Line]:
    for line in visible(_cut(text, full)).splitlines() or [""]:
        yield Line(line, 2, style)


def _end_of(error: str) -> str:
    if len(error) <= _ERROR:
        return error
    end = error[-_ERROR:]
    return f"… ({len(error) - _ERROR:,} more characters; --full shows all)\n{end.partition(chr(10))[2] or end}"


def _cut(text: str, full: bool) -> str:
    if full or len(text) <= _SHORT:
        return text
    return f"{text[:_SHORT]} … ({len(text) - _SHORT:,} more characters; --full shows all)"
