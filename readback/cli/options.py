"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from readback.cli.numbers import amount, whole

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
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
    Path | None, typer.Option("--record", metavar="RECORD", help="The record's file; else the default synthetic one.")
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
Prices = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Your own prices of models; see docs/agents.md.")
]
