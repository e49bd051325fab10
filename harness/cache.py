"""Replies of models, kept in one SQLite file, so that a run can be made again without asking (or paying) again.

The key is everything that the reply depends on: provider, base URL, model, the whole request (prompt, tools, settings,
history), and the number of the repeat, so that repeats do not share one reply. Requests and replies are kept as JSON;
nothing is pickled, nothing is evaluated. What is there is never replaced: of two that ask at once, both get the first.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic_core import from_json

from harness.plain import shown
from harness.values import canonical, digest

T = TypeVar("T")

Mode = Literal["off", "use", "only"]
"""`off`: ask always, keep nothing. `use`: take what is there; ask for the rest and keep it. `only`: never ask."""

EXPLAINED = 100
"""Kept requests that an explanation looks at."""

_VERSION = 1
_LOGGED_PAGES = 16_000  # of 4 kB, before the log is put into the file, for which all wait
_LEVEL = 1  # three times as fast as the usual level, for a tenth more bytes
_BUSY_SECONDS = 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, provider TEXT NOT NULL, base_url TEXT NOT NULL, model TEXT NOT NULL, repeat INTEGER NOT NULL,
    request BLOB NOT NULL, reply BLOB NOT NULL
) WITHOUT ROWID
"""


class CacheError(ValueError):
    """A cache file that cannot be used; the message is one sentence."""


class CacheMissError(LookupError):
    """A request that is not there although nothing may be asked; the message says how it differs from the nearest."""


@dataclass(frozen=True)
class Question:
    """One request to a model, with all that its reply depends on. The request must not be changed afterwards."""

    provider: str
    base_url: str
    model: str
    request: Mapping[str, Any]
    repeat: int

    @cached_property
    def written(self) -> bytes:
        """The request as canonical JSON: it is long, and written once for the key and for keeping it."""
        return canonical(self.request)

    @cached_property
    def key(self) -> str:
        """The digest of all of it, as of `[provider, base_url, model, request, repeat]`."""
        head = canonical([self.provider, self.base_url, self.model])[:-1]
        return digest(b"%b,%b,%d]" % (head, self.written, self.repeat))

    @property
    def whole(self) -> dict[str, Any]:
        """All of it, to be compared."""
        return {
            "provider": self.provider, "base_url": self.base_url, "model": self.model, "repeat": self.repeat,
            "request": dict(self.request),
        }  # fmt: skip


