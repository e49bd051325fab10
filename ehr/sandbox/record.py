"""A record: an immutable set of FHIR resources at one version, named by its content hash, with its clock.

    record = Record.build(resources, "ward.record", clock="2026-01-15T10:15:00+00:00", synthetic=True)
    record = Record.open("ward.record")
    record.body("Patient", "p1")           # the bytes that came
    fork = record.fork()                   # one episode's private, writable view; nothing is copied

A record may be read from any number of threads and processes at once.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize

from ehr.sandbox.definitions import compartment, parameters
from ehr.sandbox.store.build import Progress, build
from ehr.sandbox.store.index import union
from ehr.sandbox.store.storage import RecordError, RecordFile
from ehr.sandbox.store.stored import StoredIndex

if TYPE_CHECKING:
    from ehr.sandbox.fork import Fork

__all__ = ["Record", "RecordError"]


class Record:
    """See the module. Make one with `open` or `build`."""

    def __init__(self, file: RecordFile, path: Path | None, temporary: Path | None = None) -> None:
        self.file = file
        self.index = StoredIndex(file)
        self.path = path
        """Where it is; `None` for one without a path, which is gone when it is closed."""
        self.hash: str = file.header["hash"]
        """`sha256:` over type, id and bytes of every resource, sorted, and the clock."""
        self.clock: str = file.header["clock"]
        """The present of the record: an ISO instant with zone."""
        self.synthetic = bool(file.header["synthetic"])
        self.largest_id = int(file.header["largest_id"])
        """The largest id that is a number, 0 where there is none."""
        self.counts: Mapping[str, int] = MappingProxyType({type: rows.size for type, rows in file.types.items()})
        """Resource type -> how many, for the types that are there."""
        self.sort_tables: dict[tuple[str, str], Any] = {}
        """What searches keep for sorting by text, see `sorting.py`."""
        self._gone = finalize(self, _let_go, file, temporary)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The record at `path`. Raises `RecordError` for a missing or damaged file, and for another format version."""
        path = Path(path)
        return cls(RecordFile(path), path)

    @classmethod
    def build(
        cls,
        resources: Iterable[bytes | dict[str, Any]],
        path: str | Path | None = None,
        *,
        clock: str,
        synthetic: bool,
        progress: Progress | None = None,
    ) -> Self:
        """A record of these resources (JSON bytes, kept as they are, or dictionaries), written whole to `path`, or
        temporary.

        `clock` is an ISO instant with zone. `progress(stage, done, total)` is called every thousand resources. Raises
        `RecordError` for a resource without valid type and id, for two of one type and id, and for a disk that is full.
        """
        _check_clock(clock)
        if path is not None:
            build(resources, Path(path), clock=clock, synthetic=synthetic, progress=progress)
            return cls.open(path)
        with tempfile.NamedTemporaryFile(prefix="readback-", suffix=".record", delete=False) as file:
            temporary = Path(file.name)
        try:
            build(resources, temporary, clock=clock, synthetic=synthetic, progress=progress)
            return cls(RecordFile(temporary), None, temporary)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def body(self, type: str, id: str) -> bytes | None:
        """The body of a resource as it came; `None` where there is none."""
        row = self.file.row(type, id)
        return None if row is None else self.file.body(row)

    def ids(self, type: str) -> list[str]:
        """The ids of a type, sorted."""
        return [id for (id,) in self.file.all("SELECT id FROM name WHERE type = ? ORDER BY id", (type,))]

    def iterate(self, type: str | None = None) -> Iterator[bytes]:
        """Every body, of one type or of all, in the order of the file: always the same, and telling nothing."""
        for name, (first, size) in self.file.types.items():
            if type is None or name == type:
                for _, body in self.file.bodies(first, size):
                    yield body

    def of_patient(self, patient_id: str, type: str) -> list[bytes]:
        """The bodies of a type that are about a patient (parameter `patient`, else the Patient compartment's)."""
        if type == "Patient":
            body = self.body(type, patient_id)
            return [] if body is None else [body]
        codes = ("patient",) if "patient" in parameters(type) else compartment().get(type, ())
        spaces = [space for code in codes if (space := self.index.space(type, code)) is not None]
        rows = union([space.exact(patient_id, "Patient") for space in spaces])
        return [self.file.body(row) for row in rows.tolist()]

    def fork(
        self,
        setup: Sequence[dict[str, Any] | bytes] = (),
        *,
        clock: str | None = None,
        validation: str = "hapi",
        base: str = "http://fhir.hospital.example/fhir",
    ) -> Fork:
        """One episode's private, writable view, with `setup` laid over the record. Nothing is copied."""
        from ehr.sandbox.fork import Fork

        return Fork(self, setup, clock=clock or self.clock, validation=validation, base=base)

    def verify(self) -> None:
        """Read every body and check the content hash. Raises `RecordError` where the record is not what it was."""
        content = hashlib.sha256()
        for type in sorted(self.file.types):
            for id in self.ids(type):
                body = self.body(type, id) or b""
                content.update(b"%s/%s\0%s" % (type.encode(), id.encode(), hashlib.sha256(body).digest()))
        content.update(self.clock.encode())
        if "sha256:" + content.hexdigest() != self.hash:
            raise RecordError(f"The record {str(self.file.path)!r} is damaged: its content does not have its hash")

    def close(self) -> None:
        """Close the file; a temporary record is removed. Closing twice is harmless."""
        self._gone()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _let_go(file: RecordFile, temporary: Path | None) -> None:
    file.close()
    if temporary is not None:
        temporary.unlink(missing_ok=True)


def _check_clock(clock: str) -> None:
    try:
        aware = datetime.fromisoformat(clock).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise RecordError(f"The clock {clock!r} is no instant with a zone, like 2026-01-15T10:15:00+00:00")
