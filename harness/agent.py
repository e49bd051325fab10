"""What is measured: an agent plays one task with tools, and what it did comes back as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harness.tool import Tool
from harness.trace import Call, Claim, Ending, Text, Usage

AgentKind = Literal["model", "program", "baseline"]


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that an agent is told: the instruction, the system prompt of the condition, the clock (ISO instant)."""

    instruction: str
    system: str
    clock: str


@dataclass(frozen=True, slots=True)
class Played:
    """What an agent did: how it ended, what it claims, and its trace."""

    ending: Ending
    claim: Claim | None = None
    answer: tuple[Any, ...] = ()
    note: str = ""
    calls: tuple[Call, ...] = ()
    texts: tuple[Text, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: str | None = None


class Agent(Protocol):
    """A model behind the loop, the user's own program, or a scripted baseline."""

    @property
    def name(self) -> str:
        """The name in files and tables, such as `openai:gpt-x`, `python:mine:agent`, `oracle`."""
        ...

    @property
    def kind(self) -> AgentKind:
        """Which of the three it is."""
        ...

    @property
    def digest(self) -> str:
        """The digest of every setting that changes what it does (model, base URL, sampling, reasoning, code name)."""
        ...

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        """Play the task to its end. Never raises: whatever goes wrong is an ending (`harness_error` at the worst)."""
        ...
