"""A real HTTP server on the loopback address around anything that answers requests, for tests that need a socket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from ehr.sandbox.http import Request, Response


class Answers(Protocol):
    """What answers: a fork, or a few lines in a test."""

    def handle(self, request: Request, *, by: str = "agent") -> Response: ...


class Loopback:
    """The server: `base` is its address, `handler` may be set after it has begun to listen."""

    def __init__(self) -> None:
        self.handler: Answers | None = None
        outer = self

        class Connection(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet, so that nobody waits for an acknowledgement

            def _answer(self) -> None:
                assert outer.handler is not None
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.removeprefix("/fhir")
                given = outer.handler.handle(Request(self.command, path or "/", dict(self.headers), body))
                self.send_response(given.status)
                for name, value in given.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in given.headers:
                    self.send_header("Content-Length", str(len(given.body)))
                self.end_headers()
                self.wfile.write(given.body)
                self.wfile.flush()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}/fhir"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def loopback(handler: Answers | None = None) -> Iterator[Loopback]:
    server = Loopback()
    server.handler = handler
    try:
        yield server
    finally:
        server.close()
