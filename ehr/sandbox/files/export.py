"""Writing a record's resources as NDJSON: one a line, bytes kept, in the order of the record.

The same record gives the same bytes: an archive carries no time. A file appears whole or not.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ehr.sandbox.jsontext import one_line
from ehr.sandbox.record import Record
from ehr.sandbox.store.storage import RecordError

__all__ = ["export_ndjson", "write_ndjson"]


def export_ndjson(record: Record, path: Path, type: str | None = None) -> int:
    """All resources, or those of a type, into a file; packed where its name ends in `.gz`. Returns how many.

    Raises `RecordError` where the file cannot be written.
    """
    try:
        with _whole(path) as file:
            return write_ndjson(record, file, type)
    except OSError as error:
        raise RecordError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


def write_ndjson(record: Record, file: IO[bytes], type: str | None = None) -> int:
    """All resources, or those of a type, to an open file. Returns how many."""
    number = 0
    for body in record.iterate(type):
        file.write((one_line(body) if b"\n" in body or b"\r" in body else body) + b"\n")
        number += 1
    file.flush()
    return number


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when all of it is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as plain:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=plain, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield plain
            plain.flush()
            os.fsync(plain.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
