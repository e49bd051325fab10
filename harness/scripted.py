"""An agent that is a plain function over the tools: what a suite's baselines are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.agent import AgentKind, Briefing, Played
from harness.clock import Clock, wall_clock
from harness.faults import traceback_of
from harness.finish import read_finish
from harness.functions import ArgumentsError
from harness.tool import Tool
from harness.toolbox import Toolbox
from harness.values import digest

Script = Callable[[Mapping[str, Callable[..., Any]]], dict[str, Any]]
"""Is given the tools by name, each a function of keyword arguments, and returns what `finish` takes, as a dict."""


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """Plays a script; its calls are recorded as any agent's.

    What the script is to know of its task, it is given when it is made (a closure, `functools.partial`). `version` is
    to be changed when the script is to count as another: a resumed run then plays it again.
    """

    name: str
    script: Script
    kind: AgentKind = "baseline"
    version: str = "1"
    now: Clock = wall_clock

    @property
    def digest(self) -> str:
        """Of its name and version."""
        return digest({"scripted": self.name, "version": self.version})

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        """Run the script to its end. What it raises is `harness_error`, what finish would not take `bad_format`.

        A tool that failed is `harness_error`, whatever the script made of that.
        """
        toolbox = Toolbox(tools, now=self.now)
        try:
            said = read_finish(self.script(toolbox.callables()))
        except Exception as exception:
            if toolbox.fault or not isinstance(exception, ArgumentsError):
                return Played("harness_error", calls=toolbox.calls, error=toolbox.fault or traceback_of(exception))
            return Played("bad_format", calls=toolbox.calls, error=str(exception))
        if toolbox.fault:
            return Played("harness_error", calls=toolbox.calls, error=toolbox.fault)
        return Played("finished", said.outcome, said.answer, said.note, toolbox.calls)
