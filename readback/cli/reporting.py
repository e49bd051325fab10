"""`readback report`: one page about one run or several, or their tables in another form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.ending import Mistake
from readback.cli.options import RunPaths
from readback.cli.output import note, result
from readback.cli.playing import REPORT, opened_runs

if TYPE_CHECKING:
    from readback.results import Results
    from readback.tables import Screen

_JOINT = Path("readback-report.html")


def report(
    runs: RunPaths,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"The page; else RUN/{REPORT}, or ./{_JOINT} of several runs."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown instead.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the tables as LaTeX instead.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the numbers as CSV files instead.")] = None,
    parquet: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write them as Parquet files instead (extra polars).")
    ] = None,
) -> None:
    """Write a page about one run or several.

    It is one HTML file that needs no network and can be sent to anybody: what was run, tables, pictures, and every
    episode that fits.
    """
    from readback.comparison.reading import source_of
    from readback.results import results_of

    if markdown and latex:
        raise Mistake("--markdown and --latex both print; give one of them")
    results = results_of([source_of(folder) for folder in opened_runs(runs)])
    if markdown or latex:
        result(_printed(results, as_latex=latex).rstrip("\n"))
    for path in _files(results, csv, parquet):
        result(str(path))
    if out is not None or not (markdown or latex or csv or parquet):
        result(str(_page(results, out)))


def _page(results: Results, out: Path | None) -> Path:
    from readback.report import write_joint_report

    several = len(results.sources) > 1
    if out is None:
        out = _JOINT if several else Path(results.sources[0].run) / REPORT
    elif out.is_dir():
        raise Mistake(f"{str(out)!r} is a folder; name the file, such as {out / REPORT}")
    out.parent.mkdir(parents=True, exist_ok=True)
    for source in results.sources:
        record = source.stored.about.get("record")
        if isinstance(record, dict) and not record.get("synthetic", True):
            note(f"careful: the record of {source.run} is not marked as synthetic, and the page holds parts of it")
    return write_joint_report(results, out)


def _printed(results: Results, *, as_latex: bool) -> str:
    from readback.tables import markdown
    from readback.tables.latex import latex

    write = latex if as_latex else markdown
    return "\n".join(write(screen) for screen in _screens(results))


def _screens(results: Results) -> Iterator[Screen]:
    from readback.tables import screen_of
    from readback.tables.agreement import screen_of_comparison

    screens = [screen_of(summary, labels=6) for summary in results.summaries]
    yield from screens
    if results.comparison is not None and not any(screen.withheld for screen in screens):
        yield screen_of_comparison(results.comparison)


def _files(results: Results, csv: Path | None, parquet: Path | None) -> Iterator[Path]:
    from readback.tables.files import write_csv, write_parquet
    from readback.tables.frames import frames_of

    if csv is None and parquet is None:
        return
    frames = frames_of(results)
    if csv is not None:
        yield from write_csv(frames, csv)
    if parquet is not None:
        yield from write_parquet(frames, parquet)
