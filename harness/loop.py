"""The agent loop: a model is told the task, calls tools, is told their results, until it calls `finish` or must stop.

Short, linear and synchronous. The history is the trace: what the model saw is what is recorded. An episode ends

- by the model: `finished`; `refused`; `cut_off` and `context_full` (its reply, or its context, was full); `no_finish`
  (a turn without a call, a reminder, another turn without one); `bad_format` (twice in a row what nobody can read);
- by us: `max_turns`, `max_tokens`, `wall_time`, `budget` (see `limits`);
- by the provider: `auth`, `provider_error`;
- by a fault of ours: `harness_error`.

What an agent did wrong (an unknown tool, arguments that do not fit) is a result that it sees, and no ending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from harness.agent import AgentKind, Briefing, Played
from harness.cache import CacheMissError
from harness.claim import Finish
from harness.clock import Clock, wall_clock
from harness.faults import bounded, redacted, traceback_of
from harness.limits import Budget, Limits, reached
from harness.models.model import Asked, Model, NoReplyError, Reply, Said, Turn
from harness.plain import clean
from harness.protocol import FormatError, ToolCalling, TurnProtocol
from harness.tool import Tool
from harness.toolbox import EpisodeOverError, Toolbox
from harness.trace import Call, Ending, Text, Usage
from harness.values import digest

REMINDER = "You did not call a tool. Go on with the task, and when there is nothing more to do, call finish."


class EndError(Exception):
    """The episode is over; raised wherever that is found, and caught in one place."""

    def __init__(self, ending: Ending, *, said: Finish | None = None, note: str = "", error: str | None = None) -> None:
        super().__init__(ending)
        self.ending: Ending = ending
        self.said = said
        self.note = note
        self.error = error


@dataclass(frozen=True, slots=True)
class ModelAgent:
    """A model behind the loop."""

    model: Model
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    protocol: TurnProtocol = field(default_factory=ToolCalling)
    now: Clock = wall_clock
    monotonic: Callable[[], float] = time.monotonic
    label: str | None = None
    kind: AgentKind = "model"

    @property
    def name(self) -> str:
        """The model's name, or the label it was given (two settings of one model need two names)."""
        return self.label or self.model.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides its scores: the model's settings, the protocol, and the limits on turns and tokens."""
        return {**self.model.settings, "protocol": self.protocol.name, "limits": self.limits.scoring}

    @property
    def digest(self) -> str:
        """The digest of its settings."""
        return digest(self.settings)

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        """Play one episode to its end. Never raises."""
        playing = _Playing(self, Toolbox(tools, now=self.now), briefing, tools, repeat)
        try:
            playing.run()
        except EndError as end:
            return playing.played(end)
        except NoReplyError as fault:
            return playing.played(EndError(fault.ending, error=str(fault)))
        except EpisodeOverError as full:
            return playing.played(EndError("max_turns", error=str(full)))
        except CacheMissError as miss:
            return playing.played(EndError("harness_error", error=str(miss)))
        except Exception as exception:
            error = playing.toolbox.fault or traceback_of(exception)
            return playing.played(EndError("harness_error", error=error))


class _Playing:
    """One episode under way."""

    def __init__(
        self, agent: ModelAgent, toolbox: Toolbox, briefing: Briefing, tools: Sequence[Tool], repeat: int
    ) -> None:
        self.toolbox = toolbox
        self._agent = agent
        self._system = briefing.system
        self._offered = agent.protocol.offered(tools)
        self._history: list[Turn] = [agent.protocol.opening(briefing, tools)]
        self._repeat = repeat
        self._texts: list[Text] = []
        self._usage = Usage(cost_usd=0.0)
        self._began = agent.monotonic()

    def run(self) -> NoReturn:
        """Turn after turn, until something raises the end."""
        fruitless = 0
        while True:
            reply = self._ask()
            try:
                asked = self._agent.protocol.calls(reply)
            except FormatError as problem:
                fruitless = self._remind(fruitless, "bad_format", reply, f"{problem}")
                continue
            if not asked:
                fruitless = self._remind(fruitless, "no_finish", reply, REMINDER)
                continue
            fruitless = 0
            made = [(each, self._call(each)) for each in asked]
            if self.toolbox.finished is not None:
                raise EndError("finished", said=self.toolbox.finished)
            self._history.append(self._agent.protocol.answer(made))

    def played(self, end: EndError) -> Played:
        """All of it as a value."""
        said = end.said
        return Played(
            ending=end.ending,
            claim=said.outcome if said else None,
            answer=said.answer if said else (),
            note=said.note if said else end.note,
            calls=self.toolbox.calls,
            texts=tuple(self._texts),
            usage=self._usage,
            error=None if end.error is None else bounded(redacted(clean(end.error))),
        )

    def _ask(self) -> Reply:
        """The next turn of the model, where it may have one."""
        agent = self._agent
        seconds = agent.monotonic() - self._began
        ending = reached(agent.limits, self._usage, seconds=seconds, budget=agent.budget)
        if ending:
            raise EndError(ending)
        reply = agent.model.reply(
            self._system, self._history, self._offered, repeat=self._repeat, seconds=agent.limits.seconds - seconds
        )
        agent.budget.pay(reply.billed_usd)
        self._usage = self._usage.plus(reply.usage)
        self._texts.extend(Text(step=self._usage.calls, text=clean(text)) for text in reply.texts)
        if reply.stop != "ended":
            raise EndError(reply.stop, note=clean(reply.text))
        self._history.append(reply)
        return reply

    def _call(self, asked: Asked) -> Call:
        raw = None if asked.raw is None else clean(asked.raw)
        return self.toolbox.call(asked.name, asked.arguments, step=self._usage.calls, raw_arguments=raw)

    def _remind(self, fruitless: int, ending: Ending, reply: Reply, reminder: str) -> int:
        """One reminder; the second time in a row is the end, and what was said is its note."""
        if fruitless:
            raise EndError(ending, note=clean(reply.text))
        self._history.append(Said(reminder))
        return 1
