"""`readback validate`: prove a suite sound before anybody is measured with it."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.counted import counted
from readback.cli.ending import DONE, MISSED
from readback.cli.options import Counterfactual, Json, Kinds, Limit, LockPath, PerTemplate, RecordPath, Seed, TaskNames
from readback.cli.output import document, note, result
from readback.cli.playing import opened, refuse_no_task, warn_of_undrawn
from readback.cli.progress import Meter


def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite; readback list suites.")],
    record: RecordPath = None,
    task: TaskNames = None,
    limit: Limit = None,
    per_template: PerTemplate = None,
    seed: Seed = None,
    fault: Annotated[
        str | None, typer.Option("--fault", metavar="NAME", help="Prove it under this fault; readback list faults.")
    ] = None,
    lock: LockPath = None,
    counterfactual: Counterfactual = None,
    kinds: Kinds = None,
    as_json: Json = False,
) -> int:
    """Prove a suite sound.

    Every baseline must do on every task what it is there for.
    """
    from harness.visible import visible
    from readback.cli.pages import columns
    from readback.registry import Faulty, suite_source
    from readback.running import Options, variants_of

    source = suite_source(suite)
    variants_of(source, validation=None, faults=(fault,) if fault else ())
    options = Options(
        record=None if record is None else str(record), seed=seed, tasks=tuple(task or ()), limit=limit,
        per_template=per_template, lock=None if lock is None else str(lock),
        counterfactual=tuple(counterfactual or ()), kinds=tuple(kinds or ()),
    )  # fmt: skip
    with opened(source, options) as ready:
        refuse_no_task(ready, source.undrawn(ready))
        with Meter("validating", len(ready.tasks), unit="tasks") as meter:

            def told(done: int, of: int) -> None:
                meter.at(done, of)

            if fault and isinstance(source, Faulty):
                found = source.validate(ready, told, fault=fault)
            else:
                found = source.validate(ready, told)
        warn_of_undrawn(found.undrawn)
    if as_json:
        document(found)
    else:
        for problem in found.problems:
            where = problem.task or "the suite"
            result(visible(f"{where}: {problem.check}: expected {problem.expected}; {problem.found}"))
        if not found.problems:
            for line in columns((name, f"{count} of {found.tasks}") for name, count in found.successes.items()):
                result(line)
            played = f"{counted(found.episodes, 'episode')} on {counted(found.tasks, 'task')}"
            result(f"{suite} is sound: {played} did what they must.")
    if found.problems:
        tasks = {problem.task for problem in found.problems}
        problems = counted(len(found.problems), "problem")
        note(f"{suite} is not sound: {problems} in {len(tasks)} of {counted(found.tasks, 'task')}.")
    return DONE if found.sound else MISSED
