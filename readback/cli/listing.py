"""`readback list suites|agents|faults|tasks` and `readback schema`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.options import Json, Kinds, Limit, LockPath, PerTemplate, RecordPath, Seed, TaskNames
from readback.cli.output import document, result

if TYPE_CHECKING:
    from readback.documents import NamedAgent

app = typer.Typer(help="List suites, agents, tasks or faults.", no_args_is_help=True, rich_markup_mode=None)

_TELLING = {"expected", "answer", "parameters"}
"""What would give a task away."""


@app.command()
def suites(as_json: Json = False) -> None:
    """List the suites and their baselines."""
    from readback.documents import NamedSuite, SuiteList
    from readback.registry import suite_names, suite_source

    sources = [suite_source(name) for name in suite_names()]
    if as_json:
        named = (NamedSuite(name=s.name, about=s.about, baselines=dict(s.baselines)) for s in sources)
        document(SuiteList(suites=tuple(named)))
        return
    for source in sources:
        result(f"{source.name}  {source.about}")
        for name, about in source.baselines.items():
            result(f"  {name:<10}  {about}")


@app.command()
def faults(as_json: Json = False) -> None:
    """List the faults that may be injected."""
    from ehr.faults import FAULTS
    from readback.cli.pages import columns
    from readback.documents import FaultList, NamedFault

    named = [NamedFault(name=f.name, suite="ehr", about=f.about, recoverable=f.recoverable) for f in FAULTS.values()]
    if as_json:
        document(FaultList(faults=tuple(named)))
        return
    for line in columns(
        (fault.name, "recoverable" if fault.recoverable else "not recoverable", fault.about) for fault in named
    ):
        result(line)


@app.command()
def agents(as_json: Json = False) -> None:
    """List what may be given to --agent."""
    from readback.cli.pages import columns
    from readback.documents import AgentList

    named = list(_named_agents())
    if as_json:
        document(AgentList(agents=tuple(named)))
        return
    for line in columns(
        (agent.name, agent.kind, agent.suite or "", agent.about if agent.ready else f"{agent.about} ({agent.why})")
        for agent in named
    ):
        result(line)


def _named_agents() -> Iterator[NamedAgent]:
    from readback.documents import NamedAgent
    from readback.registry import AGENT_FORMS, Faulty, suite_names, suite_source

    for form in AGENT_FORMS:
        why = form.missing(os.environ)
        yield NamedAgent(name=form.name, kind=form.kind, suite=None, about=form.about, ready=why is None, why=why)
    for source in map(suite_source, suite_names()):
        under_fault = source.under_fault if isinstance(source, Faulty) else {}
        for name, about in source.baselines.items():
            yield NamedAgent(name=name, kind="baseline", suite=source.name, about=about, ready=True, why=None)
        for name, about in under_fault.items():
            told = f"{about}; only with --fault"
            yield NamedAgent(name=name, kind="baseline", suite=source.name, about=told, ready=True, why=None)


@app.command()
def tasks(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite.")] = "ehr",
    record: RecordPath = None,
    seed: Seed = None,
    task: TaskNames = None,
    limit: Limit = None,
    per_template: PerTemplate = None,
    lock: LockPath = None,
    kinds: Kinds = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="In the JSON also what is expected; see that no agent reads it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the tasks of a suite."""
    from readback.cli.pages import columns
    from readback.cli.playing import opened, warn_of_undrawn
    from readback.documents import TaskList
    from readback.registry import suite_source
    from readback.running import Options

    source = suite_source(suite)
    options = Options(
        record=None if record is None else str(record), seed=seed, tasks=tuple(task or ()), limit=limit,
        per_template=per_template, lock=None if lock is None else str(lock), kinds=tuple(kinds or ()),
    )  # fmt: skip
    with opened(source, options) as ready:
        undrawn = source.undrawn(ready)
        if as_json:
            hidden = set() if answers else _TELLING
            shown = tuple(one.model_dump(mode="json", exclude=hidden) for one in ready.tasks)
            document(TaskList(suite=ready.name, suite_digest=ready.digest, tasks=shown, undrawn=dict(undrawn)))
            return
        for line in columns((one.id, one.kind, one.instruction) for one in ready.tasks):
            result(line)
        warn_of_undrawn(undrawn)


def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The document; without it, all names.")] = None,
) -> None:
    """Print the JSON Schema of a document."""
    from readback.registry import UnknownNameError
    from readback.schemas import NAMES
    from readback.schemas import schema as schema_of

    if name is None:
        result("\n".join(NAMES))
        return
    if name not in NAMES:
        raise UnknownNameError("schema", name, NAMES, "see readback schema")
    result(json.dumps(schema_of(name), indent=2, ensure_ascii=False))
