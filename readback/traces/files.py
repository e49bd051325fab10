"""Files of traces: which there are, and each trace in them in turn, so that memory holds one at a time.

A `.json` file is one trace (or a list of some), a `.jsonl` file one a line; a file of single messages, one a line, is
one trace. In a folder every such file counts, at any depth; of a run's folder only its episodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness.plain import clean
from readback.traces.chat import is_message, read_chat
from readback.traces.own import is_own, read_own
from readback.traces.trace import RecordedTrace, TraceError

LARGEST = 256 * 1024 * 1024
"""Bytes of one trace at most."""

_ENDINGS = (".json", ".jsonl", ".ndjson")
_LINES = (".jsonl", ".ndjson")
_DEEPEST = 500


@dataclass(frozen=True, slots=True)
class Found:
    """A trace, and the file it stands in."""

    file: str
    trace: RecordedTrace


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a line of one (counted from 1), that holds no trace; `said` is a sentence that names it."""

    file: str
    line: int | None
    said: str


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """The files that these files and folders stand for, folders in order of name.

    Raises `TraceError`, a sentence, for a path that is neither, and for a folder without such a file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = _inside(path)
            if not inside:
                raise TraceError(f"{str(path)!r} holds no file of traces; expected {', '.join(_ENDINGS)}")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise TraceError(f"there is no {str(path)!r}; name a file or folder of traces")
    return files


def find_traces(file: Path) -> Iterator[Found | Problem]:
    """The traces of one file in order, and what in it is none. Raises nothing for what the file holds."""
    try:
        if file.suffix.lower() in _LINES:
            yield from _from_lines(file)
        else:
            yield from _from_whole(file)
    except OSError as error:
        yield Problem(str(file), None, f"{str(file)!r} cannot be read: {error.strerror or error}")


def _inside(folder: Path) -> list[Path]:
    found = []
    for where, folders, names in os.walk(folder):
        folders.sort()
        here = Path(where)
        if "run.json" in names and "episodes.jsonl" in names:
            found.append(here / "episodes.jsonl")
            folders.clear()
            continue
        found += [here / name for name in sorted(names) if name.lower().endswith(_ENDINGS)]
    return [path for path in found if path.is_file() or not path.exists()]  # no pipe, in which nothing may ever come


def _from_whole(file: Path) -> Iterator[Found | Problem]:
    with file.open("rb") as opened:  # a pipe or a device does not say how long it is
        is_longer = file.stat().st_size > LARGEST
        data = b"" if is_longer else opened.read(LARGEST + 1)
    if is_longer or len(data) > LARGEST:
        yield _problem(file, None, f"has more than {LARGEST:,} bytes; split it into one trace a file")
        return
    try:
        value = _parsed(data)
    except TraceError as error:
        first = data.strip().partition(b"\n")[0]
        if first.rstrip().endswith(b"}") and _is_json(first):  # one trace a line, under another name
            yield from _from_lines(file)
        else:
            yield _problem(file, None, str(error))
        return
    if _is_list_of_traces(value):
        for number, item in enumerate(value, 1):
            yield _found(file, item, f"{file.stem}:{number}", None)
        return
    yield _found(file, value, file.stem, None)


def _is_list_of_traces(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) for item in value)
        and not any(is_message(item) or "role" in item for item in value)
    )


def _from_lines(file: Path) -> Iterator[Found | Problem]:
    messages: list[Any] = []
    with file.open("rb") as lines:
        for number, line in enumerate(_bounded(lines), 1):
            if line is None:
                yield _problem(file, number, f"has more than {LARGEST:,} bytes")
                continue
            if not line.strip():
                continue
            try:
                value = _parsed(line)
            except TraceError as error:
                yield _problem(file, number, str(error))
                continue
            if is_message(value):
                messages.append(value)
            else:
                yield _found(file, value, f"{file.stem}:{number}", number)
    if messages:
        yield _found(file, messages, file.stem, None)


def _bounded(file: Any) -> Iterator[bytes | None]:
    """The lines of a file, None for one that is too long."""
    while line := file.readline(LARGEST + 1):
        if len(line) <= LARGEST:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST)
        yield None


def _found(file: Path, value: Any, name: str, line: int | None) -> Found | Problem:
    try:
        return Found(str(file), read_own(value) if is_own(value) else read_chat(value, name))
    except TraceError as error:
        return _problem(file, line, str(error))


def _problem(file: Path, line: int | None, what: str) -> Problem:
    where = str(file) if line is None else f"{file}:{line}"
    return Problem(str(file), line, f"{where!r} {what}")


def _parsed(data: bytes) -> Any:
    """The JSON value. What Python wrote counts as JSON too: NaN, a byte order mark, halves of surrogate pairs.

    The halves become the replacement character: nothing that holds one can be written again.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            return _cleaned(json.loads(data.decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            raise TraceError(f"is no JSON ({_lower(str(error))})") from None


def _cleaned(value: Any, depth: int = _DEEPEST) -> Any:
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {clean(key): _cleaned(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    return clean(value) if isinstance(value, str) else value


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
