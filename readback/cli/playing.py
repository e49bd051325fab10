"""What `run`, `resume` and `score` have in common: the open suite, the work with its progress, the table at the end."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from readback.cli.ending import DONE, INCOMPLETE, MISSED, Mistake, worst
from readback.cli.faults import faults_kept_in
from readback.cli.output import document, is_terminal, note, programs_print_to_stderr, result
from readback.cli.progress import Meter, stages

if TYPE_CHECKING:
    from harness.limits import Budget
    from harness.plan import Plan
    from harness.runfolder import RunFolder
    from harness.runner import Progress, Report
    from harness.suite import Suite
    from readback.documents import RunDocument
    from readback.registry import SuiteSource
    from readback.running import Options
    from readback.summary import Summary, Threshold
    from readback.tables import Screen

REPORT = "report.html"

_MODEL_JOBS = 4
"""Episodes at once where a model is waited for."""
_PROBLEMS = 20
"""Problems that are printed; the rest is counted."""
_ADDRESS = re.compile(r"[\w.-]+:\d+(/|$)")
"""A live server's address without its beginning."""
_WIDTH = 120
"""The width of a table that is written to a file or another program."""


def warn(sentence: str) -> None:
    """Say what is not as it should be, and go on."""
    note(f"warning: {sentence}")


def warn_of_undrawn(undrawn: Mapping[str, str], run: str = "") -> None:
    """Name the templates that gave no tasks, or too few; those with one reason in one sentence."""
    by_reason: dict[str, list[str]] = {}
    for template, reason in undrawn.items():
        by_reason.setdefault(reason, []).append(template)
    for reason, templates in by_reason.items():
        what = f"template {templates[0]!r}" if len(templates) == 1 else f"{len(templates)} templates"
        named = "" if len(templates) == 1 else f" ({', '.join(templates)})"
        warn(f"{run}{what} cannot be drawn in full on this record: {reason}{named}")


def refuse_no_task(suite: Suite, undrawn: Mapping[str, str]) -> None:
    """Raises `Mistake` where there is nothing to play, with the reason that most templates give."""
    if not suite.tasks:
        ((reason, _),) = Counter(undrawn.values()).most_common(1) or [("nothing is left of what was asked for", 0)]
        raise Mistake(f"{suite.name} has no task here: {reason}; name another record, or other tasks")


def opened_runs(paths: Sequence[Path]) -> list[RunFolder]:
    """The runs, each once, to be read."""
    from harness.runfolder import RunFolder

    return [RunFolder.open(path, warn=warn) for path in {path.resolve(): path for path in paths}.values()]


def thresholds_of(texts: Sequence[str] | None) -> list[Threshold]:
    """What `--fail-under` states."""
    from readback.summary import read_threshold

    try:
        return [read_threshold(text) for text in texts or ()]
    except ValueError as problem:
        raise Mistake(f"--fail-under: {problem}") from None


def described(folder: RunFolder) -> RunDocument:
    """What `run.json` says. Raises `Mistake` where it lacks what a run needs."""
    from pydantic import ValidationError

    from harness.values import first_wrong
    from readback.documents import RunDocument

    try:
        return RunDocument.model_validate(dict(folder.about))
    except ValidationError as problem:
        raise Mistake(
            f"{str(folder.path / 'run.json')!r} does not describe a whole run ({first_wrong(problem, 'it')}); put back"
            " what readback run wrote"
        ) from None


@contextmanager
def opened(source: SuiteSource, options: Options) -> Iterator[Suite]:
    """The suite of these options, ready to be played."""
    from readback.registry import Choices
    from readback.running import is_server, refuse_options_of_others

    refuse_options_of_others(source, options)
    named = options.record
    if named is not None and _ADDRESS.match(named) and not Path(named).exists():
        raise Mistake(f"there is no record at {named!r}; the address of a live server begins with http://")
    server = named if named is not None and is_server(named) else None
    record = None if named is None or server is not None else Path(named)
    with ExitStack() as stack:
        with stages() as progress:
            choices = Choices(
                record=record,
                server=server,
                seed=options.seed,
                tasks=options.tasks,
                limit=options.limit,
                per_template=options.per_template,
                lock=None if options.lock is None else Path(options.lock),
                counterfactual=options.counterfactual,
                kinds=options.kinds,
                search=options.search,
                say=note,
                progress=progress,
            )
            suite = stack.enter_context(source.open(choices))
        yield suite


