"""An experiment made ready: its runs and judges, what is refused before anything is played, what would be played."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.counted import counted
from readback.cli.ending import Mistake
from readback.cli.output import document, note, result
from readback.cli.playing import opened, refuse_no_task, warn, warn_of_undrawn

if TYPE_CHECKING:
    from harness.limits import Budget
    from harness.plan import Plan
    from judges.judge import Judge
    from readback.experiment import Experiment
    from readback.experiment.document import ExperimentPlan
    from readback.experiment.file import JudgeForm, RunForm
    from readback.experiment.folder import ExperimentFolder
    from readback.registry import SuiteSource
    from readback.running import Options


@dataclass(frozen=True, slots=True)
class Work:
    """One run, ready: its form, its options, its suite's plan."""

    form: RunForm
    options: Options
    source: SuiteSource
    plan: Plan


@dataclass(frozen=True, slots=True)
class Judged:
    """One judge, ready: its form, and the judge."""

    form: JudgeForm
    judge: Judge


def environment_of(dry_run: bool) -> dict[str, str]:
    """The environment that models are set up from; nothing that only shows a plan needs a key."""
    from readback.running import NO_KEYS

    return {**os.environ, **(NO_KEYS if dry_run else {})}


@contextmanager
def made_ready(
    form: RunForm, run: RunForm, purse: Budget, environment: dict[str, str], begun: ExperimentFolder | None
) -> Iterator[Work]:  # fmt: skip
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
    prompts = prompts_of(run.conditions, source)
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
        yield Work(form, options, source, plan)


def judge_of(form: JudgeForm, environment: dict[str, str]) -> Judge:
    """The judge that a form describes; its paths are found."""
    from readback.judging import JudgeOptions, judges_of

    options = JudgeOptions(
        models=(form.model,), base_url=form.base_url, rubrics=(form.rubric,), trace=form.trace, votes=form.votes,
        characters=form.characters, long=form.long, form=form.form, cache=form.cache, prices=form.prices,
    )  # fmt: skip
    (judge,) = judges_of(options, environment=environment)
    return judge


def refuse_wrong_names(form: Experiment, work: Sequence[Work]) -> None:
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
        for name, value in side.variant.items():
            known = {key for variant in plan.variants for key in variant}
            if name not in known:
                raise UnknownNameError("variant of the primary comparison", name, known)
            played = ["none" if variant.get(name) is None else variant[name] for variant in plan.variants]
            if value not in played:
                raise Mistake(
                    f"the {name} of the primary comparison is {value!r}, and nothing is played under it; choose from"
                    f" {', '.join(map(repr, dict.fromkeys(played)))}"
                )
    if primary.measure not in ("success", "pass") and form.primary_run.suite != "repoqa":
        raise Mistake(
            f"the measure {primary.measure!r} is for suites of repositories, and {form.primary_run.suite!r} is none;"
            " take success, or pass with a lens on each side"
        )


def refuse_to_send_out(work: Sequence[Work], judges: Sequence[Judged]) -> None:
    """A record that may be of people goes to no model elsewhere."""
    from readback.judging import refuse_to_send_out as refuse_judges
    from readback.running import refuse_to_send_out as refuse_agents

    for one in work:
        refuse_agents(one.plan.suite, one.plan.agents)
        here = [each.judge for each in judges if not each.form.runs or one.form.label in each.form.runs]
        refuse_judges(one.plan.suite.about, here)


def refuse_unknown_prices(work: Sequence[Work], budget: float | None) -> None:
    """A budget cannot be kept where nobody knows what a call costs."""
    from harness.estimate import estimate

    for one in work:
        why = estimate(one.plan).why
        if budget is not None and why:
            raise Mistake(
                f"a budget of {budget} USD cannot be kept: {why}; leave --budget out, or name a file with its price by"
                f" prices = FILE in the run {one.form.label!r}"
            )


def refuse_unknown_prices_of_judges(judges: Sequence[Judged], budget: float | None) -> None:
    """Said before the runs are played and paid for, not when it comes to judging them."""
    for one in judges:
        if budget is not None and one.judge.model.price is None:
            raise Mistake(
                f"a judges' budget of {budget} USD cannot be kept: the price of {one.form.model} is unknown; leave"
                " --judge-budget out, or name a file with its price by prices = FILE in its table [[judges]]"
            )


def planned_of(form: Experiment, file: Path, work: Sequence[Work]) -> ExperimentPlan:
    """What would be played and asked, with what it may cost."""
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


def show_plan(plan: ExperimentPlan, *, as_json: bool) -> None:
    """The plan in lines, or as JSON."""
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
    for line in columns([head, *rows], right=(2, 3, 5, 6, 7, 8)):
        result(line)
    for judge in plan.judges:
        result(f"judge       {judge.judge}: at most {counted(judge.votes_at_most, 'vote')} on {', '.join(judge.runs)}")
    cost = plan.why if plan.cost_usd is None else f"about {plan.cost_usd:.2f} USD, judges apart"
    cost = cost if any(run.model_calls for run in plan.runs) else "nothing: no model plays (judges apart)"
    result(f"cost        {cost}")
    note("Nothing was played.")
