"""`readback repos sync|verify|list`: the pinned repositories that questions are asked about."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from readback.cli.ending import DONE, INCOMPLETE, MISSED, Mistake
from readback.cli.options import Json, LockPath
from readback.cli.output import document, note, result
from readback.cli.progress import Meter, stages

if TYPE_CHECKING:
    from pathlib import Path

    from readback.documents import RepositoryLine
    from repoqa.fetch import Repository
    from repoqa.lockfile import Lock, Pin

app = typer.Typer(help="Bring, check and list the pinned repositories.", no_args_is_help=True, rich_markup_mode=None)

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Repositories; all if none.")]


@app.command()
def sync(
    names: Names = None,
    lock: LockPath = None,
    again: Annotated[bool, typer.Option("--again", help="Bring also what is here already.")] = False,
    as_json: Json = False,
) -> int:
    """Bring the pinned repositories, each verified."""
    from harness.visible import visible
    from readback.documents import RepositoryState, RepositoryStates
    from repoqa.fetch import forget
    from repoqa.fetch import sync as bring

    chosen, cache = _chosen(lock, names)
    if again:
        for pin in chosen.repositories:
            forget(pin, cache)
    with stages() as progress:
        done = bring(chosen, cache, progress=progress)
    failed = [one for one in done if one.problem]
    if as_json:
        states = (
            RepositoryState(
                name=one.pin.name, version=one.pin.version, ok=not one.problem, new=one.new, why=one.problem
            )
            for one in done
        )
        document(RepositoryStates(repositories=tuple(states)))
    else:
        for one in done:
            state = "brought" if one.new else "here already"
            result(f"{one.pin.name} {one.pin.version}: {visible(one.problem) if one.problem else state}")
    if failed:
        others = "; the others are here" if len(failed) < len(done) else ""
        note(f"{len(failed)} of {len(done)} repositories could not be brought{others}.")
    else:
        which = "The repository is" if len(done) == 1 else f"All {len(done)} repositories are"
        note(f"{which} here. Ask about {'it' if len(done) == 1 else 'them'} with: readback run repoqa{_lock(lock)}")
    return INCOMPLETE if failed else DONE


@app.command()
def verify(names: Names = None, lock: LockPath = None, as_json: Json = False) -> int:
    """Check that what is here is what was pinned, byte for byte."""
    from readback.documents import RepositoryState, RepositoryStates
    from repoqa.fetch import verify as check

    chosen, cache = _chosen(lock, names)
    states = []
    with Meter("verifying", len(chosen.repositories), unit="repositories") as meter:
        for number, pin in enumerate(chosen.repositories, 1):
            why = check(pin, cache)
            states.append(RepositoryState(name=pin.name, version=pin.version, ok=why is None, new=False, why=why))
            meter.at(number)
    if as_json:
        document(RepositoryStates(repositories=tuple(states)))
    else:
        for state in states:
            result(f"{state.name} {state.version}: {'as pinned' if state.ok else state.why}")
    if lock is not None and not all(state.ok for state in states):
        note(f"Bring what is not as pinned with: readback repos sync{_lock(lock)} (--again where it is here)")
    return DONE if all(state.ok for state in states) else MISSED


@app.command("list")
def list_(names: Names = None, lock: LockPath = None, as_json: Json = False) -> None:
    """List the pinned repositories: bucket, licence, size, symbols."""
    from readback.cli.pages import columns
    from readback.documents import RepositoryList
    from repoqa.fetch import shipped_repository

    chosen, cache = _chosen(lock, names)
    pins = (*chosen.repositories, *([] if names else [shipped_repository().pin]))
    with Meter("reading", len(pins), unit="repositories") as meter:
        listed = []
        for number, pin in enumerate(pins, 1):
            listed.append(_listed(pin, cache))
            meter.at(number)
    if as_json:
        document(RepositoryList(lock=chosen.digest, repositories=tuple(listed)))
        return
    head = ["name", "version", "bucket", "popularity", "licence", "files", "MB", "public symbols", "defined once"]
    for line in columns([head, *map(_cells, listed)], right=range(5, len(head))):
        result(line)
    missing = sum(not one.here for one in listed)
    if missing:
        note(f"{missing} of {len(listed)} are not here; bring them by readback repos sync{_lock(lock)}")


def _cells(one: RepositoryLine) -> list[str]:
    said = [one.name, one.version, one.bucket, one.figure.partition(" (")[0], one.licence]
    if not one.here:
        return [*said, "not here", "", "", ""]
    return [*said, f"{one.files:,}", f"{(one.bytes or 0) / 1e6:.2f}", f"{one.public:,}", f"{one.once:,}"]


def _lock(path: Path | None) -> str:
    """The option that names a lock file, as a shell takes it."""
    return f" --lock {quote(str(path))}" if path is not None else ""


def _chosen(path: Path | None, names: list[str] | None) -> tuple[Lock, Path]:
    from readback.records import cache_folder
    from readback.registry import UnknownNameError
    from readback.suites.repoqa import lock_of

    lock = lock_of(path)
    known = {pin.name for pin in lock.repositories}
    for name in names or ():
        if name not in known:
            raise UnknownNameError("pinned repository", name, known)
    if names:
        kept = tuple(pin for pin in lock.repositories if pin.name in names)
        if not kept:
            raise Mistake("no repository is named; leave the names out for all")
        lock = lock.model_copy(update={"repositories": kept})
    return lock, cache_folder()


def _listed(pin: Pin, cache: Path) -> RepositoryLine:
    from readback.documents import RepositoryLine
    from repoqa.fetch import present

    repository = present(pin, cache)
    facts = _facts(repository, cache) if repository is not None else {}
    return RepositoryLine(
        name=pin.name,
        version=pin.version,
        bucket=pin.bucket,
        figure=f"{pin.popularity.figure} ({pin.popularity.source}, {pin.popularity.date})",
        licence=pin.licence,
        released=pin.released,
        first_released=pin.first_released,
        unknown=pin.unknown,
        here=repository is not None,
        **facts,
    )


def _facts(repository: Repository, cache: Path) -> dict[str, int]:
    from repoqa.fetch import size_of
    from repoqa.suite import open_repository

    files, size = size_of(repository)
    catalog = open_repository(repository, cache).catalog
    return {
        "files": files, "bytes": size, "public": catalog.public, "once": len(catalog.entries),
        "unparsed": len(catalog.unparsed),
    }  # fmt: skip
