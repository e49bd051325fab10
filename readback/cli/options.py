"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from readback.cli.numbers import amount, whole


def _file(record: Path | None) -> Path | None:
    if record is not None and str(record).startswith(("http:/", "https:/")):
        raise typer.BadParameter("the address of a live server is for readback run; name a record's file")
    return record


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN", help="The runs' folders.")]
Jobs = Annotated[
    int | None, typer.Option(parser=whole(1, 256), metavar="N", help="Episodes at once; 4 with a model, else 1.")
]
Dollars = Annotated[
    float | None, typer.Option("--budget", parser=amount, metavar="USD", help="Make no model call beyond this.")
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", metavar="MEASURE=RATE", help="Exit 1 where an agent is under it, as success=0.8."),
]
External = Annotated[
    bool, typer.Option("--allow-external", help="Send a record that is not synthetic to a hosted model.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
RecordPath = Annotated[
    Path | None,
    typer.Option(
        "--record", callback=_file, metavar="RECORD", help="The record's file; else the default synthetic one."
    ),
]
CacheMode = Annotated[
    Literal["off", "use", "only"] | None,
    typer.Option("--cache", help="Replies of models kept from earlier: ask always, use them, or use only them."),
]
Seed = Annotated[
    int | None, typer.Option(parser=whole(0), metavar="N", help="The seed the tasks are drawn by; 1 if none.")
]
TaskNames = Annotated[
    list[str] | None, typer.Option("--task", metavar="NAME", help="Only this task, or the tasks of this template.")
]
PerTemplate = Annotated[
    int | None, typer.Option(parser=whole(1), metavar="N", help="Draw so many tasks of each template; 10 if none.")
]
Limit = Annotated[
    int | None, typer.Option(parser=whole(1), metavar="N", help="So many tasks at most, spread over the templates.")
]
LockPath = Annotated[
    Path | None, typer.Option("--lock", metavar="FILE", help="Your own pinned repositories; see docs/repoqa.md.")
]
Counterfactual = Annotated[
    list[int] | None,
    typer.Option("--counterfactual", parser=whole(0), metavar="SEED", help="Play repositories renamed by SEED, too."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kinds", metavar="KIND", help="Also ask for signature, base-class or called-by."),
]
Search = Annotated[bool, typer.Option("--search", help="Give agents a search over the repository.")]
Prices = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Your own prices of models; see docs/agents.md.")
]
FaultNames = Annotated[
    list[str] | None,
    typer.Option("--fault", metavar="NAME", help="Inject this fault; readback list faults. In rows of their own."),
]
Validating = Annotated[
    str | None,
    typer.Option(
        "--validation", metavar="hapi|full", help="What a write must satisfy; full is played beside hapi, to compare."
    ),
]
RecordOrServer = Annotated[
    str | None,
    typer.Option(
        "--record", metavar="RECORD|URL", help="The record's file, or a live server's address; else the default one."
    ),
]
