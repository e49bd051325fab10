"""A model that says what it was told to: for trying the loop without a provider, and for measuring it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.models.model import Form, NoReplyError, Reply, Turn
from harness.prices import Price
from harness.tool import Tool

Script = Sequence[Reply | NoReplyError] | Callable[[Sequence[Turn]], Reply]


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Gives the replies in order (raising those that are faults), or what a function of the history returns."""

    script: Script
    name: str = "scripted:model"
    price: Price | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its name: a script has no settings."""
        return {"provider": "scripted", "model": self.name}

    def reply(
        self,
        system: str,
        history: Sequence[Turn],
        tools: Sequence[Tool],
        *,
        repeat: int,
        seconds: float,
        form: Form | None = None,
    ) -> Reply:
        """The next reply of the script. One that has come to its end is a provider's error."""
        if callable(self.script):
            return self.script(history)
        turn = sum(isinstance(turn, Reply) for turn in history)
        if turn >= len(self.script):
            raise NoReplyError("provider_error", f"the script has {len(self.script)} replies and is asked for another")
        reply = self.script[turn]
        if isinstance(reply, NoReplyError):
            raise reply
        return reply
