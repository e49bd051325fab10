"""Requests, responses and what was exchanged, as plain values: the sandbox speaks HTTP without a socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def header(headers: Mapping[str, str], name: str) -> str | None:
    """The value of a header, whatever the case in which its name is written."""
    if name in headers:
        return headers[name]
    wanted = name.lower()
    for key, value in headers.items():
        if key.lower() == wanted:
            return value
    return None


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is what stands below the base address, with the query: `/Patient?name=ada`."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header, whatever the case in which its name is written."""
        return header(self.headers, name)


@dataclass(frozen=True, slots=True)
class Response:
    """One answer. Header names are written as HAPI writes them (`Content-Type`, `ETag`)."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header, whatever the case in which its name is written."""
        return header(self.headers, name)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it was sent, who sent it, and its answer. Bodies are bytes, `response` without compression."""

    by: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int
    response_headers: Mapping[str, str]
    response: bytes

    @property
    def request(self) -> Request:
        """The request alone, to send it once more."""
        return Request(self.method, self.path, self.headers, self.body)
