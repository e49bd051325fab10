"""What bounds an episode and a run: turns, tokens, money and time, checked in one place before each model call.

`max_turns` and `max_tokens` are scored: the agent had its chance. `wall_time` and `budget` are not: they say something
about the machine, the provider and the purse.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from harness.trace import Ending, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """What one episode may use. None means no limit. Tokens are input and output of all its model calls together."""

    turns: int = 40
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 900.0

    @property
    def scoring(self) -> dict[str, Any]:
        """Those that decide a score, and so belong to an agent's digest."""
        return {"turns": self.turns, "tokens": self.tokens}


class Budget:
    """Money that all episodes of an invocation share, in US dollars. None means no limit. Safe to use from threads.

    What the cache answers costs nothing. Each model call that is under way when the budget is used up is still paid.
    """

    def __init__(self, usd: float | None = None) -> None:
        self.usd = usd
        self._spent = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """What has been spent so far."""
        return self._spent

    @property
    def is_used_up(self) -> bool:
        """Whether no further model call may be made."""
        return self.usd is not None and self._spent >= self.usd

    def pay(self, cost_usd: float | None) -> None:
        """Book one model call; one of unknown price cannot be booked."""
        with self._lock:
            self._spent += cost_usd or 0.0


def reached(limits: Limits, used: Usage, *, seconds: float, budget: Budget) -> Ending | None:
    """The ending to take instead of the next model call, or None where it may be made.

    `used` is the episode's usage so far (its `calls` are the turns taken), `seconds` its age.
    """
    if used.calls >= limits.turns:
        return "max_turns"
    if limits.tokens is not None and used.input + used.output >= limits.tokens:
        return "max_tokens"
    if seconds >= limits.seconds:
        return "wall_time"
    if limits.cost_usd is not None and used.cost_usd is not None and used.cost_usd >= limits.cost_usd:
        return "budget"
    return "budget" if budget.is_used_up else None
