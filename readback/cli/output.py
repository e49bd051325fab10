"""What a command writes: its result to stdout, everything else to stderr.

A reader that goes away early (`| head`) never ends the command: a run is worth more than its table.
"""

from __future__ import annotations

import json
import os
import sys
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


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text.encode("utf-8", "replace").decode() + "\n")
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
