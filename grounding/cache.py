"""What was read once is not read again: results kept by the content they were made from, up to a bound."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")

ENTRIES = 4096
"""How many results are kept where nothing else is said; one of a source file takes some tens of kilobytes."""


class Cache:
    """The results that were used last, at most `entries` of them. Safe to use from several threads."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._kept: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result kept under `key`, else `make()`, which is then kept. Keys begin with the name of who makes them.

        Two threads may make the same result at once; what `make` gives must depend on the key alone.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast(T, self._kept[key])
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
        return made

    def __len__(self) -> int:
        return len(self._kept)


def content_key(text: str) -> bytes:
    """16 bytes that stand for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_shared: Cache | None = None


def shared_cache() -> Cache:
    """The cache of this process, for whoever has none of their own."""
    global _shared
    if _shared is None:
        _shared = Cache()
    return _shared
