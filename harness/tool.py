"""A tool: a plain typed function with the JSON schema that its signature and docstring give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from harness.trace import CallStatus, CutBy


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came back with: its status, the JSON value the agent sees, and who shortened it, if anyone did."""

    status: CallStatus
    result: Any
    http: dict[str, Any] | None = None
    cut_by: CutBy | None = None


class Tool(Protocol):
    """What an agent may call. `run` never raises for bad arguments: they are an `error` result."""

    @property
    def name(self) -> str:
        """The name that agents call it by."""
        ...

    @property
    def description(self) -> str:
        """What it does, in words for the agent."""
        ...

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments, an object."""
        ...

    def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, do it, and say what came back."""
        ...
