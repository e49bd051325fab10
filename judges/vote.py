"""Votes and judges as data: `votes.jsonl` and `judges.jsonl` of a run folder."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from harness.trace import Usage
from harness.values import Value, digest
from harness.verdict import Outcome
from judges.rubric import RubricName, Said

Kind = Literal["model", "scripted", "people"]

VoteFault = Literal[
    "unparseable", "contradiction", "no_verdict", "refused", "cut_off", "context_full",
    "provider_error", "auth", "wall_time", "not_kept", "cannot_tell",
]  # fmt: skip
"""Why a vote says nothing.

- by the judge: `unparseable` and `contradiction` (see `ballot`), `no_verdict` (it only looked on), `refused`,
  `cut_off`, `cannot_tell` (a person's word);
- by its provider: `context_full`, `provider_error`, `auth`, `wall_time`;
- by the cache that alone was to answer: `not_kept`.
"""

SCRIPTED = "SCRIPTED_JUDGE"
"""The note on every verdict of a judge that is a rule and no model."""


class JudgeSetting(Value):
    """One judge as it was set: whatever is in `config`'s digest, and what it is called.

    `about` says in a sentence what it is. `prompt` is every word that it is told, apart from the data; for people, that
    of the sheet. `characters` is the longest trace it is shown, `long` what becomes of a longer one.
    """

    format: Literal["readback.judge/1"] = "readback.judge/1"
    config: str
    name: str
    kind: Kind
    about: str
    rubric: RubricName
    trace: bool
    votes: int
    model: dict[str, Any] | None
    prompt_digest: str
    prompt: str
    form: Literal["schema", "text"] | None = None
    characters: int | None = None
    long: Literal["cut", "search"] | None = None
    turns: int | None = None
    sheet: str | None = None

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """The setting with its `config`: the digest of everything else but the words for readers."""
        blank = cls(config="", **fields)
        decisive = blank.model_dump(mode="json", exclude={"config", "about", "prompt"})
        return blank.model_copy(update={"config": digest(decisive)})

    @property
    def title(self) -> str:
        """Its name, rubric and view, for a table; a rule says that it is one."""
        kind = " (a rule, no model)" if self.kind == "scripted" else ""
        return f"{self.name}{kind}, {self.rubric}{'' if self.trace else ', no trace'}"


class Vote(Value):
    """One vote of one judge about one episode.

    `outcome` is what it means: `supported` is a pass, `no_claim` vacuous; `not_supported` a fail, but unscored where
    something of the trace is gone (`doubt`); a vote with a `fault` says nothing and is unscored. `reason`, `failed` and
    `calls` are the judge's own words; `raw` is a reply that could not be read. `number` counts the judge's votes from
    1, `attempt` how often this one was asked before. `seen` is the digest of what there was to see: a vote about an
    episode that was played again since is none.
    `kept` says that the cache gave the reply; `cost_usd` in `usage` is what it costs or did cost, `billed_usd` what was
    paid when it was taken; both are of all attempts together.
    """

    format: Literal["readback.vote/1"] = "readback.vote/1"
    episode: str
    config: str
    number: int
    judge: str
    rubric: RubricName
    trace: bool
    outcome: Outcome
    said: Said | None
    failed: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    reason: str = ""
    flags: tuple[str, ...] = ()
    fault: VoteFault | None = None
    error: str | None = None
    raw: str | None = None
    doubt: str | None = None
    left_out: str | None = None
    seen: str
    attempt: int = 0
    model: str | None
    prompt_digest: str
    sdk: dict[str, str] = Field(default_factory=dict)
    looked: int = 0
    kept: bool = False
    usage: Usage = Usage()
    billed_usd: float | None = 0.0
    started: str | None = None
    ended: str | None = None

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        if (self.said is None) != (self.fault is not None):
            raise ValueError("a vote either says something or has a fault")
        if self.outcome != outcome_of(self.said, self.doubt):
            raise ValueError(f"the outcome {self.outcome!r} is not what {self.said!r} means here")
        return self


def outcome_of(said: Said | None, doubt: str | None) -> Outcome:
    """What a vote means. What is supported stands; where something is gone, nobody knows what is not supported."""
    match said:
        case "supported":
            return "pass"
        case "no_claim":
            return "vacuous"
        case "not_supported":
            return "unscored" if doubt else "fail"
        case None:
            return "unscored"
