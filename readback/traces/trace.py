"""A trace as a reader gives it: the calls, the final answer, and what its source could not tell."""

from __future__ import annotations

from dataclasses import dataclass

from grounding.answer import Answer
from harness.trace import Call


class TraceError(ValueError):
    """Something is no trace that can be read. The message is a clause: what it is, and what was expected."""


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """One trace. A `grounding.claims.Trace`.

    `answer` is None where nobody can say what the answer was, and `why` says so. `question` and `group` (a repository,
    a template) are there where the source tells them; `given` are names that the agent was told.
    """

    id: str
    calls: tuple[Call, ...]
    answer: Answer | None
    loss: tuple[str, ...] = ()
    question: str | None = None
    group: str | None = None
    given: tuple[str, ...] = ()
    why: str | None = None
