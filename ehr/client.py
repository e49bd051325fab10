"""A FHIR client over `requests`: the same one for a fork in this process and for a server over HTTP.

    client = FhirClient(fork.base, adapter=ForkAdapter(fork))      # a fork, without a socket
    client = FhirClient("http://127.0.0.1:8080/fhir")              # HAPI, or any other server
    client.read("Patient", "p17").body["birthDate"]

It never follows redirects, takes nothing from the environment (no proxy, no .netrc), keeps no cookies between calls,
asks past caches (`Cache-Control: no-cache`) and reads no more than `limit` bytes of an answer. Numbers keep their
digits: a decimal is a `Written`, so 1.00 stays 1.00 wherever it is shown.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import orjson
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from ehr.sandbox.http import Request, Response
from harness.plain import Written

if TYPE_CHECKING:
    from requests import PreparedRequest

TIMEOUT = 30.0
"""Seconds for a whole answer."""

LIMIT = 20_000_000
"""Bytes of an answer, unpacked."""

FHIR_JSON = "application/fhir+json"
JSON_PATCH = "application/json-patch+json"

_READ = {"Accept": FHIR_JSON, "Cache-Control": "no-cache"}
_WRITE = {"Accept": FHIR_JSON}


class ClientError(Exception):
    """The server could not be reached, or broke off; one sentence that names the address."""


class ClientTimeoutError(ClientError):
    """The answer did not come in time."""


class TooLargeError(ClientError):
    """The answer is larger than the client reads."""


class Handler(Protocol):
    """What answers requests without a socket: a fork of a record, or anything else of that shape."""

    @property
    def base(self) -> str:
        """The address that resources stand below."""
        ...

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        """The answer to one request."""
        ...


@dataclass(frozen=True)
class Reply:
    """One answer: status, headers (looked up in any case), and the body as raw bytes and as parsed JSON."""

    status: int
    headers: Mapping[str, str]
    raw: bytes = b""

    @cached_property
    def body(self) -> Any:
        """The parsed body; the text where it is no JSON; None where there is none."""
        if not self.raw:
            return None
        try:
            return parsed(self.raw)
        except ValueError:
            return self.raw.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status < 400


def parsed(raw: bytes | str) -> Any:
    """JSON with decimals as `Written`. Raises `ValueError` for what is no JSON, or nested beyond all reason."""
    try:
        return _DECODER.decode(raw if isinstance(raw, str) else raw.decode())
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_float=Written, parse_constant=_no_number)


def dumped(value: Any) -> bytes:
    """A resource or patch as the bytes to send; a `Written` with its digits. Half surrogate pairs become `?`.

    Raises `ValueError` for what JSON cannot hold.
    """
    if isinstance(value, bytes):
        return value
    try:
        return orjson.dumps(value, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:  # a half pair, or a number of more than 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8", "replace")


def _as_written(value: Any) -> Any:
    if isinstance(value, Written):
        return orjson.Fragment(value.digits)
    raise TypeError(f"{value!r} has no place in JSON")


class FhirClient:
    """Speaks FHIR to the server at `base`. For one thread; `adapter` answers in place of a socket."""

    def __init__(
        self, base: str, *, adapter: BaseAdapter | None = None, timeout: float = TIMEOUT, limit: int = LIMIT
    ) -> None:
        self.base = base.rstrip("/")
        self.timeout, self.limit = timeout, limit
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers = CaseInsensitiveDict({"User-Agent": "readback"})
        if adapter is None:
            self._session.headers["Accept-Encoding"] = "gzip"
        else:
            self._session.adapters.clear()  # nothing but this base can be reached
            self._session.mount(self.base, adapter)

    def close(self) -> None:
        """Let the connections go."""
        self._session.close()

    def send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Reply:
        """One request to `path` below the base (`/Patient?name=ada`), and its answer whatever its status.

        Raises `ClientTimeoutError`, `TooLargeError`, or `ClientError` where there is no whole answer.
        """
        url = self.base + path
        deadline = time.monotonic() + self.timeout
        try:
            with self._session.request(
                method, url, headers=headers, data=body, timeout=self.timeout, allow_redirects=False, stream=True
            ) as answer:
                raw = self._whole(answer, url, deadline)
                return Reply(answer.status_code, answer.headers, raw)
        except requests.Timeout as error:
            raise ClientTimeoutError(f"{url} did not answer within {self.timeout:g} s") from error
        except requests.RequestException as error:
            raise ClientError(f"{method} {url} failed: {error}") from error
        finally:
            self._session.cookies.clear()

    def _whole(self, answer: requests.Response, url: str, deadline: float) -> bytes:
        chunks, size = [], 0
        for chunk in answer.iter_content(1 << 16):
            chunks.append(chunk)
            size += len(chunk)
            if size > self.limit:
                raise TooLargeError(f"the answer of {url} is larger than {self.limit} bytes")
            if time.monotonic() > deadline:
                raise ClientTimeoutError(f"{url} did not answer within {self.timeout:g} s")
        return b"".join(chunks)

    # reading

    def get(self, path: str) -> Reply:
        """A read of any path below the base, past caches."""
        return self.send("GET", path, headers=_READ)

    def read(self, type: str, id: str, version: str | None = None) -> Reply:
        """One resource, or one version of it."""
        history = "" if version is None else f"/_history/{segment(version)}"
        return self.get(f"/{segment(type)}/{segment(id)}{history}")

    def search(self, type: str, parameters: Mapping[str, str | Iterable[str]]) -> Reply:
        """A search; a list of values repeats the parameter."""
        return self.get(f"/{segment(type)}{query(parameters)}")

    # writing

    def create(self, type: str, resource: Any, *, if_none_exist: str | None = None) -> Reply:
        """Create a resource; with `if_none_exist`, only where that search finds none."""
        headers = {"If-None-Exist": if_none_exist} if if_none_exist is not None else {}
        return self._write("POST", f"/{segment(type)}", resource, FHIR_JSON, headers)

    def update(self, type: str, id: str, resource: Any, *, if_match: str | None = None) -> Reply:
        """Put a whole resource in place of what is there."""
        return self._write("PUT", f"/{segment(type)}/{segment(id)}", resource, FHIR_JSON, _matching(if_match))

    def patch(self, type: str, id: str, patch: Any, *, if_match: str | None = None) -> Reply:
        """Change a resource by JSON Patch (a list of operations) or FHIRPath Patch (a Parameters resource)."""
        sent = dumped(patch)
        kind = JSON_PATCH if sent.lstrip()[:1] == b"[" else FHIR_JSON
        return self._write("PATCH", f"/{segment(type)}/{segment(id)}", sent, kind, _matching(if_match))

    def delete(self, type: str, id: str) -> Reply:
        """Delete a resource."""
        return self.send("DELETE", f"/{segment(type)}/{segment(id)}", headers=_WRITE)

    def transact(self, bundle: Any) -> Reply:
        """Send a batch or transaction Bundle."""
        return self._write("POST", "", bundle, FHIR_JSON, {})

    def _write(self, method: str, path: str, content: Any, kind: str, headers: Mapping[str, str]) -> Reply:
        return self.send(method, path, headers={**_WRITE, "Content-Type": kind, **headers}, body=dumped(content))


class ForkAdapter(BaseAdapter):
    """Lets `requests` reach a fork in this process: mount it on the fork's base. Requests are logged as `by` said."""

    def __init__(self, handler: Handler, *, by: str = "agent") -> None:
        super().__init__()
        self._handler, self._by = handler, by
        self._root = len(urlsplit(handler.base).path.rstrip("/"))

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Answer a prepared request from the fork."""
        body = request.body or b""
        sent = Request(
            request.method or "GET",
            request.path_url[self._root :] or "/",
            dict(request.headers),
            body if isinstance(body, bytes) else str(body).encode(),
        )
        given = self._handler.handle(sent, by=self._by)
        answer = requests.Response()
        answer.status_code = given.status
        answer.headers = CaseInsensitiveDict(given.headers)
        answer.raw = io.BytesIO(given.body)
        answer.url, answer.request = request.url or "", request
        return answer

    def close(self) -> None:
        """Nothing is held open."""


def segment(text: str) -> str:
    """A text as one segment of a path: nothing in it can end the segment or climb out of it.

    Raises `ValueError` for the segments that cannot be encoded, because every client takes them away: ``, `.`, `..`.
    """
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no segment of a path")
    return quote(text, safe="$", errors="replace")


def query(parameters: Mapping[str, str | Iterable[str]]) -> str:
    """The query string of search parameters, with its question mark; empty where there are none."""
    pairs = [
        (name, value)
        for name, values in parameters.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return "?" + urlencode(pairs, errors="replace") if pairs else ""


def _matching(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"If-Match": if_match}
