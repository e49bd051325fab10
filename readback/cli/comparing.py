"""`readback compare`: what the predicate, the lenses, the judges and people say about the same episodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.numbers import whole
from readback.cli.options import Json, RunPaths
from readback.cli.output import document, result
from readback.cli.playing import opened_runs, print_screen

if TYPE_CHECKING:
    from readback.comparison.document import Comparison, Disagreement, Opinion

_LONGEST = 600
"""Characters of a text that a list of disagreements shows."""
_WIDTH = 116


def compare(
    runs: RunPaths,
    disagreements: Annotated[
        int, typer.Option(parser=whole(0), metavar="N", help="List the N disagreements that teach most.")
    ] = 0,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Take baselines in, where other agents were measured.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare what was said about the same episodes.

    The predicate against judges, state against message and judges, people against all; docs/statistics.md says what
    each number means.
    """
    from readback.comparison import compare_runs

    compared = compare_runs(opened_runs(runs), disagreements=disagreements, baselines=baselines)
    if as_json:
        document(compared)
        return
    _show(compared)


def _show(compared: Comparison) -> None:
    from readback.tables.agreement import screen_of_comparison

    print_screen(screen_of_comparison(compared))
    for number, one in enumerate(compared.disagreements, 1):
        result()
        for line in _lines(number, one):
            result(line)


def _lines(number: int, one: Disagreement) -> Iterator[str]:
    from harness.plain import json_text
    from harness.visible import in_line

    right = {True: "correct", False: "incorrect", None: "correctness unknown"}[one.correct]
    answer = ", ".join(json_text(value) for value in one.answer)
    yield f"{number}. {in_line(one.pair)}"
    yield in_line(
        f"   {one.task} · {one.agent} · {one.condition} · {one.run} {one.episode.removeprefix('sha256:')[:12]}"
    )
    yield from _wrapped("question  ", one.question)
    yield from _wrapped("answer    ", f"{answer or 'none'} ({right}; claims {one.claim or 'unknown'})")
    if one.note:
        yield from _wrapped("note      ", one.note)
    for opinion in one.opinions:
        yield from _opinion(opinion)


def _opinion(one: Opinion) -> Iterator[str]:
    labels = f" {' '.join(one.labels)}" if one.labels else ""
    yield from _wrapped("- ", f"{one.name}: {one.outcome}{labels}")
    for sentence in one.evidence:
        yield from _wrapped("    ", sentence)


def _wrapped(label: str, text: str) -> Iterator[str]:
    from harness.visible import in_line

    said = in_line(text)
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]} … ({len(said) - _LONGEST:,} more characters; --json)"
    indent = " " * (3 + len(label))
    yield from textwrap.wrap(
        f"   {label}{said}", _WIDTH, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    ) or [f"   {label}"]  # fmt: skip
