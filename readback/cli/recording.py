"""`readback record build|import|export|info`: the records that tasks are played on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.counted import counted
from readback.cli.ending import Mistake
from readback.cli.numbers import whole
from readback.cli.options import Json
from readback.cli.output import document, note, result
from readback.cli.playing import warn
from readback.cli.progress import stages

if TYPE_CHECKING:
    from ehr.sandbox import Record

app = typer.Typer(help="Build, import, export and describe records.", no_args_is_help=True, rich_markup_mode=None)

Out = Annotated[Path | None, typer.Option("--out", metavar="RECORD", help="The record's file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")]
RecordPath = Annotated[Path, typer.Argument(metavar="RECORD", help="The record's file.")]

_FOLDER = Path("records")


@app.command()
def build(
    patients: Annotated[int | None, typer.Option(parser=whole(1), metavar="N", help="How many patients.")] = None,
    seed: Annotated[int | None, typer.Option(parser=whole(0), metavar="N", help="The seed; 1 if none.")] = None,
    preset: Annotated[str | None, typer.Option(help="A record of a known shape: default or medagentbench.")] = None,
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Build a synthetic record: nobody in it is real."""
    from ehr.sandbox import Record
    from ehr.tasks import synthetic
    from readback.records import of_resources
    from readback.registry import UnknownNameError

    seed = synthetic.SEED if seed is None else seed
    clock = synthetic.CLOCK
    if preset is not None:
        if preset not in synthetic.PRESETS:
            raise UnknownNameError("preset", preset, synthetic.PRESETS)
        if patients is not None:
            raise Mistake(f"--preset {preset} fixes the number of patients; leave out --patients {patients}")
        made, clock, name = synthetic.preset(preset, seed=seed), synthetic.PRESETS[preset], preset
    else:
        patients = synthetic.PATIENTS if patients is None else patients
        made, name = synthetic.generate(patients=patients, seed=seed), f"synthetic-{patients}"
    path = out or _FOLDER / f"{name}-seed{seed}.record"
    _refuse_taken(path, force)
    path.parent.mkdir(parents=True, exist_ok=True)
    with stages() as progress:
        record = Record.build(made, path, clock=clock, synthetic=True, progress=of_resources(progress))
    with record:
        _describe(record, path, as_json)
    _suggest(path)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="FHIR Bundles, NDJSON files, or folders of them; also .gz.")
    ],
    out: Out = None,
    clock: Annotated[
        str | None,
        typer.Option(metavar="INSTANT", help="The record's present, an ISO instant with zone; else its latest time."),
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Nobody in it is real: it may be sent to a hosted model.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import resources from files: all of them, or none."""
    from ehr.sandbox import Record
    from ehr.sandbox.files.load import load
    from harness.visible import in_line
    from readback.records import of_resources

    path = out or _FOLDER / f"{_stem(paths[0])}.record"
    _refuse_taken(path, force)
    with stages() as progress:
        loaded = load(paths, progress=of_resources(progress))
    if not loaded.count:
        raise Mistake(
            f"there is no resource in {', '.join(repr(str(path)) for path in paths)}; name files that hold some"
        )
    now = clock or loaded.clock
    if now is None:
        raise Mistake("nothing in these files says a time; name the record's present with --clock INSTANT")
    path.parent.mkdir(parents=True, exist_ok=True)
    with stages() as progress:
        record = Record.build(
            loaded.resources(), path, clock=now, synthetic=synthetic, progress=of_resources(progress)
        )  # fmt: skip
    with record:
        _describe(record, path, as_json)
    if loaded.unresolved:
        several = ", ".join(in_line(reference) for reference, _ in loaded.unresolved.most_common(3))
        broken = counted(len(loaded.unresolved), "reference names", "references name")
        warn(
            f"{broken} nothing that was loaded, such as {several}; a server like HAPI refuses every update of what"
            " holds one, so import what they name, too"
        )
    _suggest(path)


def _stem(path: Path) -> str:
    """The name of a file or folder without its endings."""
    return path.resolve().name.partition(".")[0] or "imported"


@app.command()
def info(
    record: RecordPath,
    check: Annotated[bool, typer.Option("--check", help="Read every resource and check the content hash.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a record holds."""
    from ehr.sandbox import Record

    with Record.open(record) as opened:
        if check:
            opened.verify()
        _describe(opened, record, as_json)


@app.command()
def export(
    record: RecordPath,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file, .gz to compress; stdout if none.")
    ] = None,
    type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only resources of this type.")] = None,
    force: Force = False,
) -> None:
    """Write a record's resources as NDJSON, their bytes as they came."""
    from ehr.sandbox import Record
    from ehr.sandbox.files.export import export_ndjson, write_ndjson
    from readback.registry import UnknownNameError

    with Record.open(record) as opened:
        if type is not None and type not in opened.counts:
            raise UnknownNameError(
                f"resource in {str(record)!r} of type", type, opened.counts, f"see readback record info {record}"
            )
        if out is None:
            write_ndjson(opened, sys.stdout.buffer, type)
            return
        _refuse_taken(out, force)
        count = export_ndjson(opened, out, type)
    note(f"{count:,} resources written to {out}")


def _refuse_taken(path: Path, force: bool) -> None:
    """A file that is there is not replaced unless it is asked for."""
    if path.is_dir():
        raise Mistake(f"{str(path)!r} is a folder; name a file with --out")
    if path.exists() and not force:
        raise Mistake(f"{str(path)!r} is there already; name another with --out, or replace it with --force")


def _describe(record: Record, path: Path, as_json: bool) -> None:
    from readback.cli.pages import columns
    from readback.documents import RecordInfo

    described = RecordInfo(
        path=str(path),
        hash=record.hash,
        clock=record.clock,
        synthetic=record.synthetic,
        resources=sum(record.counts.values()),
        counts=dict(record.counts),
        bytes=path.stat().st_size,
    )
    if as_json:
        document(described)
        return
    result(f"record     {path}")
    result(f"hash       {described.hash}")
    result(f"clock      {described.clock}")
    result(f"synthetic  {'yes' if described.synthetic else 'no: it is not sent to a hosted model'}")
    result(f"size       {described.bytes / 1e6:,.1f} MB, {described.resources:,} resources")
    for line in columns((type, f"{count:>9,}") for type, count in described.counts.items()):
        result(f"  {line}")


def _suggest(path: Path) -> None:
    note(f"run the tasks on it with: readback run ehr --record {path}")
