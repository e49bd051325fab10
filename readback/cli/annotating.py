"""`readback annotate`: a blinded sheet of a run's episodes for people, and their labels read back."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.counted import counted
from readback.cli.ending import DONE, USAGE, Mistake
from readback.cli.judging import beside_baselines
from readback.cli.numbers import whole
from readback.cli.options import Json, RunPath
from readback.cli.output import document, note, result
from readback.cli.playing import warn

if TYPE_CHECKING:
    from judges.annotate import Annotation, Taken
    from judges.judging import Wanted
    from judges.sheet import Sheet

_PROBLEMS = 50
_OUTCOMES = ("pass", "fail", "vacuous", "unscored")


def annotate(
    run: RunPath,
    sample: Annotated[
        int | None, typer.Option(parser=whole(1, 10_000), metavar="N", help="Write a sheet of so many episodes.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read a labelled sheet back: the CSV that the form saves.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The name of this set of labels; else the file's.")
    ] = None,
    seed: Annotated[int, typer.Option(parser=whole(0), metavar="N", help="The seed the episodes are drawn by.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the sheet is written; else in the run's own folder.")
    ] = None,
    rubric: Annotated[
        str, typer.Option(metavar="facts|predicate", help="What is asked, in the words that judges are told.")
    ] = "facts",
    no_trace: Annotated[bool, typer.Option("--no-trace", help="Show question and answer alone.")] = False,
    agent: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only episodes of this agent.")] = None,
    condition: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only episodes under this condition.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a blinded sheet for people, or read it back.

    Episodes are drawn over the disagreements of lenses and judges; people are one more judge.
    """
    from harness.runfolder import RunFolder
    from judges.annotate import Annotation
    from judges.judging import Wanted
    from readback.instruction import instruction_of
    from readback.judging import rubrics_named

    if (sample is None) == (labels is None):
        raise Mistake("say either --sample N, to write a sheet, or --labels FILE, to read one back")
    (asked,) = rubrics_named([rubric])
    with RunFolder.append(run, warn=warn) as folder:
        annotation = Annotation(folder, instruction=instruction_of, warn=warn)
        if labels is not None:
            return _take(run, annotation, labels, name or labels.stem, as_json=as_json)
        assert sample is not None, "one of the two is said"
        wanted = Wanted(tuple(agent or ()), tuple(condition or ()))
        sheet, where = _written(run, annotation, sample, seed, asked, not no_trace, wanted, out)
        measured = [] if agent else beside_baselines(folder)
    _say_sheet(run, sheet, where, sample, as_json=as_json)
    if measured:
        note(
            "Episodes of baselines are among them, which readback compare leaves out;"
            f" --agent {quote(measured[0])} draws from that agent's alone."
        )
    return DONE


def _written(
    run: Path, annotation: Annotation, sample: int, seed: int, rubric: str, trace: bool, wanted: Wanted,
    out: Path | None,
) -> tuple[Sheet, Path]:  # fmt: skip
    from judges.rubric import RUBRICS
    from judges.sheet import SheetError

    (asked,) = (name for name in RUBRICS if name == rubric)
    try:
        return annotation.write(sample, seed=seed, rubric=asked, trace=trace, wanted=wanted, out=out)
    except SheetError as problem:
        raise Mistake(f"no sheet can be drawn from {str(run)!r}: {problem}") from None


def _take(run: Path, annotation: Annotation, path: Path, name: str, *, as_json: bool) -> int:
    from judges.labels import LabelsError

    try:
        taken = annotation.take(path, name)
    except LabelsError as problem:
        for sentence in problem.problems[:_PROBLEMS]:
            note(f"readback: {path}: {sentence}" if sentence.startswith("row ") else f"readback: {sentence}")
        if len(problem.problems) > _PROBLEMS:
            note(f"readback: and {len(problem.problems) - _PROBLEMS} more rows are wrong")
        if any(sentence.startswith("row ") for sentence in problem.problems):
            note("readback: nothing was taken; mend the file and read it again")
        return USAGE
    _say_taken(run, taken, as_json=as_json)
    return DONE


def _say_sheet(run: Path, sheet: Sheet, where: Path, sample: int, *, as_json: bool) -> None:
    from judges.annotate import CSV, FORM
    from readback.judging import SheetMade

    if as_json:
        document(
            SheetMade(
                run=str(run), sheet=sheet.sheet, seed=sheet.seed, rubric=sheet.rubric, trace=sheet.trace,
                eligible=sheet.eligible, sampled=len(sheet.items), strata=sheet.strata,
                files=(str(where / CSV), str(where / FORM)),
            )
        )  # fmt: skip
    else:
        result(f"sheet {sheet.sheet}: {len(sheet.items)} of {sheet.eligible} episodes")
        _say_strata(sheet)
        result(str(where / CSV))
        result(str(where / FORM))
    if len(sheet.items) < sample:
        note(f"Only {counted(len(sheet.items), 'episode')} can be drawn from.")
    note("Give people these two files and nothing else of the run; what they send back is read by:")
    note(f"  readback annotate {quote(str(run))} --labels FILE")


def _say_strata(sheet: Sheet) -> None:
    """What the lenses say of the episodes that were drawn: a letter for each lens, and a row for each stratum."""
    from readback.cli.pages import columns
    from readback.tables.agreement import letter

    drawn = [stratum for stratum in sheet.strata if stratum.sampled]
    lenses = sorted({lens for stratum in drawn for lens in stratum.lenses})
    letters = {lens: letter(place) for place, lens in enumerate(lenses)}
    if not lenses:
        result("no lens has judged them")
        return
    for lens in lenses:
        result(f"{letters[lens]} {lens}")
    rows = [["drawn", "of", "", *_OUTCOMES]]
    for stratum in drawn:
        said = [
            " ".join(letters[lens] for lens, outcome in stratum.lenses.items() if outcome == wanted)
            for wanted in _OUTCOMES
        ]
        rows.append([str(stratum.sampled), str(stratum.size), "disagree" if stratum.disagree else "", *said])
    for line in columns(rows, right=(0, 1)):
        result(line)


def _say_taken(run: Path, taken: Taken, *, as_json: bool) -> None:
    from collections import Counter

    from judges.sheet import LABELS
    from readback.judging import LabelsTaken

    counts = Counter(label.label for label in taken.labels)
    labels = {label: counts[label] for label in LABELS}
    if as_json:
        document(
            LabelsTaken(
                run=str(run), sheet=taken.sheet.sheet, judge=taken.setting.name, config=taken.setting.config,
                labelled=len(taken.labels), blank=taken.blank, kept=taken.kept, labels=labels,
            )
        )  # fmt: skip
    else:
        said = ", ".join(f"{count} {label}" for label, count in labels.items())
        result(f"{taken.setting.name}: {len(taken.labels)} of {len(taken.sheet.items)} items labelled: {said}")
    if taken.kept:
        blank = counted(taken.kept, "item that is blank now was", "items that are blank now were")
        note(f"{blank} labelled before; what was said of them stays.")
