"""`readback judge`: votes of language models about a run's episodes, and the verdicts that they come to."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.counted import counted
from readback.cli.ending import DONE, INCOMPLETE, Mistake
from readback.cli.numbers import whole
from readback.cli.options import CacheMode, Dollars, External, Json, Prices, RunPath
from readback.cli.output import document, note, result
from readback.cli.playing import say_problems, warn
from readback.cli.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.limits import Budget
    from harness.runfolder import RunFolder
    from judges.judge import Judge
    from judges.judging import Judging, Progress, Report
    from judges.standing import Standing
    from judges.vote import JudgeSetting
    from readback.judging import JudgingPlan

_JOBS = 8
_ABOUT_A_LIMIT = "So many episodes at most, task by task in a fixed order."


def judge(
    run: RunPath,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="openai:MODEL, anthropic:MODEL, or a rule, no model: scripted:overlap."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Another server for models, such as http://127.0.0.1:8000/v1.")
    ] = None,
    votes: Annotated[
        int | None, typer.Option(parser=whole(1, 1000), metavar="N", help="Votes of each judge; 5 if none is said.")
    ] = None,
    no_trace: Annotated[bool, typer.Option("--no-trace", help="Show judges question and answer alone.")] = False,
    rubric: Annotated[
        list[str] | None,
        typer.Option(metavar="facts|predicate", help="What is asked: facts, where none is said; may be given twice."),
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only episodes of this agent.")] = None,
    condition: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only episodes under this condition.")
    ] = None,
    limit: Annotated[int | None, typer.Option(parser=whole(1), metavar="N", help=_ABOUT_A_LIMIT)] = None,
    max_characters: Annotated[
        int | None,
        typer.Option(parser=whole(1_000), metavar="N", help="The longest trace shown at once; 200000 if none is said."),
    ] = None,
    long: Annotated[
        Literal["cut", "search"], typer.Option(help="A longer trace is cut in the middle, or looked up by the judge.")
    ] = "cut",
    form: Annotated[
        Literal["schema", "text"],
        typer.Option(help="Ask the server for the form of the reply, or, where it knows no schemas, the prompt alone."),
    ] = "schema",
    budget: Dollars = None,
    jobs: Annotated[
        int | None, typer.Option(parser=whole(1, 256), metavar="N", help=f"Calls at once; {_JOBS} if none is said.")
    ] = None,
    prices: Prices = None,
    cache: CacheMode = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    allow_external: External = False,
    as_json: Json = False,
) -> int:
    """Judge a run's finished episodes by votes.

    Only what is missing is asked for; the cost is booked apart from the agents'.
    """
    from harness.limits import Budget
    from harness.runfolder import RunFolder
    from judges.judging import Judging, Wanted
    from readback.instruction import instruction_of
    from readback.judging import (
        JudgeOptions,
        fence_key,
        judges_of,
        refuse_to_send_out,
        rubrics_named,
    )
    from readback.running import NO_KEYS

    options = JudgeOptions(
        models=tuple(model or ()), base_url=base_url, rubrics=rubrics_named(rubric or ("facts",)), trace=not no_trace,
        votes=votes, characters=max_characters, long=long, form=form, cache=cache or "use",
        prices=None if prices is None else str(prices),
    )  # fmt: skip
    judges = judges_of(options, environment={**os.environ, **NO_KEYS} if dry_run else os.environ)
    wanted = Wanted(tuple(agent or ()), tuple(condition or ()), limit)
    with RunFolder.append(run, warn=warn) as folder:
        if not allow_external:
            refuse_to_send_out(folder.about, judges)
        judging = Judging(
            folder, judges, key=fence_key(options.cache), wanted=wanted, instruction=instruction_of, warn=warn
        )
        if not judging.chosen:
            raise Mistake(_nothing_to_judge(run, judging))
        plan = _planned(run, judging)
        if dry_run:
            if as_json:
                document(plan)
            else:
                _say_plan(plan, judges, result)
                note("Nothing was asked.")
            return DONE
        if budget is not None and plan.cost_usd is None:
            raise Mistake(
                f"a budget of {budget} USD cannot be kept: {plan.why}; leave --budget out, or name a file with its"
                " price by --prices"
            )
        _say_plan(plan, judges, note)
        measured = [] if agent or all(judge.is_rule for judge in judges) else beside_baselines(folder)
        if measured:
            note(f"Baselines' episodes are judged, too; --agent {quote(measured[0])} judges that agent's alone.")
        try:
            report = _ask(run, judging, jobs or _JOBS, Budget(budget))
        except KeyboardInterrupt:
            note("readback: interrupted; the votes that came home are kept: go on by the same command")
            return INCOMPLETE
        standings = _standings(judging, report)
    say_problems(report.problems)
    _say_outcome(run, judging, standings, report, as_json=as_json)
    is_done = not report.interrupted and all(one.is_complete for one in standings)
    return DONE if is_done else INCOMPLETE


def beside_baselines(folder: RunFolder) -> list[str]:
    """The agents of a run that were measured beside baselines; none where only the ones or the others played."""
    kinds = {agent["name"]: agent["kind"] for agent in folder.about.get("agents", ())}
    measured = [name for name, kind in kinds.items() if kind != "baseline"]
    return measured if len(measured) < len(kinds) else []


def _ask(run: Path, judging: Judging, jobs: int, budget: Budget) -> Report:
    from harness.interrupts import sigterm_as_ctrl_c
    from readback.cli.faults import faults_kept_in

    of = sum(len(row.missing) for row in judging.rows)
    with sigterm_as_ctrl_c(), faults_kept_in(run), Meter("judging", of, unit="votes") as meter:

        def progress(at: Progress) -> None:
            spent = f"{at.spent_usd:.2f} USD" if at.spent_usd else ""
            last = "" if at.vote is None else f"{at.vote.judge} {at.vote.said or at.vote.fault} {spent}"
            meter.at(at.done, at.of, last.rstrip())

        return judging.judge(jobs=jobs, budget=budget, progress=progress)


def _planned(run: Path, judging: Judging) -> JudgingPlan:
    from judges.estimate import estimate
    from readback.judging import JudgingPlan, PlannedJudge

    planned = []
    for judge in judging.judges:
        guess = estimate(judge, judging.rows)
        planned.append(
            PlannedJudge(
                judge=judge.name, config=guess.config, rubric=judge.rubric.name, trace=judge.rubric.trace,
                votes_each=judge.votes, episodes=guess.episodes, silent=guess.silent, too_long=guess.too_long,
                votes_stored=guess.stored, votes=guess.votes, calls=guess.calls, cost_usd=guess.cost_usd,
            )
        )  # fmt: skip
    unpriced = sorted({judge.name for judge in judging.judges if judge.model.price is None})
    return JudgingPlan(
        run=str(run),
        unfinished=judging.unfinished,
        judges=tuple(planned),
        calls=sum(one.calls for one in planned),
        cost_usd=None if unpriced else sum(one.cost_usd or 0.0 for one in planned),
        why=f"the price of {', '.join(unpriced)} is unknown" if unpriced else None,
    )


def _say_plan(plan: JudgingPlan, judges: Sequence[Judge], say: Callable[[str], None]) -> None:
    for judge, one in zip(judges, plan.judges, strict=True):
        aside = [counted(one.votes_stored, "vote is there", "votes are there")] if one.votes_stored else []
        aside += [counted(one.silent, "episode claims nothing", "episodes claim nothing")] if one.silent else []
        aside += [counted(one.too_long, "is too long", "are too long")] if one.too_long else []
        calls = "no call" if judge.is_rule else counted(one.calls, "call")
        cost = "" if judge.is_rule else f", {_cost(one.cost_usd, judge)}"
        more = f" ({'; '.join(aside)})" if aside else ""
        votes = f"{counted(one.votes, 'vote')} on {counted(one.episodes, 'episode')}"
        say(f"{judge.setting.title}: {votes}, {calls}{cost}{more}")
    if plan.unfinished:
        ended = counted(plan.unfinished, "episode ended unscored and is", "episodes ended unscored and are")
        say(f"{ended} not judged; readback resume {plan.run} plays what is unscored again")


def _cost(cost_usd: float | None, judge: Judge) -> str:
    return f"the price of {judge.name} is unknown" if cost_usd is None else f"about {cost_usd:.2f} USD"


def _standings(judging: Judging, report: Report) -> list[Standing]:
    from judges.standing import standing

    return [
        standing(setting, judging.rows, judging.votes.votes(), report.verdicts, asked=report.asked[setting.config])
        for setting in (judge.setting for judge in judging.judges)
    ]


def _say_outcome(
    run: Path, judging: Judging, standings: Sequence[Standing], report: Report, *, as_json: bool
) -> None:  # fmt: skip
    from readback.judging import JudgingDocument

    if as_json:
        document(
            JudgingDocument(
                run=str(run), unfinished=judging.unfinished, judges=tuple(standings), problems=tuple(report.problems)
            )
        )
    else:
        _say_table([judge.setting for judge in judging.judges], standings)
    left = sum(one.left for one in standings)
    if left or any(one.faults for one in standings):
        note("Votes that are missing or say nothing are asked for again by the same command.")
    note(f"Votes and reasons: {run / 'votes.jsonl'}; of one episode: readback show {run} EPISODE.")


def _say_table(settings: Sequence[JudgeSetting], standings: Sequence[Standing]) -> None:
    from readback.cli.pages import columns

    head = ["judge", "episodes", "pass", "fail", "vacuous", "unscored", "pass rate", "mean", "split", "votes unscored"]
    rows = [[*head, "flagged", "cost (USD)"]]
    for setting, one in zip(settings, standings, strict=True):
        outcomes = one.outcomes
        numbers = [one.episodes, outcomes.passed, outcomes.fail, outcomes.vacuous, outcomes.unscored]
        unscored = sum(one.faults.values()) + one.left
        rows.append(
            [
                setting.title, *map(str, numbers), _share(one.rate), _share(one.mean), str(one.split), str(unscored),
                str(sum(one.flags.values())), "unknown" if one.billed_usd is None else f"{one.billed_usd:.2f}",
            ]
        )  # fmt: skip
    for line in columns(rows, right=range(1, len(rows[0]))):
        result(line)
    note("pass rate: pass / (pass + fail). mean: of supported among the votes for and against, over episodes.")
    note("split: episodes whose valid votes differ. flagged: flags on votes that count; see docs/judges.md.")


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _nothing_to_judge(run: Path, judging: Judging) -> str:
    if not judging.order:
        return f"{str(run)!r} holds no episode yet; go on with it by: readback resume {run}"
    if judging.unfinished == len(judging.order):
        return (
            f"no episode of {str(run)!r} ended in a way that can be judged; play them again by: readback resume {run}"
        )
    return f"none of the episodes of {str(run)!r} is of that agent and condition; leave --agent or --condition out"
