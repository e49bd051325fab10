"""`readback verify`: judge write logs that were recorded elsewhere, and compare with what each of them states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.counted import counted
from readback.cli.ending import DONE, INCOMPLETE, MISSED, Mistake, worst
from readback.cli.options import Json
from readback.cli.output import document, note, result
from readback.cli.playing import warn

if TYPE_CHECKING:
    from ehr.verify.cases import Case, Played
    from readback.documents import Verification


def verify(
    cases: Annotated[Path, typer.Argument(metavar="CASES.jsonl", help="Cases, one a line; see docs/state.md.")],
    as_json: Json = False,
) -> int:
    """Judge write logs recorded elsewhere.

    Each is played on a fork, and where it states a verdict, it is said whether that agrees: exit 1 where one does not,
    exit 3 where one that states nothing is unscored.
    """
    if not cases.is_file():
        raise Mistake(f"{str(cases)!r} is no file; name a file of cases, one JSON object a line (docs/state.md)")
    from ehr.verify.cases import play, read
    from harness.visible import in_line

    played: list[Played] = []
    for case in _text_only(read(cases, warn), cases):
        came = play(case)
        played.append(came)
        if not as_json:
            result(in_line(_line(came)))
            for line in (*came.differences, *(_reasons(came) if came.agrees is not True else ())):
                result(f"    {in_line(line)}")
    if not played:
        raise Mistake(f"{str(cases)!r} holds no case; write one JSON object a line (docs/state.md)")
    agree, disagree, unstated = (sum(p.agrees is said for p in played) for said in (True, False, None))
    if as_json:
        document(_document(played, agree, disagree, unstated))
    else:
        said = (
            counted(agree, "agrees", "agree"),
            counted(disagree, "disagrees", "disagree"),
            counted(unstated, "states no verdict", "state no verdict"),
        )
        note(f"{counted(len(played), 'case')}: {', '.join(said)}")
    return worst(MISSED if disagree else DONE, INCOMPLETE if any(map(_is_left_open, played)) else DONE)


def _is_left_open(played: Played) -> bool:
    """Whether nobody can say how it went, and the case does not say that either."""
    return played.agrees is None and any(verdict.outcome == "unscored" for verdict in played.verdicts)


def _text_only(cases: Iterator[Case], path: Path) -> Iterator[Case]:
    try:
        yield from cases
    except UnicodeDecodeError:
        raise Mistake(f"{str(path)!r} is no UTF-8 text; name a file of cases, one JSON object a line") from None


def _line(played: Played) -> str:
    said = {True: "agrees", False: "DISAGREES", None: "states nothing"}[played.agrees]
    verdicts = "  ".join(
        f"{verdict.lens} {' '.join((verdict.outcome, *verdict.labels))}" for verdict in played.verdicts
    )
    return f"{played.id}  {said}  {verdicts}"


def _reasons(played: Played) -> Iterator[str]:
    """Why the state lens judged as it did: what was refused, what failed, what cannot be said."""
    for refusal, said in zip(played.refused, played.diagnostics, strict=True):
        yield f"request {refusal.request} was refused with {refusal.status}{said and ': '}{said}"
    state = played.verdicts[0]
    if state.reason:
        yield f"{state.lens} is {state.outcome}: {state.reason}"
    for clause in state.clauses:
        if clause.outcome == "fail":
            wanted = "" if clause.expected is None else f"expected {clause.expected}, "
            yield f"{clause.name}: {wanted}found {clause.actual or 'nothing'}"


def _document(played: list[Played], agree: int, disagree: int, unstated: int) -> Verification:
    from readback.documents import Refused, Verification, VerifiedCase

    return Verification(
        cases=tuple(
            VerifiedCase(
                id=came.id,
                verdicts=came.verdicts,
                refused=tuple(Refused(request=refusal.request, status=refusal.status) for refusal in came.refused),
                agrees=came.agrees,
                differences=came.differences,
            )
            for came in played
        ),
        agree=agree,
        disagree=disagree,
        unstated=unstated,
    )
