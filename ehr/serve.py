"""A server on this machine: one record under `/fhir`, or sessions for agents written elsewhere.

    with listening("127.0.0.1", 8080) as (socket, address):
        run(record_app(record, address), socket)

It listens where it is told, which is loopback unless somebody says otherwise. On loopback it answers only to requests
that name this machine, and to no web page of another: neither a name that leads here nor a script in a browser may
read a record. Bodies are bounded, credentials that come with a request are dropped, and no fault of ours is told.
"""

from __future__ import annotations

import ipaddress
import json
import signal
import socket as sockets
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Asked
from starlette.responses import JSONResponse
from starlette.responses import Response as Answer
from starlette.routing import Route

from ehr.sandbox.body import pretty
from ehr.sandbox.http import Request, Response
from ehr.sessions import SessionError

if TYPE_CHECKING:
    from ehr.sandbox import Record
    from ehr.sessions import Sessions
    from harness.values import Value

HOST, PORT = "127.0.0.1", 8080
"""Where it listens, if nobody says otherwise."""
LONGEST_BODY = 16 * 1024 * 1024
"""Bytes of a FHIR request's body."""
LONGEST_JSON = 1024 * 1024
"""Bytes of what opens or finishes a session."""
LONGEST_LOG = 1000
"""Requests that the one fork of a plain server remembers."""

_DROPPED = frozenset({"authorization", "proxy-authorization", "cookie", "connection", "transfer-encoding"})
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

Handle = Callable[[Request], Response]


@contextmanager
def listening(host: str = HOST, port: int = PORT) -> Iterator[tuple[sockets.socket, str]]:
    """A socket that listens, and the address it is reached at; port 0 takes a free one. Raises `OSError`."""
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    # With its protocol named, answers are sent at once: else each would wait for an acknowledgement, 40 ms.
    with sockets.socket(family, sockets.SOCK_STREAM, sockets.IPPROTO_TCP) as socket:
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        socket.bind((host, port))
        socket.listen(512)
        shown = f"[{host}]" if ":" in host else host
        yield socket, f"http://{shown}:{socket.getsockname()[1]}"


def run(app: Starlette, socket: sockets.socket, *, ready: Callable[[Any], None] = lambda server: None) -> None:
    """Answer until Ctrl-C or SIGTERM. `ready` is given the server; its `should_exit` ends it from another thread."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none",
        timeout_graceful_shutdown=5, h11_max_incomplete_event_size=64 * 1024,
    )  # fmt: skip
    server = uvicorn.Server(config)
    ready(server)
    with _ended_by_signals():
        server.run(sockets=[socket])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """The server sends the signal that ended it once more when it is down: that is the end, and no fault."""
    if threading.current_thread() is not threading.main_thread():  # there are no signals elsewhere
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def record_app(record: Record, address: str) -> Starlette:
    """One fork of the record under `/fhir`. What is written lives in memory, and is gone when the server ends."""
    fork = record.fork(base=f"{address}/fhir")

    def handle(request: Request) -> Response:
        response = fork.handle(request)
        fork.forget_requests(LONGEST_LOG)
        return response

    async def fhir(asked: Asked) -> Answer:
        return await _carried_out(asked, "/fhir", handle)

    async def root(asked: Asked) -> Answer:
        about = {"format": "readback.server/1", "fhir": f"{address}/fhir", "record": record.hash, "clock": record.clock}
        return JSONResponse(about)

    routes = [
        Route("/", root),
        Route("/fhir", fhir, methods=_METHODS),
        Route("/fhir/{rest:path}", fhir, methods=_METHODS),
    ]
    return _guarded(routes, address, f"FHIR is below {address}/fhir")


def sessions_app(sessions: Sessions) -> Starlette:
    """`GET /tasks`, `POST /sessions`, `POST /sessions/<id>/finish`, and each session's FHIR below its own address."""

    async def root(asked: Asked) -> Answer:
        suite = sessions.suite
        return JSONResponse({"format": "readback.server/1", "suite": suite.name, "suite_digest": suite.digest})

    async def tasks(asked: Asked) -> Answer:
        return _document(sessions.tasks())

    async def open(asked: Asked) -> Answer:
        body = await _json(asked)
        return _document(await run_in_threadpool(sessions.open, body), 201)

    async def finish(asked: Asked) -> Answer:
        body = await _json(asked)
        return _document(await run_in_threadpool(sessions.finish, asked.path_params["id"], body))

    async def fhir(asked: Asked) -> Answer:
        secret = asked.path_params["secret"]
        try:
            return await _carried_out(asked, f"/f/{secret}/fhir", lambda request: sessions.fhir(secret, request))
        except SessionError as problem:
            return _outcome(problem.status, str(problem))

    routes = [
        Route("/", root),
        Route("/tasks", tasks),
        Route("/sessions", open, methods=["POST"]),
        Route("/sessions/{id}/finish", finish, methods=["POST"]),
        Route("/f/{secret}/fhir", fhir, methods=_METHODS),
        Route("/f/{secret}/fhir/{rest:path}", fhir, methods=_METHODS),
    ]
    return _guarded(
        routes, sessions.address,
        "GET /tasks lists the tasks, POST /sessions opens one, and its base_url is the address of its FHIR server",
    )  # fmt: skip


