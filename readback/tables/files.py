"""Frames as files: CSV, or Parquet with the extra `polars`. One file a frame; each whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.lines import write_whole
from readback.tables.frames import Frame, Kind

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the start of a formula."""


class MissingExtraError(ValueError):
    """An extra is not installed. One sentence, with how to install it."""


def write_csv(frames: Sequence[Frame], folder: Path) -> list[Path]:
    """Write each frame as `NAME.csv` (UTF-8, a head, RFC 4180), and return where they are.

    A text that a spreadsheet would calculate has an apostrophe before it: what agents say must not act there.
    """
    return [_written(folder / f"{frame.name}.csv", _csv(frame)) for frame in frames]


def write_parquet(frames: Sequence[Frame], folder: Path) -> list[Path]:
    """Write each frame as `NAME.parquet`, typed, and return where they are. Raises `MissingExtraError`."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            "Parquet needs the extra polars, which is not installed; pip install 'readback-bench[polars]', or write"
            " --csv DIR"
        ) from None
    types: Mapping[Kind, Any] = {
        "text": polars.String, "whole": polars.Int64, "number": polars.Float64, "truth": polars.Boolean,
    }  # fmt: skip
    written = []
    for frame in frames:
        schema = {name: types[kind] for name, kind in frame.columns.items()}
        table = polars.DataFrame([dict(row) for row in frame.rows], schema=schema)
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        written.append(_written(folder / f"{frame.name}.parquet", [buffer.getvalue()]))
    return written


def _written(path: Path, chunks: Sequence[bytes] | Iterator[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, chunks)
    return path


def _csv(frame: Frame) -> Iterator[bytes]:
    kinds = frame.columns
    yield _line(list(kinds))
    for row in frame.rows:
        yield _line([_WRITTEN[kind](row[name]) for name, kind in kinds.items()])


def _line(cells: Sequence[str]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerow(cells)
    return stream.getvalue().encode("utf-8", "replace")


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _number(value: Any) -> str:
    return "" if value is None else repr(value)


def _truth(value: Any) -> str:
    return "" if value is None else ("true" if value else "false")


_WRITTEN: Mapping[Kind, Callable[[Any], str]] = {
    "text": _text, "whole": _number, "number": _number, "truth": _truth,
}  # fmt: skip
