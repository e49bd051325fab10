"""`readback run` and `resume`: from names to a run folder, its table and its report."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.ending import DONE, Mistake
from readback.cli.numbers import amount, whole
from readback.cli.options import (
    CacheMode,
    Counterfactual,
    Dollars,
    External,
    FailUnder,
    FaultNames,
    Jobs,
    Json,
    Kinds,
    Limit,
    LockPath,
    PerTemplate,
    Prices,
    RecordOrServer,
    RunPath,
    Search,
    Seed,
    TaskNames,
    Validating,
)
from readback.cli.output import note
from readback.cli.playing import (
    carry_out,
    conclude,
    described,
    opened,
    refuse_no_task,
    thresholds_of,
    warn,
    warn_of_undrawn,
)

if TYPE_CHECKING:
    from harness.plan import Plan
    from harness.runfolder import RunFolder
    from readback.documents import RunDocument
    from readback.running import CacheMode as Replies
    from readback.running import Options

_RUNS = Path("runs")


def run(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite; readback list suites.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="openai:MODEL, anthropic:MODEL, python:MODULE:CALLABLE or a baseline."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Another server for models, such as http://127.0.0.1:8000/v1.")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=FILE]", help="default, grounded, or your own prompt's file.")
    ] = None,
    record: RecordOrServer = None,
    task: TaskNames = None,
    limit: Limit = None,
    per_template: PerTemplate = None,
    validation: Validating = None,
    fault: FaultNames = None,
    lock: LockPath = None,
    counterfactual: Counterfactual = None,
    kinds: Kinds = None,
    search: Search = False,
    repeats: Annotated[int, typer.Option(parser=whole(1), metavar="N", help="Play each task so often.")] = 1,
    seed: Seed = None,
    jobs: Jobs = None,
    budget: Dollars = None,
    max_turns: Annotated[
        int | None, typer.Option(parser=whole(1), metavar="N", help="A model's turns in an episode; 40 if none.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(parser=whole(1), metavar="N", help="A model's tokens in an episode, both ways.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(parser=amount, metavar="S", help="An agent's time for an episode; 900 if none.")
    ] = None,
    prices: Prices = None,
    cache: CacheMode = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and play nothing.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The run's folder; else runs/SUITE-N.")] = None,
    fail_under: FailUnder = None,
    allow_external: External = False,
    as_json: Json = False,
) -> int:
    """Run a suite, with agents or its baselines.

    Without --agent all baselines play; beside agents, those without which a score says little.
    """
    from harness.estimate import estimate
    from harness.limits import Budget
    from harness.plan import make_plan
    from readback.cli.planning import show_plan
    from readback.registry import suite_source
    from readback.running import (
        NO_KEYS,
        Options,
        agents_of,
        conditions_of,
        prompts_of,
        refuse_to_send_out,
        renamed_variants_of,
        variants_of,
    )

    source = suite_source(suite)
    thresholds = thresholds_of(fail_under)
    options = Options(
        agents=tuple(agent or ()), base_url=base_url, record=record, seed=seed,
        tasks=tuple(task or ()), limit=limit, per_template=per_template,
        max_turns=max_turns, max_tokens=max_tokens, seconds=seconds, cache=cache or "use",
        prices=None if prices is None else str(prices), validation=validation, faults=tuple(fault or ()),
        lock=None if lock is None else str(lock), counterfactual=tuple(counterfactual or ()),
        kinds=tuple(kinds or ()), search=search,
    )  # fmt: skip
    variants = variants_of(source, validation=options.validation, faults=options.faults, record=options.record)
    variants = renamed_variants_of(source, options) or variants
    prompts = prompts_of(condition or (), source)
    _refuse_used(out)
    purse = Budget(budget)
    environment = {**os.environ, **NO_KEYS} if dry_run else os.environ
    agents = agents_of(options, source, purse, environment=environment)
    with opened(source, options) as ready:
        undrawn = source.undrawn(ready)
        refuse_no_task(ready, undrawn)
        if not allow_external:
            refuse_to_send_out(ready, agents)
        plan = make_plan(
            ready,
            agents,
            conditions=conditions_of(ready, prompts),
            variants=variants,
            repeats=repeats,
        )
        warn_of_undrawn(undrawn)
        expected = estimate(plan)
        if dry_run:
            show_plan(plan, expected, undrawn, as_json=as_json)
            return DONE
        if budget is not None and expected.why:
            raise Mistake(
                f"a budget of {budget} USD cannot be kept: {expected.why}; leave --budget out, or name a file"
                " with its price by --prices"
            )
        with _made(out, plan, options) as folder:
            return carry_out(plan, folder, thresholds, jobs=jobs, budget=purse, as_json=as_json)


def resume(
    run: RunPath,
    record: RecordOrServer = None,
    jobs: Jobs = None,
    budget: Dollars = None,
    prices: Prices = None,
    cache: CacheMode = None,
    fail_under: FailUnder = None,
    allow_external: External = False,
    as_json: Json = False,
) -> int:
    """Go on with a run.

    What is missing or unscored is played; on a finished run there is nothing to do.
    """
    from harness.limits import Budget
    from harness.plan import resume_plan
    from harness.runfolder import RunFolder
    from readback.registry import suite_source
    from readback.resuming import options_again, refuse_other_record
    from readback.running import Options, agents_of, refuse_options_of_others, refuse_to_send_out

    thresholds = thresholds_of(fail_under)
    purse = Budget(budget)
    with RunFolder.append(run, warn=warn) as folder:
        about = described(folder)
        if folder.about.get("sessions"):
            raise Mistake(
                f"{str(run)!r} is a run of sessions; go on with it by readback serve ehr --out {quote(str(run))}"
            )
        if _is_finished(folder, about):
            note(f"{run} is finished: there is nothing left to play.")
            return conclude(folder, thresholds, as_json=as_json)
        source = suite_source(about.suite)
        refuse_options_of_others(source, Options(record=record))
        options = options_again(
            _as_before(folder, about, record=record, cache=cache, prices=prices), source, folder
        )  # fmt: skip
        agents = agents_of(options, source, purse)
        with opened(source, options) as ready:
            refuse_other_record(folder, ready)
            if not allow_external:
                refuse_to_send_out(ready, agents)
            plan = resume_plan(ready, agents, folder)
            return carry_out(plan, folder, thresholds, jobs=jobs, budget=purse, as_json=as_json)


def _as_before(
    folder: RunFolder,
    about: RunDocument,
    *,
    record: str | None,
    cache: Replies | None,
    prices: Path | None,
) -> Options:
    """The options that the run was made with, but for what is said otherwise now."""
    from pydantic import ValidationError

    from readback.running import Options, is_server

    try:
        before = Options.model_validate(about.options)
    except ValidationError:
        raise Mistake(f"the options in {str(folder.path / 'run.json')!r} are none of this version's") from None
    is_there = before.record is None or is_server(before.record) or Path(before.record).exists()
    if record is None and not is_there:
        raise Mistake(
            f"{str(folder.path)!r} was played on the record at {before.record!r}, which is not there; say where it is"
            " with --record"
        )
    return before.model_copy(
        update={
            "agents": tuple(agent.name for agent in about.agents),
            "record": before.record if record is None else record,
            "cache": cache or before.cache,
            "prices": before.prices if prices is None else str(prices),
        }
    )


def _refuse_used(out: Path | None) -> None:
    """A folder that holds something is refused before the work, not after it."""
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        hint = (
            f"go on with it by readback resume {quote(str(out))}"
            if (out / "run.json").exists()
            else "name another with --out"
        )
        raise Mistake(f"{str(out)!r} is there already; {hint}")


def _made(out: Path | None, plan: Plan, options: Options) -> RunFolder:
    """The run's folder: the one that was named, or the first that is free."""
    from harness.runfolder import RunFolder, RunFolderError

    about = plan.about(command=["readback", *sys.argv[1:]], options=options.model_dump(mode="json"))
    if out is not None:
        return RunFolder.create(_writable(out), about, plan.tasks, warn=warn)
    for number in itertools.count(1):
        path = _writable(_RUNS) / f"{plan.suite.name}-{number}"
        if path.exists():
            continue
        try:
            return RunFolder.create(path, about, plan.tasks, warn=warn)
        except RunFolderError:
            if not path.exists():  # else another run took the number in this moment
                raise
    raise AssertionError("numbers do not end")


def _writable(folder: Path) -> Path:
    """The folder, made where it is not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Mistake(f"{str(folder)!r} cannot be made: {problem.strerror}; name another with --out") from None
    return folder


def _is_finished(folder: RunFolder, about: RunDocument) -> bool:
    sound = folder.sound()
    return all(sound.values()) and len(sound) >= about.planned and folder.judged() >= sound.keys()
