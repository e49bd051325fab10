"""Writing a record's resources to files, bytes kept: NDJSON or a Bundle, `.gz` by the name.

The same record gives the same bytes: resources come by type and id, archives carry no time. A file appears whole or
not.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

import orjson

from ehr.sandbox.jsontext import one_line
from ehr.sandbox.record import Record
from ehr.sandbox.store.storage import RecordError

__all__ = ["export_bundle", "export_ndjson"]

BASE = "http://fhir.hospital.example/fhir"


def export_ndjson(record: Record, path: str | Path) -> int:
    """One resource a line; into a folder that exists, a file a type. Returns how many resources.

    Raises `RecordError` where the file cannot be written.
    """
    path = Path(path)
    if not path.is_dir():
        with _written(path) as file:
            return _put_lines(file, record, sorted(record.counts))
    number = 0
    for type in sorted(record.counts):
        with _written(path / f"{type}.ndjson") as file:
            number += _put_lines(file, record, [type])
    return number


def export_bundle(
    record: Record, path: str | Path, kind: Literal["transaction", "collection"] = "transaction", base: str = BASE
) -> int:
    """One Bundle: a transaction of PUTs that puts the record on a server, or a collection. Returns how many resources.

    Raises `RecordError` where the file cannot be written.
    """
    number = 0
    with _written(Path(path)) as file:
        file.write(b'{"resourceType":"Bundle","type":%s,"entry":[' % orjson.dumps(kind))
        for type, id, body in _resources(record, sorted(record.counts)):
            name = f"{type}/{id}"
            file.write(b"\n" if number == 0 else b",\n")
            file.write(b'{"fullUrl":%s,"resource":%s' % (orjson.dumps(f"{base}/{name}"), body))
            file.write(b',"request":{"method":"PUT","url":%s}}' % orjson.dumps(name) if kind == "transaction" else b"}")
            number += 1
        file.write(b"\n]}\n")
    return number


def _put_lines(file: IO[bytes], record: Record, types: list[str]) -> int:
    number = 0
    for _, _, body in _resources(record, types):
        file.write(one_line(body) + b"\n")
        number += 1
    return number


def _resources(record: Record, types: list[str]) -> Iterator[tuple[str, str, bytes]]:
    for type in types:
        for id in record.ids(type):
            yield type, id, record.body(type, id) or b""


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which gets its name when all is written."""
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as plain:
            if path.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=plain, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield plain
            plain.flush()
            os.fsync(plain.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise RecordError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
