"""The application: every command under its name, and what becomes of a command's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from readback.cli import (
    annotating,
    comparing,
    experimenting,
    grounding,
    judging,
    listing,
    recording,
    reporting,
    repositories,
    running,
    scoring,
    serving,
    sessions,
    showing,
    validating,
    verifying,
)
from readback.cli.ending import DONE, INCOMPLETE
from readback.cli.faults import explain
from readback.cli.output import mend_streams, note, result

app = typer.Typer(
    name="readback",
    help="Measures whether tool-using agents did what they say they did, by reading the record back.",
    epilog="Exit codes: 0 done, 1 threshold missed or something disagrees, 2 usage, 3 incomplete or unscored episodes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        result(f"readback {version('readback-bench')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command("run")(running.run)
app.command("resume")(running.resume)
app.command("score")(scoring.score)
app.command("show")(showing.show)
app.command("report")(reporting.report)
app.command("compare")(comparing.compare)
app.command("experiment")(experimenting.experiment)
app.command("judge")(judging.judge)
app.command("annotate")(annotating.annotate)
app.command("validate")(validating.validate)
app.command("verify")(verifying.verify)
app.command("serve")(serving.serve)
app.add_typer(sessions.app, name="session")
app.add_typer(recording.app, name="record")
app.add_typer(repositories.app, name="repos")
app.add_typer(listing.app, name="list")
app.command("ground")(grounding.ground)
app.command("schema")(listing.schema)

_INTERRUPTED = 130  # what typer makes of Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises."""
    mend_streams()
    try:
        code = app(arguments, prog_name="readback", standalone_mode=False)
    except typer.TyperException as problem:  # wrong options and arguments
        return _usage(problem)
    except typer.Abort:
        code = _INTERRUPTED
    except SystemExit as end:  # typer's own, at a broken pipe
        return end.code if isinstance(end.code, int) else DONE
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as exception:
        return explain(exception)
    if code == _INTERRUPTED:
        note("readback: interrupted")
        return INCOMPLETE
    return int(code or DONE)


def _usage(problem: typer.TyperException) -> int:
    context = getattr(problem, "ctx", None)
    message = problem.format_message().replace("Value error, ", "")  # an error's class, and nothing to a user
    if type(problem).__name__ == "NoArgsIsHelpError":  # its message is the help
        note(message)
        return problem.exit_code
    path = context.command_path if context is not None else "readback"
    joint = " See" if message.endswith("?") else "; see"
    note(f"readback: {message[:1].lower()}{message[1:].rstrip('.')}{joint} {path} --help")
    return problem.exit_code
