"""An episode as data: what the agent did, what was sent, what changed, and what was read back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from harness.plain import json_bytes
from harness.values import Value, digest

Claim = Literal["done", "not_done", "unclear"]
CallStatus = Literal["ok", "error", "timeout"]
CutBy = Literal["tool", "recorder"]
Verb = Literal["create", "update", "delete"]

SCORED_ENDINGS = (
    "finished", "refused", "no_finish", "cut_off", "context_full", "max_turns", "max_tokens", "bad_format",
)  # fmt: skip
UNSCORED_ENDINGS = ("provider_error", "auth", "budget", "wall_time", "harness_error")

Ending = Literal[
    "finished", "refused", "no_finish", "cut_off", "context_full", "max_turns", "max_tokens", "bad_format",
    "provider_error", "auth", "budget", "wall_time", "harness_error",
]  # fmt: skip


class Call(Value):
    """One call of a tool. `position` counts calls from 1, `step` the model's turns from 1.

    `raw_arguments` is the text the model gave, kept only where it does not parse (`arguments` is then null).
    `cut_by` says who shortened the result: the tool (the agent saw no more either) or the recorder (we do not know).
    """

    position: int
    step: int
    name: str
    arguments: dict[str, Any] | None
    raw_arguments: str | None = None
    status: CallStatus
    result: Any = None
    http: dict[str, Any] | None = None
    cut_by: CutBy | None = None
    started: str | None = None
    ended: str | None = None


class Text(Value):
    """What the agent wrote beside its calls in one step."""

    step: int
    text: str


class HttpRequest(Value):
    """A request that reached the server, as sent, and its answer. `by` is `agent`, or who else wrote (`other`)."""

    by: str = "agent"
    method: str
    path: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    status: int
    response: str | None = None
    response_headers: dict[str, str] = Field(default_factory=dict)


class Change(Value):
    """One resource that differs, net over the episode. `before` and `after` are the stored bytes as text."""

    verb: Verb
    reference: str
    before: str | None
    after: str | None


class Read(Value):
    """One read of the self-check: what the server answers for a changed resource after the episode."""

    reference: str
    status: int
    body: str | None


class SelfCheck(Value):
    """Whether the change log, the client's own reads and a re-execution of the raw requests agree, and where not.

    `foreign` names changes on a shared server that nobody in the episode made.
    """

    agrees: bool
    differences: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


class Usage(Value):
    """Tokens and money of an episode. An unknown price is null, never 0."""

    input: int = 0
    output: int = 0
    cached: int = 0
    calls: int = 0
    cost_usd: float | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together. If one price is unknown, so is the sum."""
        cost = None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd
        return Usage(
            input=self.input + other.input, output=self.output + other.output, cached=self.cached + other.cached,
            calls=self.calls + other.calls, cost_usd=cost,
        )  # fmt: skip


class Episode(Value):
    """One agent on one task under one condition and variant, once. A line of `episodes.jsonl`."""

    format: Literal["readback.episode/1"] = "readback.episode/1"
    id: str
    task: str
    task_digest: str
    agent: str
    agent_kind: Literal["model", "program", "baseline", "session", "imported"] = "model"
    condition: str
    variant: dict[str, Any]
    repeat: int = 0
    ending: Ending
    claim: Claim | None = None
    answer: tuple[Any, ...] = ()
    note: str = ""
    calls: tuple[Call, ...] = ()
    texts: tuple[Text, ...] = ()
    loss: tuple[str, ...] = ()
    base: str | None = None
    requests: tuple[HttpRequest, ...] = ()
    changes: tuple[Change, ...] = ()
    reads: tuple[Read, ...] = ()
    self_check: SelfCheck | None = None
    usage: Usage = Usage()
    error: str | None = None
    started: str | None = None
    ended: str | None = None

    def line(self) -> str:
        """The episode as one line of JSON. Decimals in results keep their digits."""
        return json_bytes(self).decode()

    @property
    def scored(self) -> bool:
        """Whether the way it ended lets a lens judge it."""
        return self.ending in SCORED_ENDINGS

    @property
    def sound(self) -> bool:
        """Whether it can be judged at all: `scored`, and no self-check failed or found what nobody in it did."""
        check = self.self_check
        return self.scored and (check is None or (check.agrees and not check.foreign))


def episode_id(
    *, task: str, task_digest: str, agent: str, agent_digest: str, condition: str, prompt_digest: str,
    tools_digest: str, variant: dict[str, Any], repeat: int,
) -> str:  # fmt: skip
    """The content key of an episode: the same work has the same id, in whichever run or order it is done."""
    return digest(
        {
            "task": task, "task_digest": task_digest, "agent": agent, "agent_digest": agent_digest,
            "condition": condition, "prompt": prompt_digest, "tools": tools_digest, "variant": variant,
            "repeat": repeat,
        }
    )  # fmt: skip
