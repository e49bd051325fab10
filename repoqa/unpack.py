"""Unpacks what came from elsewhere into a folder, or leaves nothing behind.

An archive is data of strangers. Refused, with one sentence each: a path that is absolute, climbs out, or cannot be a
file's name; two entries of one path; a link that points outside; devices and the like; too many entries, a file or a
whole that is too large, and what is far larger than its archive. Links that point inside are left out: they would show
the same file twice. Everything is written to a folder beside the target, which takes its name only when all is there.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import posixpath
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

MAX_ENTRIES = 20_000
MAX_FILE = 32 * 2**20
MAX_TOTAL = 256 * 2**20
MAX_RATIO = 100
"""How many times its archive's size the content may be, beyond `FREE_SIZE`. Source code packs to about a fifth."""
FREE_SIZE = 8 * 2**20
MAX_PATH = 1_000
MAX_NAME = 255
_BLOCK = 1 << 16

Kind = Literal["file", "folder", "link", "other"]


class UnpackError(Exception):
    """An archive that is refused. The message is one sentence; nothing was left behind."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as its source names it. `target` is where a link points, `open` gives a file's bytes, once."""

    path: str
    kind: Kind
    size: int = 0
    target: str | None = None
    content: IO[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was written: the number of files, their bytes, and the links that were left out."""

    files: int
    size: int
    links: tuple[str, ...]


def unpack(entries: Iterable[Entry], target: Path, what: str) -> Unpacked:
    """Write the entries below `target`, which must not exist. `what` names the source in sentences.

    Raises `UnpackError`; then `target` does not exist, and nothing else is left.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        done = _write_all(entries, part, what)
        _only_folder(part).replace(target)
        return done
    finally:
        shutil.rmtree(part, ignore_errors=True)


def archive_entries(archive: Path, what: str) -> Iterator[Entry]:
    """The entries of a `.tar.gz`, read in one pass. Raises `UnpackError` where it is none, or too large unpacked."""
    limit = min(MAX_TOTAL, FREE_SIZE + MAX_RATIO * archive.stat().st_size)
    with _whole(what), gzip.open(archive, "rb") as raw:
        bounded = _Bounded(raw, limit, what)
        with tarfile.open(fileobj=bounded, mode="r|", errorlevel=2) as tar:  # type: ignore[call-overload]
            for member in tar:
                yield _entry(member, tar)


@contextlib.contextmanager
def _whole(what: str) -> Iterator[None]:
    """Whatever the readers of archives say about one that is broken, as an `UnpackError`."""
    try:
        yield
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, OverflowError) as problem:
        raise UnpackError(f"{what} is no whole .tar.gz archive ({problem}); fetch it again") from None


def confined(path: str, what: str) -> str:
    """An entry's path as it may be written, relative and without dots. Raises `UnpackError`."""
    shown = repr(path if len(path) <= 120 else path[:120] + "…")
    if not path or "\0" in path or len(path) > MAX_PATH:
        raise UnpackError(f"{what} holds the path {shown}, which cannot be a file's; it is refused")
    if path.startswith(("/", "\\")) or path[1:2] == ":":
        raise UnpackError(f"{what} holds the absolute path {shown}; it is refused")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\\" in path:
        raise UnpackError(f"{what} holds the path {shown}, which leads elsewhere; it is refused")
    if not all(_can_be_name(part) for part in parts):
        raise UnpackError(f"{what} holds the path {shown}, which cannot be a file's; it is refused")
    return "/".join(parts)


def _can_be_name(part: str) -> bool:
    try:
        return len(part.encode()) <= MAX_NAME and not any(ord(character) < 32 for character in part)
    except UnicodeEncodeError:
        return False


def _entry(member: tarfile.TarInfo, tar: tarfile.TarFile) -> Entry:
    if member.isdir():
        return Entry(member.name, "folder")
    if member.issym():
        return Entry(member.name, "link", target=posixpath.join(posixpath.dirname(member.name), member.linkname))
    if member.islnk():
        return Entry(member.name, "link", target=member.linkname)
    if member.isreg() and not member.issparse():
        return Entry(member.name, "file", size=member.size, content=tar.extractfile(member))
    return Entry(member.name, "other")


