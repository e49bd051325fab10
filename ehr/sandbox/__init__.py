"""A FHIR R4 server in one process: immutable records, private forks, HAPI's behaviour. Usable alone.

from ehr.sandbox import Record, Request

record = Record.open("ward.record")
fork = record.fork()
fork.handle(Request("GET", "/Patient?family=okafor"))
fork.changes()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ehr.sandbox.fork import Fork
    from ehr.sandbox.http import Exchange, Request, Response
    from ehr.sandbox.record import Record, RecordError
    from ehr.sandbox.state import Change, Write

__all__ = ["Change", "Exchange", "Fork", "Record", "RecordError", "Request", "Response", "Write"]

_HOMES = {
    "Change": "state",
    "Exchange": "http",
    "Fork": "fork",
    "Record": "record",
    "RecordError": "record",
    "Request": "http",
    "Response": "http",
    "Write": "state",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first asked for: numpy takes its time."""
    if name in _HOMES:
        return getattr(import_module(f"ehr.sandbox.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
