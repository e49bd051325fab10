"""`readback experiment`: every run and judge of a file, its primary comparison, and one report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.ending import DONE, INCOMPLETE, Mistake
from readback.cli.numbers import amount
from readback.cli.options import Dollars, External, Jobs, Json
from readback.cli.output import document, note, result
from readback.cli.playing import (
    opened,
    play,
    print_screen,
    refuse_no_task,
    say_problems,
    warn,
    warn_of_undrawn,
)

if TYPE_CHECKING:
    from harness.limits import Budget
    from harness.plan import Plan
    from harness.runfolder import RunFolder
    from judges.judge import Judge
    from readback.experiment import Experiment
    from readback.experiment.document import ExperimentPlan, ExperimentResult
    from readback.experiment.file import JudgeForm, RunForm
    from readback.experiment.folder import ExperimentFolder
    from readback.registry import SuiteSource
    from readback.running import Options

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
    """Carry out an experiment: play its runs, judge them, compare, report.

    The same command goes on where it stopped; on a finished experiment only the report is written again.
    """
    from harness.limits import Budget
    from readback.experiment import read_experiment
    from readback.experiment.folder import ExperimentFolder

    form = read_experiment(file)
    folder = ExperimentFolder(out or _RUNS / form.name)
    goes_on = not dry_run and folder.is_begun(form, file)
    purse = Budget(budget)
    environment = _environment(dry_run)
    here = file.parent.absolute()
    judges = [_Judged(judge, _judge_of(judge.located(here), environment)) for judge in form.judges]
    with ExitStack() as stack:
        work = [
            stack.enter_context(_work(run, run.located(here), purse, environment, folder if goes_on else None))
            for run in form.runs
        ]
        _refuse_wrong_names(form, work)
        if not allow_external:
            _refuse_to_send_out(work, judges)
        if dry_run:
            _show_plan(_planned(form, file, work), as_json=as_json)
            return DONE
        _refuse_unknown_prices(work, budget)
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


@dataclass(frozen=True, slots=True)
class _Work:
    """One run, ready: its form, its options, its suite's plan."""

    form: RunForm
    options: Options
    source: SuiteSource
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Judged:
    form: JudgeForm
    judge: Judge


def _environment(dry_run: bool) -> dict[str, str]:
    from readback.running import NO_KEYS

    return {**os.environ, **(NO_KEYS if dry_run else {})}


@contextmanager
def _work(
    form: RunForm, run: RunForm, purse: Budget, environment: dict[str, str], begun: ExperimentFolder | None
) -> Iterator[_Work]:  # fmt: skip
    """One run made ready; `form` is as written, `run` has its paths found, and `begun` may hold it already."""
    from harness.plan import make_plan
    from harness.runfolder import RunFolder
    from readback.registry import suite_source
    from readback.resuming import options_again, refuse_other_record
    from readback.running import Options, agents_of, conditions_of, prompts_of, renamed_variants_of, variants_of

    source = suite_source(run.suite)
    options = Options(
        agents=run.agents, base_url=run.base_url, record=run.record, seed=run.seed, tasks=run.tasks, limit=run.limit,
        per_template=run.per_template, max_turns=run.max_turns, max_tokens=run.max_tokens, seconds=run.seconds,
        cache=run.cache, prices=run.prices, validation=run.validation, faults=run.faults, lock=run.lock,
        counterfactual=run.counterfactual, kinds=run.kinds, search=run.search,
    )  # fmt: skip
    variants = variants_of(source, validation=options.validation, faults=options.faults)
    variants = renamed_variants_of(source, options) or variants
    prompts = prompts_of(run.conditions)
    agents = agents_of(options, source, purse, environment=environment)
    path = begun.run_path(form) if begun else None
    there = RunFolder.open(path, warn=warn) if path is not None and (path / "run.json").exists() else None
    with opened(source, options_again(options, source, there) if there else options) as ready:
        if there:
            refuse_other_record(there, ready)
        refuse_no_task(ready, source.undrawn(ready))
        plan = make_plan(
            ready, agents, conditions=conditions_of(ready, prompts), variants=variants, repeats=run.repeats
        )  # fmt: skip
        warn_of_undrawn(source.undrawn(ready), f"{run.label}: ")
        yield _Work(form, options, source, plan)


def _judge_of(form: JudgeForm, environment: dict[str, str]) -> Judge:
    from readback.judging import JudgeOptions, judges_of

    options = JudgeOptions(
        models=(form.model,), base_url=form.base_url, rubrics=(form.rubric,), trace=form.trace, votes=form.votes,
        characters=form.characters, long=form.long, form=form.form, cache=form.cache, prices=form.prices,
    )  # fmt: skip
    (judge,) = judges_of(options, environment=environment)
    return judge