def _write_all(entries: Iterable[Entry], part: Path, what: str) -> Unpacked:
    kinds: dict[str, Kind] = {}
    links: list[str] = []
    files = size = 0
    for number, entry in enumerate(entries, 1):
        if number > MAX_ENTRIES:
            raise UnpackError(f"{what} has more than {MAX_ENTRIES:,} entries; it is refused")
        path = confined(entry.path, what)
        if not path:
            continue
        if entry.kind == "other":
            raise UnpackError(f"{what} holds {path!r}, which is neither a file nor a folder nor a link; it is refused")
        if entry.kind == "link":
            _refuse_outside(path, entry.target or "", what)
            links.append(path)
            continue
        _claim(kinds, path, entry.kind, what)
        if entry.kind == "folder":
            (part / path).mkdir(parents=True, exist_ok=True)
            continue
        with _whole(what):  # an entry's bytes are read here
            written = _write(entry, part / path, path, MAX_TOTAL - size, what)
        files, size = files + 1, size + written
    if not files:
        raise UnpackError(f"{what} holds no file; fetch it again")
    return Unpacked(files, size, tuple(links))


def _claim(kinds: dict[str, Kind], path: str, kind: Kind, what: str) -> None:
    """Two entries never share a path, and no file is another one's folder."""
    above = path
    while "/" in above:
        above = above.rpartition("/")[0]
        if kinds.setdefault(above, "folder") != "folder":
            raise UnpackError(f"{what} holds {above!r} as a file and as a folder; it is refused")
    before = kinds.setdefault(path, kind)
    if before != kind:
        raise UnpackError(f"{what} holds {path!r} as a file and as a folder; it is refused")
    if kind == "file" and f"\0{path}" in kinds:
        raise UnpackError(f"{what} holds {path!r} twice; it is refused")
    if kind == "file":
        kinds[f"\0{path}"] = "file"


def _refuse_outside(path: str, target: str, what: str) -> None:
    resolved = posixpath.normpath(target) if target else ".."
    inside_top = resolved.split("/")[0] == path.split("/")[0] or "/" not in path
    if target.startswith("/") or "\0" in target or resolved.split("/")[0] == ".." or not inside_top:
        raise UnpackError(f"{what} holds the link {path!r}, which points outside; it is refused")


def _write(entry: Entry, target: Path, path: str, room: int, what: str) -> int:
    if entry.size > MAX_FILE:
        raise UnpackError(f"{what} holds {path!r} of {entry.size:,} bytes, over {MAX_FILE:,}; it is refused")
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(target, flags, 0o644)
    except FileExistsError:  # on a disk that folds case
        raise UnpackError(
            f"{what} holds {path!r} and another that this disk takes for the same; it is refused"
        ) from None
    with os.fdopen(handle, "wb") as file:
        while entry.content is not None and (block := entry.content.read(_BLOCK)):
            written += len(block)
            if written > MAX_FILE or written > room:
                raise UnpackError(
                    f"{what} holds more than {MAX_TOTAL:,} bytes, or a file over {MAX_FILE:,}; it is refused"
                )
            file.write(block)
    return written


def _only_folder(part: Path) -> Path:
    """The one folder that everything stands in, as in every source distribution; else all of it."""
    found = list(part.iterdir())
    return found[0] if len(found) == 1 and found[0].is_dir() else part


class _Bounded:
    """A stream that ends in an error when more comes out of an archive than may."""

    def __init__(self, raw: gzip.GzipFile, limit: int, what: str) -> None:
        self._raw, self._left, self._limit, self._what = raw, limit, limit, what

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise UnpackError(f"{self._what} unpacks to more than {self._limit:,} bytes; it is refused")
        return data

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._raw.close()