async def _carried_out(asked: Asked, prefix: str, handle: Handle) -> Answer:
    """A FHIR request as it was sent below the prefix, and its answer."""
    body = await _body(asked, LONGEST_BODY)
    if body is None:
        return _outcome(413, f"A body may have {LONGEST_BODY} bytes")
    raw = asked.scope.get("raw_path") or asked.scope["path"].encode()
    path = raw.decode("latin-1").partition("?")[0]
    if not path.startswith(prefix):  # the way here is written as it is told, not with escapes
        return _outcome(404, f"The address begins with {prefix}")
    path = path.removeprefix(prefix)
    query = asked.scope["query_string"].decode("latin-1")
    headers = {name: value for name, value in asked.headers.items() if name not in _DROPPED}
    request = Request(asked.method, f"{path}?{query}" if query else path or "/", headers, body)
    given = await run_in_threadpool(handle, request)
    return Answer(given.body, given.status, {n: v for n, v in given.headers.items() if n.lower() != "content-length"})


async def _body(asked: Asked, most: int) -> bytes | None:
    """The request's body; None where it is longer than allowed."""
    chunks, size = [], 0
    async for chunk in asked.stream():
        size += len(chunk)
        if size > most:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


async def _json(asked: Asked) -> Any:
    body = await _body(asked, LONGEST_JSON)
    if body is None:
        raise SessionError(413, f"a body may have {LONGEST_JSON} bytes here")
    try:
        return json.loads(body) if body else {}
    except (ValueError, RecursionError):
        raise SessionError(400, "the body is no JSON; send an object") from None


def _document(value: Value, status: int = 200) -> Answer:
    return Answer(value.line(), status, media_type="application/json")


def _outcome(status: int, said: str) -> Answer:
    issue = {"severity": "error", "code": "processing", "diagnostics": said}
    body = pretty({"resourceType": "OperationOutcome", "issue": [issue]})
    return Answer(body, status, {"Content-Type": "application/fhir+json;charset=UTF-8"})


# ---- who may ask

Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class _Guard:
    """Lets through what names this machine and does not come from a web page of another."""

    def __init__(self, app: Asgi, *, own: str) -> None:
        self._app = app
        self._is_open = not is_loopback(own)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._is_open:
            headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
            refusal = _refusal(headers)
            if refusal is not None:
                await JSONResponse({"error": refusal}, 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _refusal(headers: Sequence[tuple[str, str]]) -> str | None:
    hosts = [value for name, value in headers if name == "host"]
    if not hosts or not all(is_loopback(_host(f"//{host}")) for host in hosts):
        return "this server answers to its own address only, such as 127.0.0.1"
    if not all(is_loopback(_host(value)) for name, value in headers if name == "origin"):
        return "this server does not answer to web pages of other machines"
    return None


def _host(address: str) -> str:
    """The host in an address; none where it is no address."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _guarded(routes: list[Route], address: str, way: str) -> Starlette:
    """`way` is told to whoever asks for what is not there."""
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware

    async def said(asked: Asked, problem: Exception) -> Answer:
        assert isinstance(problem, SessionError)
        return JSONResponse({"error": str(problem)}, problem.status)

    async def unknown(asked: Asked, problem: Exception) -> Answer:
        assert isinstance(problem, HTTPException)
        what = f"{asked.method} {asked.url.path[:200]}: {problem.detail}"
        return JSONResponse({"error": f"{what}; {way}"}, problem.status_code)

    async def gone(asked: Asked, problem: Exception) -> Answer:
        return Answer(status_code=400)  # heard by nobody: who asked hung up in the middle of the body

    async def fault(asked: Asked, problem: Exception) -> Answer:
        return JSONResponse({"error": "this is a fault of the server's own; its terminal says more"}, 500)

    return Starlette(
        routes=routes,
        middleware=[Middleware(_Guard, own=urlsplit(address).hostname or "")],
        exception_handlers={SessionError: said, HTTPException: unknown, ClientDisconnect: gone, Exception: fault},
    )
