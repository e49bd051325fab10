"""EHR write tasks, scored against the live state of a FHIR server.

`from ehr import Record` is the sandbox alone: an immutable record, and forks of it that answer as HAPI does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ehr.sandbox import Fork, Record, Request, Response

__all__ = ["Fork", "Record", "Request", "Response"]


def __getattr__(name: str) -> Any:
    """The sandbox's public names, loaded when first asked for."""
    if name in __all__:
        from ehr import sandbox

        return getattr(sandbox, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
