"""A reply comes whole within its time and a bounded size, or not at all.

The time-outs of an HTTP library are for each read: a server that keeps sending a byte now and then, as some do while
their model thinks, would hold an episode beyond its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx2

REPLY_LIMIT = 64 << 20
"""Bytes of a reply as sent, at most."""

PACKED_LIMIT = REPLY_LIMIT >> 8
"""Bytes of a packed reply as sent, at most: unpacked it may be a thousand times as much. None is asked for."""

_BEGAN = "readback_began"

C = TypeVar("C", bound=httpx2.Client)


def with_bounded_replies(client: C, *, monotonic: Callable[[], float] = time.monotonic) -> C:
    """`client`, whose time-out for reading holds for a whole reply from now on, and no longer for each read alone.

    Beyond it, `ReadTimeout` is raised as by the library itself; beyond `REPLY_LIMIT` (`PACKED_LIMIT`), `ReadError`.
    """

    def begin(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, _BEGAN: monotonic()}
        request.headers["Accept-Encoding"] = "identity"

    def bound(response: httpx2.Response) -> None:
        extensions = response.request.extensions
        seconds = extensions.get("timeout", {}).get("read")
        limit = REPLY_LIMIT if response.headers.get("content-encoding", "identity") == "identity" else PACKED_LIMIT
        if seconds is not None and isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Bounded(response.stream, limit, extensions[_BEGAN] + seconds, monotonic)

    client.event_hooks["request"].append(begin)
    client.event_hooks["response"].append(bound)
    return client


class _Bounded(httpx2.SyncByteStream):
    """A body that ends in an error where it takes too long or grows too large."""

    def __init__(
        self, stream: httpx2.SyncByteStream, limit: int, until: float, monotonic: Callable[[], float]
    ) -> None:  # fmt: skip
        self._stream = stream
        self._limit = limit
        self._until = until
        self._monotonic = monotonic

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > self._limit:
                raise httpx2.ReadError(f"the reply has more than {self._limit} bytes")
            if self._monotonic() >= self._until:
                raise httpx2.ReadTimeout("the reply was not whole in time")
            yield part

    def close(self) -> None:
        self._stream.close()