class Cache:
    """The replies in one file. Safe for any number of threads and processes at once."""

    def __init__(self, path: Path | str, mode: Mode = "use") -> None:
        """Open the file, or make it. Raises `CacheError` where it is no cache of this version."""
        self.path = Path(path)
        self.mode = mode
        if mode == "only" and not self.path.exists():
            raise CacheError(f"there is no cache at {str(self.path)!r} to answer from; make one in the mode 'use'")
        self._lock = threading.Lock()
        self._connection = None if mode == "off" else _open_to_read(self.path) if mode == "only" else _open(self.path)
        if self._connection is not None:  # whoever forgets to close it leaves no open file behind
            weakref.finalize(self, self._connection.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def get(self, question: Question) -> dict[str, Any] | None:
        """The reply, or None where it has to be asked. Raises `CacheMissError` in the mode `only`."""
        found = self._rows("SELECT reply FROM replies WHERE key = ?", question.key)
        if found:
            return _unpacked(found[0][0])
        if self.mode == "only":
            raise CacheMissError(f"the cache {str(self.path)!r} has no reply to this request: {self.explain(question)}")
        return None

    def put(self, question: Question, reply: dict[str, Any]) -> dict[str, Any]:
        """Keep the reply, and give back what is kept: the first one, where another was quicker."""
        row = (
            question.key, question.provider, question.base_url, question.model, question.repeat,
            _packed(question.written), _packed(canonical(reply)),
        )  # fmt: skip
        if self._is_new("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", *row):
            return reply
        kept = self._rows("SELECT reply FROM replies WHERE key = ?", question.key)
        return _unpacked(kept[0][0]) if kept else reply

    def explain(self, question: Question) -> str:
        """In one clause, how this request differs from the nearest of those that are there.

        Compared are the `EXPLAINED` that are likest in provider, model, base URL, repeat and length.
        """
        wanted = question.whole
        nearest: list[str] | None = None
        for provider, base_url, model, repeat, request in self._rows(
            "SELECT provider, base_url, model, repeat, request FROM replies ORDER BY (provider = ?) + (model = ?) +"
            " (base_url = ?) + (repeat = ?) DESC, abs(length(request) - ?) LIMIT ?",
            question.provider, question.model, question.base_url, question.repeat, len(_packed(question.written)),
            EXPLAINED,
        ):  # fmt: skip
            kept = Question(provider, base_url, model, _unpacked(request), repeat).whole
            differences = list(_differences(kept, wanted, ""))
            if not differences:
                return "it is there"
            if nearest is None or len(differences) < len(nearest):
                nearest = differences
        if nearest is None:
            return "nothing is there yet"
        more = f" (and {len(nearest) - 3} more)" if len(nearest) > 3 else ""
        return f"the nearest differs in {'; '.join(nearest[:3])}{more}"

    def __len__(self) -> int:
        """How many replies are there."""
        rows = self._rows("SELECT count(*) FROM replies")
        return int(rows[0][0]) if rows else 0

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._done(statement, values, lambda cursor: cursor.fetchall()) or []

    def _is_new(self, statement: str, *values: Any) -> bool:
        return self._done(statement, values, lambda cursor: cursor.rowcount == 1) or False

    def _done(self, statement: str, values: tuple[Any, ...], outcome: Callable[[sqlite3.Cursor], T]) -> T | None:
        """What came of a statement; None where nothing is kept at all."""
        if self._connection is None:
            return None
        try:
            with self._lock:
                return outcome(self._connection.execute(statement, values))
        except sqlite3.Error as problem:
            raise CacheError(f"the cache {str(self.path)!r} cannot be used: {problem}") from None


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Opened as ever, or, where nothing may be written beside the file, as one that nobody changes."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _open(path)
    return _open(path, f"{path.resolve().as_uri()}?immutable=1")


def _open(path: Path, uri: str | None = None) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Each statement is a transaction of its own; the lock of `Cache` keeps the threads apart.
        connection = sqlite3.connect(
            uri or path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri is not None
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as problem:
        raise CacheError(f"the cache {str(path)!r} cannot be used: {problem}") from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version not in (0, _VERSION) or not tables <= {"replies"}:
        raise CacheError(f"{str(path)!r} is no cache of this version of readback; name another file")
    _write_quickly(connection)
    connection.execute(_TABLE)
    if version != _VERSION:
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _write_quickly(connection: sqlite3.Connection) -> None:
    """Let a log beside the file take each reply without a sync of its own, which costs more than asking a quick server.

    Whatever happens to this process nothing is lost; where the power fails, the last replies may be asked again.
    """
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOGGED_PAGES}")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with contextlib.suppress(sqlite3.OperationalError):  # another process is at it: then it is slower, no more
            connection.execute("PRAGMA journal_mode = WAL")


def _packed(written: bytes) -> bytes:
    return zlib.compress(written, _LEVEL)


def _unpacked(packed: bytes) -> dict[str, Any]:
    value: dict[str, Any] = from_json(zlib.decompress(packed))
    return value


def _differences(kept: Any, wanted: Any, path: str) -> Iterator[str]:
    if isinstance(kept, dict) and isinstance(wanted, dict):
        for key in sorted(kept.keys() | wanted.keys()):
            yield from _differences(kept.get(key), wanted.get(key), f"{path}.{key}" if path else key)
    elif isinstance(kept, list) and isinstance(wanted, list):
        for place in range(max(len(kept), len(wanted))):
            left = kept[place] if place < len(kept) else None
            right = wanted[place] if place < len(wanted) else None
            yield from _differences(left, right, f"{path}[{place}]")
    elif kept != wanted:
        yield f"{path} ({_shown_difference(kept, wanted)})"


def _shown_difference(kept: Any, wanted: Any) -> str:
    """Both values, from where they part if they are long texts."""
    if isinstance(kept, str) and isinstance(wanted, str):
        same = next(
            (n for n, (a, b) in enumerate(zip(kept, wanted, strict=False)) if a != b), min(len(kept), len(wanted))
        )
        start = max(0, same - 10)
        return f"{shown(kept[start:], 40)}, now {shown(wanted[start:], 40)}"
    return f"{shown(kept, 40)}, now {shown(wanted, 40)}"
