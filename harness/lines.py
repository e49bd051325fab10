"""A file of JSON lines with keys that outlives its writer: durable appends, torn ends, the last line of a key wins.

Readers keep the places of lines in memory, not the lines, so a file of any size can be read line by line.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic_core import from_json

Key = tuple[str, ...]
KeyOf = Callable[[bytes], Key]
"""Gives the key of a line, or raises `ValueError`, `KeyError` or `TypeError` where it has none."""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""The numbers of errors that say a disk is full."""

_BLOCK = 1 << 16


class BrokenLineError(ValueError):
    """A line that is no JSON or has no key, and is not the torn end of the file; `number` counts lines from 1."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(f"line {number} of {str(path)!r} cannot be read")
        self.path, self.number = path, number


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands in its file, in bytes, without its end."""

    start: int
    length: int


@dataclass(frozen=True, slots=True)
class LineFile:
    """One file. `key_of` gives a line's key; `warn` is told, in one sentence, what was passed over or cut away."""

    path: Path
    key_of: KeyOf
    warn: Callable[[str], None]

    def append(self, lines: Sequence[bytes]) -> None:
        """Add these lines; they are on disk when it returns. Where that fails, none of them is in the file."""
        if not lines:
            return
        with self.path.open("ab", buffering=0) as file:
            end = file.tell()
            try:
                rest = memoryview(b"".join(line + b"\n" for line in lines))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except BaseException:
                # A full disk takes what still fits, and an interrupt leaves what was written: half a line.
                os.truncate(self.path, end)
                raise

    def places(self) -> dict[Key, Place]:
        """Where the last line of each key stands, in the order of the file. Raises `BrokenLineError`."""
        end = self._sound_end()
        torn = self.path.stat().st_size - end
        if torn > 0:
            self.warn(f"{str(self.path)!r} ends in a torn line of {torn} bytes, which was passed over")
        places: dict[Key, Place] = {}
        with self.path.open("rb") as file:
            for number, (place, line) in enumerate(_lines(file, end), 1):
                try:
                    key = self.key_of(line)
                except (ValueError, KeyError, TypeError):
                    raise BrokenLineError(self.path, number) from None
                places.pop(key, None)
                places[key] = place
        return places

    def read(self, places: Iterable[Place]) -> Iterator[bytes]:
        """The lines that stand there."""
        with self.path.open("rb") as file:
            for place in places:
                file.seek(place.start)
                yield file.read(place.length)

    def mend(self) -> None:
        """Cut a torn last line away, and end a sound one that only lacks its end."""
        end = self._sound_end()
        size = self.path.stat().st_size
        if end < size:
            self.warn(f"{str(self.path)!r} ended in a torn line of {size - end} bytes, which was cut away")
            os.truncate(self.path, end)
        elif size and self._last_byte(size) != b"\n":
            with self.path.open("ab") as file:
                file.write(b"\n")

    def arrange(self, places: Sequence[Place]) -> None:
        """Rewrite the file as these lines in this order; nothing is done where it is that already."""
        end = 0
        for place in places:
            if place.start != end:
                write_whole(self.path, (line + b"\n" for line in self.read(places)))
                return
            end = place.start + place.length + 1
        if end != self.path.stat().st_size:
            write_whole(self.path, (line + b"\n" for line in self.read(places)))

    def _last_byte(self, size: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(size - 1)
            return file.read(1)

    def _sound_end(self) -> int:
        """Where the last line ends that is whole: the file's size, or the start of a last line that is no JSON."""
        start = size = self.path.stat().st_size
        tail = b""
        with self.path.open("rb") as file:
            while start > 0 and b"\n" not in tail[:-1]:  # the last line may be longer than a block
                step = min(start, _BLOCK)
                start -= step
                file.seek(start)
                tail = file.read(step) + tail
        begin = tail.rfind(b"\n", 0, len(tail) - 1) + 1
        try:
            from_json(tail[begin:] or b"0")
        except ValueError:
            return start + begin
        return size


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part, also after a power cut.

    Of several that write it at once, the last one has it.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def parts_of(path: Path) -> list[Path]:
    """What those that were killed while they wrote this file whole have left beside it."""
    return list(path.parent.glob(f"{path.name}.*.tmp"))


def _lines(file: IO[bytes], end: int) -> Iterator[tuple[Place, bytes]]:
    start = 0
    for line in file:
        if start >= end:
            return
        text = line.rstrip(b"\n")
        yield Place(start, len(text)), text
        start += len(line)
