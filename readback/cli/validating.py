"""`readback validate`: prove a suite sound before anybody is measured with it."""

from __future__ import annotations

from typing import Annotated

import typer

from readback.cli.ending import DONE, MISSED
from readback.cli.options import Json, Limit, PerTemplate, RecordPath, Seed, TaskNames
from readback.cli.output import document, note, result
from readback.cli.playing import opened, warn
from readback.cli.progress import Meter


def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite; readback list suites.")],
    record: RecordPath = None,
    task: TaskNames = None,
    limit: Limit = None,
    per_template: PerTemplate = None,
    seed: Seed = None,
    as_json: Json = False,
) -> int:
    """Prove a suite sound.

    Every baseline must do on every task what it is there for.
    """
    from readback.cli.pages import columns
    from readback.registry import suite_source
    from readback.running import Options
    from readback.visible import visible

    source = suite_source(suite)
    options = Options(
        record=None if record is None else str(record), seed=seed, tasks=tuple(task or ()), limit=limit,
        per_template=per_template,
    )  # fmt: skip
    with opened(source, options) as ready:
        with Meter("validating", len(ready.tasks), unit="tasks") as meter:
            found = source.validate(ready, lambda done, of: meter.at(done, of))
        for template, reason in found.undrawn.items():
            warn(f"template {template!r} cannot be drawn in full on this record: {reason}")
    if as_json:
        document(found)
    else:
        for problem in found.problems:
            where = problem.task or "the suite"
            result(visible(f"{where}: {problem.check}: expected {problem.expected}; {problem.found}"))
        if not found.problems:
            for line in columns((name, f"{count} of {found.tasks}") for name, count in found.successes.items()):
                result(line)
            result(f"{suite} is sound: {found.episodes} episodes on {found.tasks} tasks did what they must.")
    if found.problems:
        tasks = {problem.task for problem in found.problems}
        note(f"{suite} is not sound: {len(found.problems)} problems in {len(tasks)} of {found.tasks} tasks.")
    return DONE if found.sound else MISSED
