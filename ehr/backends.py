"""Where an episode's server comes from. `Backend.fork(task)` gives a private, writable view that says what changed.

`embedded`: a fork of a record in this process, made in microseconds and repeatable. `remote` (`ehr.remote`): a live
server that is put back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ehr.sandbox.http import Exchange, Request, Response

if TYPE_CHECKING:
    from ehr.sandbox.record import Record
    from ehr.sandbox.state import Change
    from harness.task import Task


class Fork(Protocol):
    """One episode's private view of a record: it answers requests, and says what they changed."""

    @property
    def base(self) -> str:
        """The server's address, which resources stand below."""
        ...

    @property
    def requests(self) -> Sequence[Exchange]:
        """Every request as it was sent, with its answer."""
        ...

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        """The answer to one request; never raises for what a client sends."""
        ...

    def changes(self) -> Sequence[Change]:
        """What differs now, net over the episode; the task's setup is no part of it."""
        ...

    def close(self) -> None:
        """Let it go; a live server is put back."""
        ...


class Backend(Protocol):
    """A kind of server. `repeatable`: a second fork of the same task is in the same state as the first was."""

    @property
    def repeatable(self) -> bool:
        """Whether raw requests can be executed again on a fresh fork."""
        ...

    @property
    def address(self) -> str:
        """Where it is reached, or where its forks believe themselves to be."""
        ...

    def fork(self, task: Task, *, validation: str = "hapi", fault: str | None = None) -> Fork:
        """A fork for one episode of the task: the record with the task's setup, at the task's clock.

        Raises `ValueError` for a validation or a fault that cannot be had.
        """
        ...


BASE = "http://fhir.hospital.example/fhir"
"""Where a fork believes itself to be, if nobody says otherwise."""


@dataclass(frozen=True)
class Embedded:
    """Forks of a record in this process. `address` is where they believe themselves to be."""

    record: Record
    address: str = BASE
    repeatable: bool = True

    def fork(self, task: Task, *, validation: str = "hapi", fault: str | None = None) -> Fork:
        """See `Backend`. Raises `ValueError` for an unknown validation or fault, or a clock without a zone."""
        from ehr.faults import known_fault, with_fault

        known = known_fault(fault)
        fork = self.record.fork(task.setup, clock=task.clock, validation=validation, base=self.address)
        return fork if known is None else with_fault(fork, task, known)