def carry_out(
    plan: Plan, folder: RunFolder, thresholds: Sequence[Threshold], *, jobs: int | None, budget: Budget, as_json: bool
) -> int:
    """Play what is missing in the folder, conclude, and say where it is and what may come next."""
    from harness.interrupts import sigterm_as_ctrl_c

    try:
        with sigterm_as_ctrl_c(), faults_kept_in(folder.path):
            report = play(plan, folder, jobs, budget)
            if report is None:
                return INCOMPLETE
            say_problems(report.problems)
            code = conclude(folder, thresholds, as_json=as_json)
    except KeyboardInterrupt:
        note(f"readback: interrupted; what was finished is kept: go on by readback resume {quote(str(folder.path))}")
        return INCOMPLETE
    _say_next(plan, folder, report)
    return INCOMPLETE if report.interrupted else code


def play(plan: Plan, folder: RunFolder, jobs: int | None, budget: Budget) -> Report | None:
    """Play what is missing, with progress. None where the folder could not be written any more; that was said."""
    from harness.runfolder import RunFolderError
    from harness.runner import execute

    models = any(not isinstance(agent, str) and agent.kind == "model" for agent in plan.agents)
    with Meter(plan.suite.name, len(plan.episodes), unit="episodes") as meter:
        last = ""

        def progress(at: Progress) -> None:
            nonlocal last
            if at.episode is not None:
                spent = f", {at.spent_usd:.2f} USD" if at.spent_usd else ""
                last = f"{at.episode.agent} {at.episode.ending}{spent}"
            meter.at(at.done, at.planned, last)

        with programs_print_to_stderr(), chdir("."):  # back here afterwards, wherever programs go
            try:
                return execute(
                    plan, folder, jobs=jobs or (_MODEL_JOBS if models else 1), budget=budget, progress=progress
                )
            except RunFolderError as problem:
                failure = problem
    note(f"readback: {failure}")
    return None


def conclude(folder: RunFolder, thresholds: Sequence[Threshold], *, as_json: bool) -> int:
    """Write the report, print the table or the summary, and give the exit code that the run deserves."""
    from readback.report import write_report
    from readback.summary import shortfalls, summary_of

    run = str(folder.path)
    summary = summary_of(folder)
    write_report(folder, folder.path / REPORT, run=run, summary=summary)
    if as_json:
        document(summary)
    else:
        show_table(summary)
    missed = shortfalls(summary, thresholds)
    for shortfall in missed:
        note(f"threshold missed: {shortfall}")
    return worst(INCOMPLETE if summary.incomplete else DONE, MISSED if missed else DONE)


def _say_next(plan: Plan, folder: RunFolder, report: Report) -> None:
    note(f"The run is in {folder.path}, its report in {folder.path / REPORT}.")
    run, readback = quote(str(folder.path)), quote(_as_called())
    if not report.is_complete:
        note(f"  go on with what is missing:   {readback} resume {run}")
    if report.unscored:
        note(f"  see what is unscored:         {readback} show {run} --unscored")
    note(f"  see what failed, and why:     {readback} show {run} --failed")
    if all(isinstance(agent, str) for agent in plan.agents):
        lock = described(folder).options.get("lock")
        same = f" --lock {quote(str(lock))}" if lock else ""
        note(f"  measure a model beside them:  {readback} run {plan.suite.name}{same} --agent openai:MODEL")


def _as_called() -> str:
    """How this command is called from here: by its name where that is found, else by its path."""
    called = Path(sys.argv[0])
    if called.name != "readback" or shutil.which("readback"):
        return "readback"
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)


def show_table(summary: Summary) -> None:
    """The tables of a run on stdout."""
    from readback.tables import screen_of

    print_screen(screen_of(summary))


def print_screen(screen: Screen) -> None:
    """Tables on stdout."""
    from rich.console import Console

    from readback.tables import show

    looking = is_terminal(sys.stdout)
    console = Console(highlight=False) if looking else Console(highlight=False, width=_WIDTH, no_color=True)
    with console.capture() as shown:  # rich itself would end the process where the reader has gone away
        show(screen, console)
    # Without the blanks by which rich fills a line to the width of its table.
    result("\n".join(line.rstrip() for line in shown.get().removesuffix("\n").split("\n")))


def say_problems(problems: Sequence[str]) -> None:
    """What did not go as it should, each sentence once."""
    counts = Counter(problems)
    for sentence, times in list(counts.items())[:_PROBLEMS]:
        warn(sentence if times == 1 else f"{sentence} ({times} times)")
    if len(counts) > _PROBLEMS:
        warn(f"and {len(counts) - _PROBLEMS} more of the kind")
