"""Requests per second through `readback serve`, over real HTTP on loopback, with 1, 4 and 8 clients.

    python -m benchmarks.serve                 # on the default synthetic record
    python -m benchmarks.serve ward.record     # on another

Each client has one connection that is kept open. The server is a process of its own; the clients share the other cores.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 3.0
CLIENTS = (1, 4, 8)


@dataclass(frozen=True)
class ServeRate:
    """Requests per second of so many clients, and milliseconds until an answer is whole."""

    what: str
    clients: int
    per_second: float
    p50: float
    p99: float


@contextmanager
def serving(record: str | None = None) -> Iterator[str]:
    """`readback serve` in a process of its own; its base address."""
    command = [
        sys.executable,
        "-c",
        "import sys; from readback.cli import main; sys.exit(main())",
        "serve",
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        command + (["--record", record] if record else []), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


Send = Callable[[http.client.HTTPConnection], None]


def rate(base: str, what: str, send: Send, clients: int, seconds: float = SECONDS) -> ServeRate:
    """How fast `send` goes with so many clients at once."""
    times: list[list[float]] = [[] for _ in range(clients)]
    until = time.perf_counter() + seconds

    def work(number: int) -> None:
        place = urlsplit(base)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        while (start := time.perf_counter()) < until:
            send(connection)
            times[number].append(1000 * (time.perf_counter() - start))
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    every = sorted(value for one in times for value in one)
    return ServeRate(what, clients, len(every) / took, statistics.median(every), every[int(0.99 * (len(every) - 1))])


def sending(base: str, method: str, path: str, body: bytes | None = None) -> Send:
    """One request, as a client sends it."""
    root = urlsplit(base).path
    headers = {"Content-Type": "application/fhir+json", "Cache-Control": "no-cache"}

    def send(connection: http.client.HTTPConnection) -> None:
        connection.request(method, root + path, body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, (method, path, answer.status)

    return send


def asked(base: str, path: str) -> dict[str, Any]:
    """A document of the server."""
    place = urlsplit(base)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    connection.request("GET", place.path + path)
    document: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return document


def requests_of(base: str) -> dict[str, Send]:
    """The four requests that are measured, on the patient of the first Observation."""
    row = asked(base, "/Observation?_count=1")["entry"][0]["resource"]
    patient = row["subject"]["reference"].partition("/")[2]
    code = row["code"]["coding"][0]["code"]
    body = {key: row[key] for key in ("resourceType", "status", "code", "subject", "effectiveDateTime") if key in row}
    search = f"/Observation?patient={patient}&code={code}&date=ge2000-01-01&_sort=-date&_count=20"
    return {
        "read": sending(base, "GET", f"/Patient/{patient}"),
        "search": sending(base, "GET", search),
        "create": sending(base, "POST", "/Observation", json.dumps(body).encode()),
    }


def measure(record: str | None = None) -> list[ServeRate]:
    """Every request with every number of clients."""
    with serving(record) as base:
        return [rate(base, what, send, clients) for what, send in requests_of(base).items() for clients in CLIENTS]


if __name__ == "__main__":
    for row in measure(sys.argv[1] if len(sys.argv) > 1 else None):
        print(json.dumps({key: round(v, 2) if isinstance(v, float) else v for key, v in asdict(row).items()}))
