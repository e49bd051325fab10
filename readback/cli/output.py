"""What a command writes: its result to stdout, everything else to stderr.

A reader that goes away early (`| head`) never ends the command: a run is worth more than its table.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from harness.values import Value


def result(text: str = "") -> None:
    """A line, or lines, of the result."""
    _write(sys.stdout, text)


def document(value: Value | dict[str, Any]) -> None:
    """The one JSON document of `--json`."""
    _write(sys.stdout, json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value.line())


def note(text: str) -> None:
    """A line about the work: progress, a warning, a next step."""
    _write(sys.stderr, text)


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody is looking: then progress may be drawn, and colours used."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def mend_streams() -> None:
    """Let stdout and stderr take whatever is written to them.

    One that the process was started without leads nowhere; one that knows few letters gets escapes for the others.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open as long as the process lives
        elif isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def programs_print_to_stderr() -> Iterator[None]:
    """While it lasts, what programs of others print is no result of ours, and what they close stays open."""
    open_still = _Unclosed(sys.stderr)
    with redirect_stdout(open_still), redirect_stderr(open_still):
        yield


class _Unclosed(io.TextIOBase):
    """A stream that is written to like another, and is not closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Leave it open: it is not the program's."""

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    @property
    def buffer(self) -> Any:
        """Bytes, for programs that print them."""
        return self._stream.buffer


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text.encode("utf-8", "replace").decode() + "\n")
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
