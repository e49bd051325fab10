"""The record that is played on where the user names none: synthetic, built once, kept in the user's cache folder.

It is named by everything that it is made of (the generator's own source, its arguments, the format of the file), so a
newer readback builds its own and never plays on another's.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehr.sandbox import Record

Progress = Callable[[str, int, int | None], None]
Say = Callable[[str], None]


class DefaultRecordError(Exception):
    """The cache folder cannot be used. The message is one sentence for the user."""


def cache_folder() -> Path:
    """Where Readback keeps what can be made again: `$XDG_CACHE_HOME/readback`, else `~/.cache/readback`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # By the specification of XDG, a path that is not absolute is to be passed over.
    return (Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()) / "readback"


def default_record(progress: Progress | None = None, *, say: Say = lambda sentence: None) -> Record:
    """The default synthetic record, open; built where it is not there yet or is damaged.

    Raises `DefaultRecordError`.
    """
    from ehr.sandbox import Record
    from ehr.sandbox.store.storage import RecordError
    from ehr.tasks import synthetic

    path = cache_folder() / "records" / f"synthetic-{_made_of()[:16]}.record"
    if path.exists():
        try:
            return Record.open(path)
        except RecordError as problem:
            say(f"{problem}: it is built again")
    say(f"building the default record ({synthetic.PATIENTS} synthetic patients, once) at {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Record.build(
            synthetic.generate(), path, clock=synthetic.CLOCK, synthetic=True, progress=of_resources(progress)
        )
    except (OSError, RecordError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise DefaultRecordError(
            f"the default record cannot be kept in {str(path.parent)!r} ({reason}); set XDG_CACHE_HOME to a folder that"
            " can be written, or build one elsewhere with readback record build and name it with --record"
        ) from problem


def of_resources(progress: Progress | None) -> Progress | None:
    """Progress of a build, its stages named by what they do: `reading resources`."""
    return progress and (lambda stage, done, of: progress(f"{stage} resources", done, of))


def _made_of() -> str:
    """The digest of the generator's source, its default arguments and the file's format."""
    from ehr.sandbox.store.storage import VERSION
    from ehr.tasks import synthetic

    made_of = hashlib.sha256(repr((VERSION, synthetic.PATIENTS, synthetic.SEED, synthetic.CLOCK)).encode())
    for source in sorted(_sources(resources.files("ehr.tasks.synthetic")), key=lambda source: source.name):
        made_of.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return made_of.hexdigest()


def _sources(folder: Traversable) -> list[Traversable]:
    return [entry for entry in folder.iterdir() if entry.name.endswith(".py")]