def _refuse_wrong_names(form: Experiment, work: Sequence[_Work]) -> None:
    """What the primary comparison names must be played."""
    from readback.registry import UnknownNameError

    primary = form.primary
    plan = next(one.plan for one in work if one.form is form.primary_run)
    agents = {planned.agent_name for planned in plan.episodes}
    for side in (primary.a, primary.b):
        if side.agent is not None and side.agent not in agents:
            raise UnknownNameError("agent of the primary comparison", side.agent, agents)
        if side.condition is not None and side.condition not in plan.conditions:
            raise UnknownNameError("condition of the primary comparison", side.condition, plan.conditions)
        for name in side.variant:
            known = {key for variant in plan.variants for key in variant}
            if name not in known:
                raise UnknownNameError("variant of the primary comparison", name, known)
    if primary.measure not in ("success", "pass") and form.primary_run.suite != "repoqa":
        raise Mistake(
            f"the measure {primary.measure!r} is for suites of repositories, and {form.primary_run.suite!r} is none;"
            " take success, or pass with a lens on each side"
        )


def _refuse_to_send_out(work: Sequence[_Work], judges: Sequence[_Judged]) -> None:
    from readback.judging import refuse_to_send_out as refuse_judges
    from readback.running import refuse_to_send_out as refuse_agents

    for one in work:
        refuse_agents(one.plan.suite, one.plan.agents)
        here = [each.judge for each in judges if not each.form.runs or one.form.label in each.form.runs]
        refuse_judges(one.plan.suite.about, here)


def _refuse_unknown_prices(work: Sequence[_Work], budget: float | None) -> None:
    from harness.estimate import estimate

    for one in work:
        why = estimate(one.plan).why
        if budget is not None and why:
            raise Mistake(
                f"a budget of {budget} USD cannot be kept: {why}; leave --budget out, or name a file with its price by"
                f" prices = FILE in the run {one.form.label!r}"
            )


def _played(
    one: _Work, folder: ExperimentFolder, jobs: int | None, purse: Budget, problems: list[str]
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
    form: Experiment, folder: ExperimentFolder, judges: Sequence[_Judged], purse: Budget, jobs: int | None,
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
    one: _Judged, run: RunForm, folder: RunFolder, purse: Budget, jobs: int | None, problems: list[str]
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


def _planned(form: Experiment, file: Path, work: Sequence[_Work]) -> ExperimentPlan:
    from harness.estimate import estimate
    from readback.experiment.document import ExperimentPlan, PlannedRun, PlannedVotes
    from readback.experiment.screen import primary_words

    runs = []
    for one in work:
        expected = estimate(one.plan)
        runs.append(
            PlannedRun(
                name=one.form.label, suite=one.plan.suite.name, suite_digest=one.plan.suite.digest,
                tasks=len(one.plan.tasks), agents=tuple(dict.fromkeys(each.agent_name for each in one.plan.episodes)),
                conditions=tuple(one.plan.conditions), variants=len(one.plan.variants), repeats=one.plan.repeats,
                episodes=len(one.plan.episodes), model_calls=expected.model_calls,
                model_calls_at_most=expected.model_calls_at_most, cost_usd=expected.cost_usd, why=expected.why,
            )
        )  # fmt: skip
    episodes = {run.name: run.episodes for run in runs}
    judges = []
    for judge in form.judges:
        named = judge.runs or tuple(episodes)
        votes = sum(min(episodes[name], judge.limit or episodes[name]) * judge.votes for name in named)
        name = f"{judge.model}, {judge.rubric}{'' if judge.trace else ', no trace'}"
        judges.append(PlannedVotes(judge=name, runs=named, votes_at_most=votes))
    whys = sorted({run.why for run in runs if run.why})
    return ExperimentPlan(
        name=form.name, file=str(file), digest=form.digest, primary=primary_words(form), runs=tuple(runs),
        judges=tuple(judges), episodes=sum(run.episodes for run in runs),
        cost_usd=None if whys else sum(run.cost_usd or 0.0 for run in runs), why="; ".join(whys) or None,
    )  # fmt: skip


def _show_plan(plan: ExperimentPlan, *, as_json: bool) -> None:
    from readback.cli.pages import columns

    if as_json:
        document(plan)
        return
    result(f"experiment  {plan.name}, {plan.digest}")
    result(f"primary     {plan.primary}")
    head = ["run", "suite", "tasks", "agents", "conditions", "variants", "repeats", "episodes", "model calls"]
    rows = [
        [
            run.name, run.suite, str(run.tasks), str(len(run.agents)), ", ".join(run.conditions), str(run.variants),
            str(run.repeats), str(run.episodes), str(run.model_calls),
        ]
        for run in plan.runs
    ]  # fmt: skip
    for line in columns([head, *rows]):
        result(line)
    for judge in plan.judges:
        result(f"judge       {judge.judge}: at most {judge.votes_at_most} votes on {', '.join(judge.runs)}")
    cost = plan.why if plan.cost_usd is None else f"about {plan.cost_usd:.2f} USD, judges apart"
    cost = cost if any(run.model_calls for run in plan.runs) else "nothing: no model plays (judges apart)"
    result(f"cost        {cost}")
    note("Nothing was played.")
