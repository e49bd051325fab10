"""`readback experiment`: every run and judge of a file, its primary comparison, and one report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.ending import DONE, INCOMPLETE
from readback.cli.numbers import amount
from readback.cli.options import Dollars, External, Jobs, Json
from readback.cli.output import document, note, result
from readback.cli.playing import play, print_screen, say_problems, warn
from readback.cli.preparing import (
    Judged,
    Work,
    environment_of,
    judge_of,
    made_ready,
    planned_of,
    refuse_to_send_out,
    refuse_unknown_prices,
    refuse_unknown_prices_of_judges,
    refuse_wrong_names,
    show_plan,
)

if TYPE_CHECKING:
    from harness.limits import Budget
    from harness.runfolder import RunFolder
    from readback.experiment import Experiment
    from readback.experiment.document import ExperimentResult
    from readback.experiment.file import RunForm
    from readback.experiment.folder import ExperimentFolder

_RUNS = Path("runs")
_JUDGE_JOBS = 8


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The experiment, a TOML file; see docs/experiments.md.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Its folder; else runs/NAME.")] = None,
    jobs: Jobs = None,
    budget: Dollars = None,
    judge_budget: Annotated[
        float | None, typer.Option(parser=amount, metavar="USD", help="Make no judge's call beyond this.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and play nothing.")] = False,
    allow_external: External = False,
    as_json: Json = False,
) -> int:
    """Carry out an experiment that a file describes.

    Its runs are played, judged and compared, and a report is written. The same command goes on where it stopped; on
    a finished experiment only the report is written again.
    """
    from harness.limits import Budget
    from readback.experiment import read_experiment
    from readback.experiment.folder import ExperimentFolder

    form = read_experiment(file)
    folder = ExperimentFolder(out or _RUNS / form.name)
    goes_on = not dry_run and folder.is_begun(form, file)
    purse = Budget(budget)
    environment = environment_of(dry_run)
    here = file.parent.absolute()
    judges = [Judged(judge, judge_of(judge.located(here), environment)) for judge in form.judges]
    with ExitStack() as stack:
        work = [
            stack.enter_context(made_ready(run, run.located(here), purse, environment, folder if goes_on else None))
            for run in form.runs
        ]
        refuse_wrong_names(form, work)
        if not allow_external:
            refuse_to_send_out(work, judges)
        if dry_run:
            show_plan(planned_of(form, file, work), as_json=as_json)
            return DONE
        refuse_unknown_prices(work, budget)
        refuse_unknown_prices_of_judges(judges, judge_budget)
        folder.begin(form, file)
        if goes_on:
            note(f"going on with {folder.path}")
        problems: list[str] = []
        try:
            played = [_played(one, folder, jobs, purse, problems) for one in work]
            judged = _judged(form, folder, judges, Budget(judge_budget), jobs, problems)
        except KeyboardInterrupt:
            note(f"readback: interrupted; what was finished is kept: go on by {_again(file, out)}")
            return INCOMPLETE
    concluded = _conclude(form, file, folder, complete=all(played) and judged, problems=problems, as_json=as_json)
    note(f"The experiment is in {folder.path}, its report in {folder.report}.")
    if not concluded:
        note(f"  go on with what is missing:   {_again(file, out)}")
    return DONE if concluded else INCOMPLETE


def _again(file: Path, out: Path | None) -> str:
    return f"readback experiment {file}{f' --out {out}' if out else ''}"


def _played(
    one: Work, folder: ExperimentFolder, jobs: int | None, purse: Budget, problems: list[str]
) -> bool:  # fmt: skip
    """Play what is missing of a run; whether it is complete."""
    from harness.interrupts import sigterm_as_ctrl_c
    from harness.plan import resume_plan
    from harness.runfolder import RunFolder
    from readback.cli.faults import faults_kept_in

    path = folder.run_path(one.form)
    with ExitStack() as stack:
        if (path / "run.json").exists():
            run = stack.enter_context(RunFolder.append(path, warn=warn))
            plan = resume_plan(one.plan.suite, one.plan.agents, run)
        else:
            plan = one.plan
            about = plan.about(command=["readback", *sys.argv[1:]], options=one.options.model_dump(mode="json"))
            run = stack.enter_context(RunFolder.create(path, about, plan.tasks, warn=warn))
        with sigterm_as_ctrl_c(), faults_kept_in(folder.path):
            report = play(plan, run, jobs, purse)
    if report is None:  # the disk is full, or the like, and that was said
        raise typer.Exit(INCOMPLETE)
    say_problems(report.problems)
    problems += [f"{one.form.label}: {problem}" for problem in report.problems]
    if report.interrupted:
        raise KeyboardInterrupt
    return report.is_complete


def _judged(
    form: Experiment, folder: ExperimentFolder, judges: Sequence[Judged], purse: Budget, jobs: int | None,
    problems: list[str],
) -> bool:  # fmt: skip
    """Judge every run by its judges; whether every verdict is there and scored."""
    from harness.runfolder import RunFolder

    complete = True
    for run in form.runs:
        here = [one for one in judges if not one.form.runs or run.label in one.form.runs]
        if not here:
            continue
        with RunFolder.append(folder.run_path(run), warn=warn) as opened_run:
            for one in here:
                complete = _judged_by(one, run, opened_run, purse, jobs, problems) and complete
    return complete


def _judged_by(
    one: Judged, run: RunForm, folder: RunFolder, purse: Budget, jobs: int | None, problems: list[str]
) -> bool:  # fmt: skip
    from harness.interrupts import sigterm_as_ctrl_c
    from judges.judging import Judging, Wanted
    from readback.cli.faults import faults_kept_in
    from readback.cli.progress import Meter
    from readback.instruction import instruction_of
    from readback.judging import fence_key

    judging = Judging(
        folder,
        [one.judge],
        key=fence_key(one.form.cache),
        wanted=Wanted(one.form.agents, one.form.conditions, one.form.limit),
        instruction=instruction_of,
        warn=warn,
    )
    missing = sum(len(row.missing) for row in judging.rows)
    label = f"{run.label} by {one.judge.setting.title}"
    with sigterm_as_ctrl_c(), faults_kept_in(folder.path), Meter(label, missing, unit="votes") as meter:
        report = judging.judge(
            jobs=jobs or _JUDGE_JOBS, budget=purse, progress=lambda at: meter.at(at.done, at.of, "")
        )  # fmt: skip
    say_problems(report.problems)
    problems += [f"{label}: {problem}" for problem in report.problems]
    if report.interrupted:
        raise KeyboardInterrupt
    return not report.left.total() and all(verdict.outcome != "unscored" for verdict in report.verdicts)


def _conclude(
    form: Experiment, file: Path, folder: ExperimentFolder, *, complete: bool, problems: Sequence[str], as_json: bool
) -> bool:  # fmt: skip
    """Compare, keep and show the result; whether it is complete."""
    from harness.runfolder import RunFolder
    from readback.comparison.reading import source_of
    from readback.experiment.document import ExperimentResult
    from readback.experiment.file import ExperimentError
    from readback.experiment.primary import primary_of
    from readback.experiment.screen import screen_of_result
    from readback.report import Lead, write_joint_report
    from readback.results import results_of

    folders = [RunFolder.open(folder.run_path(run), warn=warn) for run in form.runs]
    results = results_of([source_of(one) for one in folders])
    place = form.runs.index(form.primary_run)
    primary, why = None, None
    try:
        primary = primary_of(form.primary, results.reading.runs[place])
    except ExperimentError as problem:
        why = str(problem)
    concluded = ExperimentResult(
        name=form.name,
        folder=str(folder.path),
        file=str(file),
        digest=form.digest,
        complete=complete and not any(summary.incomplete for summary in results.summaries),
        primary=primary,
        primary_why=why,
        summaries=results.summaries,
        comparison=results.comparison,
        report=str(folder.report),
        problems=tuple(problems),
    )
    folder.conclude(concluded)
    screen = screen_of_result(form, concluded)
    write_joint_report(results, folder.report, lead=Lead(f"experiment {form.name}", screen))
    if as_json:
        document(concluded)
    else:
        _show(concluded, form)
    return concluded.complete


def _show(concluded: ExperimentResult, form: Experiment) -> None:
    """The primary comparison, then each run's tables, then the comparison."""
    from readback.experiment.screen import screen_of_result
    from readback.tables import screen_of
    from readback.tables.agreement import screen_of_comparison

    print_screen(screen_of_result(form, concluded))
    screens = [screen_of(summary) for summary in concluded.summaries]
    for screen in screens:
        result()
        print_screen(screen)
    if concluded.comparison is not None and not any(screen.withheld for screen in screens):
        result()
        print_screen(screen_of_comparison(concluded.comparison))
