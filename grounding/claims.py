"""What a claim and a piece of evidence are, and what a policy must be able to do: the interface of the predicate.

The predicate (`grounding.predicate`) is one sentence, every claim of the answer is supported by the trace, and knows
neither files nor records. A policy gives it three things: the claims of an answer, the evidence of a trace, and what
the one says about the other. Paths and names of source code (`grounding.policy`) are one kind of claim; values of a
clinical record are another, and get the same outcomes, labels, null and documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from grounding.answer import Answer
from grounding.cache import Cache
from harness.trace import Call
from harness.values import Value


class Trace(Protocol):
    """What happened before an answer was given. `harness.trace.Episode` is one; so is whatever a reader makes."""

    @property
    def calls(self) -> Sequence[Call]:
        """The calls, in order."""
        ...

    @property
    def loss(self) -> Sequence[str]:
        """What the trace's source could not tell, a sentence each."""
        ...


class Claim(Protocol):
    """One thing that an answer says and that a trace may support."""

    @property
    def text(self) -> str:
        """The words of the answer, exactly."""
        ...

    @property
    def kind(self) -> str:
        """What kind of thing is claimed: `path`, `signature`, `identifier`, or a kind of another policy."""
        ...

    @property
    def span(self) -> tuple[int, int]:
        """Where the words stand: `answer.text[start:end]` is `text`."""
        ...


class Support(Value):
    """One place in a trace that supports a claim.

    `call` is the call's position, `how` the kind of support in one word, `span` the place in what the call showed.
    A derived value has one of these for each operand, all under the name of the same `rule`. `resource` and `path`
    say where in a record the value stands.
    """

    call: int
    span: tuple[int, int] | None = None
    how: str
    rule: str | None = None
    resource: str | None = None
    path: str | None = None


class Finding(Value):
    """What the evidence says about one claim. `why` is a clause in words, and is there unless it passes."""

    outcome: Literal["pass", "fail", "unscored"]
    support: tuple[Support, ...] = ()
    why: str | None = None


class Evidence(Protocol):
    """What a trace showed, in whatever form a policy finds claims in."""

    @property
    def doubts(self) -> Sequence[str]:
        """Why some of what was shown may be missing here, a clause each; then what is not supported is unscored."""
        ...


ClaimT = TypeVar("ClaimT", bound=Claim)
EvidenceT = TypeVar("EvidenceT", bound=Evidence)


class Policy(Protocol[ClaimT, EvidenceT]):
    """One way to read answers and traces. `digest` covers every choice in it: two policies are one if it is equal."""

    @property
    def name(self) -> str:
        """The name in files and on the command line."""
        ...

    @property
    def digest(self) -> str:
        """The digest of every choice."""
        ...

    @property
    def refusals(self) -> Sequence[str]:
        """The sentences that refuse to answer, word for word; they are compared after `grounding.answer.normal`."""
        ...

    def claims(self, answer: Answer, given: Sequence[str]) -> Sequence[ClaimT]:
        """The claims of an answer, in order, each once. `given` was told to the agent: it is no claim of its own."""
        ...

    def evidence(self, trace: Trace, cache: Cache, given: Sequence[str]) -> EvidenceT:
        """What the trace showed. What is costly to read is kept in `cache` by content. `given` supports nothing."""
        ...

    def find(self, claim: ClaimT, evidence: EvidenceT) -> Finding:
        """What the evidence says about one claim. Never raises for what an agent or a tool wrote."""
        ...
