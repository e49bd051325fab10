"""`readback ground`: judge by `kappa_ground` whether answers recorded anywhere are supported by what was read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal, Protocol

import typer

from harness.counted import counted
from readback.cli.ending import DONE, INCOMPLETE, MISSED, USAGE, Mistake, worst
from readback.cli.options import Json
from readback.cli.output import note, result
from readback.cli.progress import Meter

if TYPE_CHECKING:
    from grounding import CodePolicy, Support
    from readback.grounding import GroundedTrace, Grounder, GroundingTotals
    from readback.traces import Found, Problem

_ID_LENGTH = 12
"""Hexadecimal digits of an episode's id: readback show RUN takes them."""
_PROBLEMS = 20
"""Files and lines that hold no trace and are named; the rest is counted."""

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Traces: .json, .jsonl, or folders of them.")]
PolicyName = Annotated[Literal["paper", "mention", "exact"], typer.Option("--policy", help="What counts as seen.")]
Sensitivity = Annotated[bool, typer.Option("--sensitivity", help="Also the totals under every policy.")]
ReadTools = Annotated[
    list[str] | None,
    typer.Option("--read-tool", metavar="NAME", help="A tool whose results show files; read_file if none is named."),
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", metavar="grounding=RATE", help="Exit 1 where the grounded rate is under it."),
]
Lines = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a trace, as soon as it is judged.")]


def ground(
    files: Files,
    policy: PolicyName = "paper",
    sensitivity: Sensitivity = False,
    read_tool: ReadTools = None,
    fail_under: FailUnder = None,
    as_json: Json = False,
    as_lines: Lines = False,
) -> int:
    """Judge whether recorded answers stand on what was read.

    It asks no model: every entity of an answer must have been seen in what the agent read.
    """
    if as_json and as_lines:
        raise Mistake("--json and --jsonl cannot both be; choose one document, or one line a trace")
    least = _least(fail_under)
    from readback.grounding import Grounder
    from readback.traces import Found

    grounder = Grounder(_policies(policy, sensitivity, read_tool))
    show: _Show = _Document() if as_json else _Lines() if as_lines else _Text()
    for found in _traces(files):
        if isinstance(found, Found):
            show.trace(grounder.judge(found))
        else:
            _name(grounder, found)
    if not grounder.judged:
        return USAGE if grounder.problems else _nothing(files)
    totals = grounder.totals()
    show.end(grounder, totals, sensitivity=sensitivity)
    _advise(grounder)
    missed = least is not None and (totals.rate is None or totals.rate < least)
    if missed:
        note(f"readback: the grounded rate is {_percent(totals.rate)}, under {least:.1%}")
    return worst(
        USAGE if grounder.problems else DONE, INCOMPLETE if totals.unscored else DONE, MISSED if missed else DONE
    )


def _least(fail_under: Sequence[str] | None) -> float | None:
    from readback.cli.playing import thresholds_of

    thresholds = thresholds_of(fail_under)
    for threshold in thresholds:
        if threshold.measure != "grounding":
            raise Mistake(f"--fail-under: {threshold.measure!r} is not measured here; write grounding=RATE")
    return max((threshold.least for threshold in thresholds), default=None)


def _policies(name: str, sensitivity: bool, read_tools: Sequence[str] | None) -> list[CodePolicy]:
    """The policy that is asked for, and where all are, the others behind it."""
    from grounding import POLICIES, policy_named

    chosen = [policy_named(name)]
    if sensitivity:
        chosen += [policy for policy in POLICIES.values() if policy.name != name]
    return [policy.varied(reads=tuple(read_tools)) if read_tools else policy for policy in chosen]


def _traces(paths: Sequence[Path]) -> Iterator[Found | Problem]:
    from readback.traces import TraceError, find_traces, trace_files

    try:
        files = trace_files(paths)
    except TraceError as error:
        raise Mistake(str(error)) from None
    with Meter("judging", len(files), unit="files") as meter:
        count = 0
        for done, file in enumerate(files):
            for found in find_traces(file):
                meter.at(done, last=f"{count:,} traces, {file.name}")
                yield found
                count += 1
        meter.at(len(files))


def _name(grounder: Grounder, problem: Problem) -> None:
    grounder.problem(problem)
    if len(grounder.problems) <= _PROBLEMS:
        note(f"readback: {problem.said}")
    elif len(grounder.problems) == _PROBLEMS + 1:
        note("readback: further files and lines that hold no trace are only counted")


def _nothing(paths: Sequence[Path]) -> int:
    raise Mistake(f"{', '.join(repr(str(path)) for path in paths)}: there is no trace in it")


