"""The world of one EHR episode: the tools over a fork, and what the fork can say afterwards, checked three ways.

The self-check (it guards against our own faults, not the agent's): the fork's change log, the client's own reads of
every changed resource, and a re-execution of the raw write requests on a fresh fork must agree. Counting rules:

- Reads are done after the episode as `by="check"`; they are not among the requests of the evidence.
- A created or updated resource must read with 200 and exactly the bytes' content that the log says, its version
  included; a deleted one with 410 or 404.
- Every request but GET and HEAD is executed again, in order, by the same writer; each must be answered with the same
  status, and the changes must be the same, byte for byte. A fault that was injected is injected again.
- The answers of successful reads are kept up to `LONGEST_READ` characters: the calls of the trace hold what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ehr.client import FhirClient, ForkAdapter
from ehr.tools import ChartTools
from harness.finish import FINISH
from harness.suite import WorldEvidence
from harness.trace import Change, HttpRequest, Read, SelfCheck

if TYPE_CHECKING:
    from ehr.backends import Backend, Fork
    from ehr.sandbox.http import Exchange
    from ehr.sandbox.state import Change as StoredChange
    from harness.task import Task
    from harness.tool import Tool

LONGEST_READ = 8_192
"""Characters of a successful read's answer that are kept; longer ones are left out whole."""

CHECK = "check"
"""Who the self-check's own reads are by."""

OpenFork = Callable[[], "Fork"]


class ChartWorld:
    """One episode's private world. `open_fork` makes its fork, and where `repeatable`, another one like it."""

    def __init__(self, open_fork: OpenFork, *, repeatable: bool = True) -> None:
        self._open_fork, self._repeatable = open_fork, repeatable
        self.fork = open_fork()
        self.client = FhirClient(self.fork.base, adapter=ForkAdapter(self.fork))
        self._tools = (*ChartTools(self.client).tools(), FINISH)

    @property
    def tools(self) -> Sequence[Tool]:
        """The chart's tools, and `finish`."""
        return self._tools

    def evidence(self) -> WorldEvidence:
        """The requests, the net changes, and the self-check."""
        exchanges = list(self.fork.requests)
        changes = list(self.fork.changes())
        reads = tuple(self._reads(changes))
        differences = [*_unlike_reads(changes, reads), *self._unlike_repetition(exchanges, changes)]
        foreign = tuple(getattr(self.fork, "foreign", ()))
        return WorldEvidence(
            base=self.fork.base,
            requests=tuple(_request(exchange) for exchange in exchanges if exchange.by != CHECK),
            changes=tuple(_change(change) for change in changes),
            reads=reads,
            self_check=SelfCheck(agrees=not differences, differences=tuple(differences), foreign=foreign),
        )

    def close(self) -> None:
        """Let the fork go."""
        self.client.close()
        self.fork.close()

    def _reads(self, changes: Sequence[StoredChange]) -> Iterator[Read]:
        checking = FhirClient(self.fork.base, adapter=ForkAdapter(self.fork, by=CHECK))
        for change in changes:
            type_name, _, id = change.reference.partition("/")
            reply = checking.read(type_name, id)
            yield Read(reference=change.reference, status=reply.status, body=_text(reply.raw))

    def _unlike_repetition(self, exchanges: Sequence[Exchange], changes: Sequence[StoredChange]) -> Iterator[str]:
        writes = [exchange for exchange in exchanges if exchange.method not in ("GET", "HEAD")]
        if not self._repeatable or not (writes or changes):
            return
        again = self._open_fork()
        try:
            for exchange in writes:
                status = again.handle(exchange.request, by=exchange.by).status
                if status != exchange.status:
                    said = f"{exchange.method} {exchange.path} was answered {exchange.status}, and again {status}"
                    yield f"re-execution: {said}"
            yield from _unlike_changes(changes, again.changes())
        finally:
            again.close()


def chart_world(
    backend: Backend, task: Task, *, validation: str = "hapi", fault: str | None = None
) -> ChartWorld:  # fmt: skip
    """The world of one episode of the task on that backend, under a fault of `ehr.faults` where one is named.

    Raises `ValueError` for an unknown validation or fault, and for a fault on a backend that is not embedded.
    """

    def open_fork() -> Fork:
        return backend.fork(task, validation=validation, fault=fault)

    return ChartWorld(open_fork, repeatable=backend.repeatable)


def _unlike_reads(changes: Sequence[StoredChange], reads: Sequence[Read]) -> Iterator[str]:
    for change, read in zip(changes, reads, strict=True):
        if change.after is None:
            if read.status not in (404, 410):
                yield f"read: {change.reference} is deleted by the log, but a read is answered {read.status}"
        elif read.status != 200:
            yield f"read: {change.reference} is stored by the log, but a read is answered {read.status}"
        elif _content(read.body) != _content(_text(change.after)):
            yield f"read: {change.reference} reads otherwise than the log says"


def _unlike_changes(first: Sequence[StoredChange], second: Sequence[StoredChange]) -> Iterator[str]:
    once, again = ({change.reference: change for change in changes} for changes in (first, second))
    for reference in sorted(once.keys() | again.keys()):
        one, other = once.get(reference), again.get(reference)
        if one is None or other is None:
            yield f"re-execution: {reference} changed {'only then' if one is None else 'the first time only'}"
        elif one.verb != other.verb:
            yield f"re-execution: {reference} is {one.verb} in the log, and {other.verb} when done again"
        elif (one.before, one.after) != (other.before, other.after):
            yield f"re-execution: {reference} came out differently"


def _content(text: str | None) -> Any:
    """What a body says, digits as written, whatever the order of its keys and its blanks."""
    if text is None:
        return None
    try:
        return json.loads(text, parse_float=_digits, parse_int=_digits)
    except ValueError:
        return text


def _digits(digits: str) -> tuple[str]:
    return (digits,)


def _request(exchange: Exchange) -> HttpRequest:
    response = _text(exchange.response)
    is_read = exchange.method in ("GET", "HEAD") and exchange.status < 300
    if is_read and response and len(response) > LONGEST_READ:
        response = None
    return HttpRequest(
        by=exchange.by,
        method=exchange.method,
        path=exchange.path,
        headers=dict(exchange.headers),
        body=_text(exchange.body),
        status=exchange.status,
        response=response,
        response_headers=dict(exchange.response_headers),
    )


def _change(change: StoredChange) -> Change:
    return Change(verb=change.verb, reference=change.reference, before=_text(change.before), after=_text(change.after))


def _text(body: bytes | None) -> str | None:
    return body.decode("utf-8", "replace") if body else None
