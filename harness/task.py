"""A task as data: what is asked, with which tools, and what must be true afterwards."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from harness.values import Value, digest

Kind = Literal["read", "write", "withhold"]


class Task(Value):
    """One instruction with its tools, expected answer, expected change, and the lenses it `requires`.

    `answer` and `expected` are data (`readback schema task`); the suite's lenses give them their meaning. `setup`
    are the resources laid over the record before the agent starts. `parameters` are what the template drew, for the
    baselines; an agent never sees them. `traps` name what a careless reader of this very task falls into.
    """

    format: Literal["readback.task/1"] = "readback.task/1"
    id: str
    suite: str
    template: str
    twin: str | None = None
    digest: str
    kind: Kind
    patient: str | None = None
    requires: tuple[str, ...]
    needs_write: bool
    needs_chart: bool
    traps: tuple[str, ...] = ()
    instruction: str
    tools: tuple[str, ...]
    clock: str
    setup: tuple[dict[str, Any], ...] = ()
    sources: tuple[str, ...] = ()
    answer: dict[str, Any] | None = None
    expected: dict[str, Any] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    cluster: str | None = None
    canary: str | None = None

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """A task with its digest: the SHA-256 of everything else in it."""
        blank = cls(digest="", **fields)
        return blank.model_copy(update={"digest": digest(blank.model_dump(mode="json", exclude={"digest"}))})
