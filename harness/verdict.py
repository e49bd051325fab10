"""What a lens says about an episode. The meaning of the four outcomes is the same for lenses, clauses, entities, votes.

- `pass`, `fail`: the lens could judge, and this is what it found.
- `vacuous`: there was nothing to judge (no claim was made). Never counted in a rate.
- `unscored`: nobody can say (our fault, the provider's, or lost evidence). Never in a rate, never a fail.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from harness.values import Value

Outcome = Literal["pass", "fail", "vacuous", "unscored"]


class Evidence(Value):
    """Where a clause's finding can be looked up: the call's position in the trace, the resource, the element's path."""

    call: int | None = None
    resource: str | None = None
    path: str | None = None


class Clause(Value):
    """One checked statement inside a verdict. `label` says under which name it failed; `why`, what it cannot say."""

    name: str
    outcome: Outcome
    label: str | None = None
    expected: str | None = None
    actual: str | None = None
    evidence: Evidence | None = None
    why: str | None = None


class Verdict(Value):
    """What one lens says about one episode. `labels` are all that apply, the most serious first; `label` is the first.

    `config` is the digest of everything that the lens was set to, so that verdicts of two settings stand side by side.
    `reason` is one sentence, and must be there when the outcome is `unscored`.
    """

    format: Literal["readback.verdict/1"] = "readback.verdict/1"
    episode: str
    lens: str
    config: str
    outcome: Outcome
    label: str | None = None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    clauses: tuple[Clause, ...] = ()

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        if self.label != (self.labels[0] if self.labels else None):
            raise ValueError(f"label {self.label!r} is not the first of labels {self.labels!r}")
        if self.outcome == "unscored" and not self.reason:
            raise ValueError("an unscored verdict must give its reason")
        return self
