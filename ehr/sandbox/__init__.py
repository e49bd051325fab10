"""A FHIR R4 server in one process: immutable records, private forks, HAPI's behaviour. Usable alone.

from ehr.sandbox import Record

record = Record.open("ward.record")
fork = record.fork()
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ehr.sandbox.record import Record, RecordError

__all__ = ["Record", "RecordError"]


def __getattr__(name: str) -> Any:
    """The public names, loaded when first asked for: numpy takes its time."""
    if name in __all__:
        from ehr.sandbox import record

        return getattr(record, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
