"""What the loop asks of a language model, and what comes back: the conversation as values, for any provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harness.prices import Price
from harness.tool import Tool
from harness.trace import Ending, Usage

Stop = Literal["ended", "cut_off", "refused", "context_full"]
"""Why a reply ended: by itself (with calls or without), at its length limit, by a refusal, or at the context's end."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a model asks for. `arguments` is None where `raw`, what it wrote, is no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of ours in words: the instruction, a reminder."""

    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one call came back with, as the model reads it."""

    id: str
    name: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn of ours that answers the calls of the reply before it, all of them and in their order."""

    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A turn of the model. `usage` is of this one call; `billed_usd` is 0 where the cache answered (`is_kept`).

    `message` is the provider's own form of the reply, to be given back as it came (reasoning included).
    """

    texts: tuple[str, ...] = ()
    calls: tuple[Asked, ...] = ()
    stop: Stop = "ended"
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    billed_usd: float | None = 0.0
    is_kept: bool = False
    message: Any = None

    @property
    def text(self) -> str:
        """All that it says in words."""
        return "\n".join(self.texts)


Turn = Said | Answered | Reply


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a reply's text must have: JSON of this schema, under a name for the provider.

    Providers hold the model to it where they can; what comes back has to be checked all the same.
    """

    name: str
    schema: Mapping[str, Any]


class Model(Protocol):
    """A language model that can call tools."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes what it replies, without secrets: model, base URL, sampling, reasoning."""
        ...

    @property
    def price(self) -> Price | None:
        """What it costs, or None where that is unknown."""
        ...

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
        """The next turn, within `seconds`, its text in this form if one is asked for.

        Raises `NoReplyError` where there is none.
        """
        ...


class ModelSetupError(ValueError):
    """A model that cannot be set up (a missing key, a bad base URL); the message is one sentence."""


class NoReplyError(Exception):
    """A model call that brought no reply, and the ending that this makes for the episode.

    `retryable` says whether the same request may succeed later, `wait` for how many seconds the server asks, and
    `timed_out` that there was no answer in time.
    """

    def __init__(
        self,
        ending: Ending,
        message: str,
        *,
        retryable: bool = False,
        wait: float | None = None,
        timed_out: bool = False,
    ) -> None:
        super().__init__(message)
        self.ending: Ending = ending
        self.retryable = retryable
        self.wait = wait
        self.timed_out = timed_out
