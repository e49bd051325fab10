"""How a reply becomes calls, and how what came of them is told to the model: the one seam between loop and model.

`ToolCalling` is the model's own tool calling. A protocol of plain text is another class of the same form: it tells the
model of the tools in words, reads the calls from its text, and tells it the results as our turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harness.agent import Briefing
from harness.models.model import Answered, Asked, Reply, Result, Said, Turn
from harness.plain import json_text
from harness.tool import Tool
from harness.trace import Call


class FormatError(ValueError):
    """A reply that the protocol cannot read; the message is one sentence for the model."""


class TurnProtocol(Protocol):
    """The form in which loop and model talk."""

    @property
    def name(self) -> str:
        """Its name in a variant: `tools`, ..."""
        ...

    def opening(self, briefing: Briefing, tools: Sequence[Tool]) -> Turn:
        """Our first turn."""
        ...

    def offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The tools that the provider is told of."""
        ...

    def calls(self, reply: Reply) -> Sequence[Asked]:
        """The calls in a reply. Raises `FormatError`."""
        ...

    def answer(self, made: Sequence[tuple[Asked, Call]]) -> Turn:
        """Our turn after these calls."""
        ...


class ToolCalling:
    """The model's own tool calling."""

    name = "tools"

    def opening(self, briefing: Briefing, tools: Sequence[Tool]) -> Turn:
        """The time, where there is one, and the instruction."""
        time = f"The time is {briefing.clock}.\n\n" if briefing.clock else ""
        return Said(f"{time}{briefing.instruction}")

    def offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """All of them."""
        return tools

    def calls(self, reply: Reply) -> Sequence[Asked]:
        """The calls that the provider has read."""
        return reply.calls

    def answer(self, made: Sequence[tuple[Asked, Call]]) -> Turn:
        """The results as JSON, in the order of the calls."""
        return Answered(
            tuple(Result(asked.id, asked.name, json_text(call.result), call.status != "ok") for asked, call in made)
        )