def _advise(grounder: Grounder) -> None:
    """Say what the user may want to know about what was judged."""
    if len(grounder.problems) > _PROBLEMS:
        note(f"readback: {len(grounder.problems)} files and lines hold no trace")
    if grounder.unread_tools:
        tools = ", ".join(name for name, _ in grounder.unread_tools.most_common(5))
        reads = ", ".join(grounder.policies[0].reads)
        one = grounder.without_reads == 1
        who, they = ("1 trace calls", "it calls") if one else (f"{grounder.without_reads} traces call", "they call")
        of_charts = any(name.startswith("fhir_") for name in grounder.unread_tools)
        hint = (
            "What answers say of charts is judged by the lens grounding of their run: readback score RUN"
            if of_charts
            else "If one of these shows files, name it with --read-tool"
        )
        note(f"note: {who} no tool that reads ({reads}); {they} {tools}. {hint}")


class _Show(Protocol):
    """One way to print what is judged."""

    def trace(self, judged: GroundedTrace) -> None:
        """Print one trace."""
        ...

    def end(self, grounder: Grounder, totals: GroundingTotals, *, sensitivity: bool) -> None:
        """Print what is known at the end."""
        ...


class _Lines:
    """One JSON object a trace; the totals go to stderr."""

    def trace(self, judged: GroundedTrace) -> None:
        result(judged.line())

    def end(self, grounder: Grounder, totals: GroundingTotals, *, sensitivity: bool) -> None:
        note(_sentence(totals))


class _Document:
    """One JSON document. The totals stand before the traces, so these wait on disk until all are judged."""

    @cached_property
    def _waiting(self) -> IO[str]:
        return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="\n")

    def trace(self, judged: GroundedTrace) -> None:
        self._waiting.write(f"{judged.line()}\n")

    def end(self, grounder: Grounder, totals: GroundingTotals, *, sensitivity: bool) -> None:
        from readback.grounding import FORMAT, name_of

        policy = name_of(grounder.policies[0]).line()
        result(f'{{"format":{json.dumps(FORMAT)},"policy":{policy},"totals":{totals.line()},"traces":[')
        with self._waiting as waiting:
            waiting.seek(0)
            for number, line in enumerate(waiting):
                result(f"{',' if number else ''}{line.rstrip()}")
        several = f"[{','.join(each.line() for each in grounder.sensitivity())}]" if sensitivity else "null"
        problems = ",".join(problem.line() for problem in grounder.problems)
        result(f'],"sensitivity":{several},"problems":[{problems}]}}')


class _Text:
    """A line a trace, under it each entity with the call that supports it, or why none does; then the totals."""

    def trace(self, judged: GroundedTrace) -> None:
        from harness.visible import in_line

        labels = f" {' '.join(judged.labels)}" if judged.labels else ""
        own = judged.id.removeprefix("sha256:")
        id = judged.id if own == judged.id else own[:_ID_LENGTH]
        where = judged.file if judged.id in Path(judged.file).name else f"{judged.file} {id}"
        reason = f": {judged.reason}" if judged.reason else ""
        result(in_line(f"{judged.outcome}{labels}  {where}{reason}"))
        for entity in judged.entities:
            result(in_line(f"    {entity.outcome}  {entity.kind} {entity.text}: {entity.why or _seen(entity.support)}"))

    def end(self, grounder: Grounder, totals: GroundingTotals, *, sensitivity: bool) -> None:
        result()
        result(_sentence(totals))
        if sensitivity:
            from readback.cli.pages import columns

            head = ["policy", "pass", "fail", "vacuous", "unscored", "grounded", "null", "differs"]
            rows = [_row(each.policy.name, each.totals, each.differs) for each in grounder.sensitivity()]
            result()
            for line in columns([head, *rows], right=range(1, len(head))):
                result(line)


def _seen(supports: Sequence[Support]) -> str:
    """`call 2, defined at 30 (and in 1 more call)`."""
    first, more = supports[0], len({support.call for support in supports}) - 1
    place = "" if first.span is None else f" at {first.span[0]}"
    others = f" (and in {more} more call{'s' * (more > 1)})" if more else ""
    return f"call {first.call}, {first.how}{place}{others}"


def _row(name: str, totals: GroundingTotals, differs: int) -> list[str]:
    counts = (totals.passed, totals.fail, totals.vacuous, totals.unscored)
    return [name, *map(str, counts), _percent(totals.rate), _percent(totals.null_rate), str(differs)]


def _sentence(totals: GroundingTotals) -> str:
    refusals = f" ({totals.refusal} of them refusals)" if totals.refusal else ""
    bounds = f", between {totals.bounds[0]:.1%} and {totals.bounds[1]:.1%} with the unscored" if totals.bounds else ""
    null = (
        f"null {_percent(totals.null_rate)} over {counted(totals.null_pairs, 'pair')}"
        if totals.null_rate is not None
        else f"no null: {totals.null_why}"
    )
    return (
        f"{totals.passed} pass, {totals.fail} fail, {totals.vacuous} vacuous{refusals}, {totals.unscored} unscored;"
        f" grounded {_percent(totals.rate)}{bounds} ({null})"
    )


def _percent(rate: float | None) -> str:
    return "undefined" if rate is None else f"{rate:.1%}"
