"""A fork: one episode's private, writable view of a record.

    fork = record.fork()
    response = fork.handle(Request("GET", "/Patient?family=okafor"))
    fork.changes()                        # what differs now, net over everything written
    fork.requests                         # every request as it was sent, with its answer

Making one copies nothing. Two forks of one record never see each other; one fork belongs to one episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from ehr.sandbox.body import pretty
from ehr.sandbox.http import Exchange, Request, Response
from ehr.sandbox.outcome import issue, outcome
from ehr.sandbox.rest.rendering import finished
from ehr.sandbox.rest.server import Server
from ehr.sandbox.state import Change, State, Storing, Write

if TYPE_CHECKING:
    from ehr.sandbox.record import Record

VALIDATIONS = ("hapi", "full")


class Fork:
    """See the module. Make one with `Record.fork`.

    `setup` is laid over the record and no part of the changes. `clock` is the present of the episode, `base` the
    server's own address, `validation` what a write must satisfy: `hapi` (what a default HAPI accepts) or `full`.
    """

    def __init__(
        self,
        record: Record,
        setup: Sequence[dict[str, Any] | bytes] = (),
        *,
        clock: str,
        validation: str = "hapi",
        base: str = "http://fhir.hospital.example/fhir",
    ) -> None:
        if validation not in VALIDATIONS:
            raise ValueError(f"validation {validation!r} is not known; there are {', '.join(VALIDATIONS)}")
        if datetime.fromisoformat(clock).tzinfo is None:
            raise ValueError(f"the clock {clock!r} has no zone; write it like 2026-01-15T10:15:00+00:00")
        self.record = record
        self.clock = clock
        self.validation = validation
        self.base = base.rstrip("/")
        self.requests: list[Exchange] = []
        self._answered = 0
        self._state = State(record, setup, clock, validation)
        self._server = Server(self._state, self.base)
        self._lock = Lock()

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        """The server's answer. `by` is who sends it: `agent`, or another writer. Nothing that is sent raises.

        Each request is carried out whole or not at all; requests from several threads wait for each other.
        """
        with self._lock:
            response = self._answer(request, by)
            self._answered += 1
            self.requests.append(
                Exchange(
                    by,
                    request.method,
                    request.path,
                    dict(request.headers),
                    request.body,
                    response.status,
                    dict(response.headers),
                    response.body,
                )
            )
            return finished(request, response)

    def _answer(self, request: Request, by: str) -> Response:
        try:
            return self._server.handle(request, by, self._answered)
        except Exception as fault:  # a fault of the server's own is an answer too, and its text a way to find it
            said = f"{type(fault).__name__}: {fault}"
            body = pretty(outcome(issue("error", "exception", said)))
            return Response(500, {"Content-Type": "application/fhir+json;charset=UTF-8"}, body)

    def forget_requests(self, most: int) -> None:
        """Let go of the log where it is longer than `most`: for a server that runs on and on, whose requests nobody
        executes again. Numbers go on, so that no two searches have one id.
        """
        with self._lock:
            if len(self.requests) > most:
                self.requests.clear()

    def changes(self) -> list[Change]:
        """What differs from the record with its setup, net, in the order in which it was first written.

        The cost grows with what was written only. `meta.versionId` and `meta.lastUpdated` are no difference, and
        neither are decimals of equal value.
        """
        with self._lock:
            return self._state.changes()

    @property
    def writes(self) -> list[Write]:
        """Every write that was carried out, in order, with its writer and the number of its request."""
        return list(self._state.writes)

    def store_by(self, storing: Storing) -> None:
        """Let a storage that fails take the writes from now on: what is acknowledged is not all that it keeps."""
        self._state.storing = storing

    def body(self, type: str, id: str) -> bytes | None:
        """The body of a resource as it stands; `None` where there is none."""
        with self._lock:
            return self._state.overlay.get(type, id)

    def close(self) -> None:
        """Let go of everything; the record stays open."""
        self._state = State(self.record, (), self.clock, self.validation)
        self._server = Server(self._state, self.base)

    def __enter__(self) -> Fork:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
