"""`readback serve`: a record, or sessions over a suite, for programs that speak FHIR over HTTP."""

from __future__ import annotations

import errno
import itertools
import socket as sockets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.counted import counted
from readback.cli.ending import DONE, Mistake
from readback.cli.numbers import amount, whole
from readback.cli.options import PerTemplate, RecordPath, Seed, TaskNames
from readback.cli.output import note, result
from readback.cli.playing import conclude, opened, refuse_no_task, warn

if TYPE_CHECKING:
    from ehr.tasks.suite import EhrSuite
    from harness.runfolder import RunFolder
    from readback.running import Options

_RUNS = Path("runs")


def serve(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="ehr serves sessions; without it, the record alone.")
    ] = None,
    record: RecordPath = None,
    seed: Seed = None,
    task: TaskNames = None,
    per_template: PerTemplate = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; others reach the record if it is not loopback.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(parser=whole(0, 65535), metavar="N", help="The port; 0 takes a free one.")
    ] = 8080,
    minutes: Annotated[float, typer.Option(parser=amount, metavar="M", help="How long a session is open.")] = 60.0,
    out: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The run that sessions are kept in; else runs/SUITE-N.")
    ] = None,
) -> int:
    """Serve a record as a FHIR server, or sessions on tasks.

    Sessions are for agents that are written elsewhere. Without a suite there is one record, under /fhir; what is
    written lives in memory and is gone at the end.
    """
    from readback.running import Options

    if suite is not None and suite != "ehr":
        raise Mistake(f"{suite!r} cannot be served; serve ehr, or the record alone by leaving it out")
    options = Options(
        record=None if record is None else str(record), seed=seed, tasks=tuple(task or ()), per_template=per_template
    )
    with _listening(host, port) as (socket, address):
        if suite is None:
            if out is not None:
                raise Mistake("--out is for sessions: readback serve ehr --out RUN")
            return _serve_record(record, socket, address)
        return _serve_sessions(options, socket, address, out, timedelta(minutes=minutes))


@contextmanager
def _listening(host: str, port: int) -> Iterator[tuple[sockets.socket, str]]:
    from ehr.serve import is_loopback, listening

    if not is_loopback(host):
        warn(f"it listens on {host!r}: whoever reaches this machine can read and write the record")
    try:
        listener = listening(host, port)
        reached = listener.__enter__()
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        is_no_address = isinstance(problem, sockets.gaierror) or getattr(problem, "errno", None) == errno.EADDRNOTAVAIL
        other = (
            "an address of this machine with --host" if is_no_address else "another with --port, or 0 for a free one"
        )
        raise Mistake(f"cannot listen on {host}:{port} ({reason}); name {other}") from None
    try:
        yield reached
    finally:
        listener.__exit__(None, None, None)


def _serve_record(path: Path | None, socket: sockets.socket, address: str) -> int:
    from ehr.sandbox import Record
    from ehr.serve import record_app, run
    from readback.cli.progress import stages
    from readback.records import default_record

    with stages() as progress:
        record = default_record(progress, say=note) if path is None else Record.open(path)
    with record:
        result(f"{address}/fhir")
        note(
            f"{sum(record.counts.values()):,} resources; it is {record.clock} there. What is written lives in memory."
            " Ctrl-C ends it."
        )
        run(record_app(record, address), socket)
    return DONE


def _serve_sessions(
    options: Options, socket: sockets.socket, address: str, out: Path | None, lifetime: timedelta
) -> int:
    from typing import cast

    from ehr.serve import run, sessions_app
    from ehr.sessions import Sessions
    from readback.registry import suite_source

    source = suite_source("ehr")
    with opened(source, options) as ready:
        refuse_no_task(ready, source.undrawn(ready))
        suite = cast("EhrSuite", ready)
        with _folder(suite, options, out) as folder:
            sessions = Sessions(suite, folder, address, lifetime=lifetime)
            result(address)
            note(f"{counted(len(suite.tasks), 'task')}; sessions are kept in {folder.path}. Ctrl-C ends it.")
            note(
                "  open one:   readback session open TASK"
                + ("" if address.endswith(":8080") else f" --server {address}")
            )
            try:
                run(sessions_app(sessions), socket)
            finally:
                sessions.close()
            if any(True for _ in folder.episodes()):
                conclude(folder, [], as_json=False)
    return DONE


def _folder(suite: EhrSuite, options: Options, out: Path | None) -> RunFolder:
    """The run's folder: a new one, or one of sessions over the same tasks, to go on with."""
    from ehr.sessions import about_sessions
    from harness.runfolder import RunFolder

    if out is not None and (out / "run.json").exists():
        folder = RunFolder.append(out, warn=warn)
        if folder.about.get("sessions") and folder.about.get("suite_digest") == suite.digest:
            return folder
        folder.close()
        raise Mistake(f"{str(out)!r} is no run of sessions over these tasks; name another with --out")
    about = about_sessions(suite, command=["readback", *sys.argv[1:]], options=options.model_dump(mode="json"))
    free = (_RUNS / f"{suite.name}-{number}" for number in itertools.count(1))
    path = out or next(path for path in free if not path.exists())
    return RunFolder.create(path, about, suite.tasks, warn=warn)
