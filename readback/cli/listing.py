"""`readback list suites|agents|tasks` and `readback schema`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from readback.cli.output import document, result

app = typer.Typer(help="List suites, agents or tasks.", no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]


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


def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The document; without it, all names.")] = None,
) -> None:
    """Print the JSON Schema of a document that Readback writes or reads."""
    from readback.registry import UnknownNameError
    from readback.schemas import NAMES
    from readback.schemas import schema as schema_of

    if name is None:
        result("\n".join(NAMES))
        return
    if name not in NAMES:
        raise UnknownNameError("schema", name, NAMES, " (all: readback schema)")
    result(json.dumps(schema_of(name), indent=2, ensure_ascii=False))
