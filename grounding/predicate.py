"""`kappa_ground`: is every claim of an answer supported by what the trace shows?

Rules for counting:

- What a claim is, which calls count and what supports what is the policy's to say; for source code see
  `grounding.entities` (what is an entity), `grounding.evidence` (which calls count, what a retry does) and
  `grounding.finding` (what supports one). Every claim counts once, however often it is made.
- `pass`: every claim is supported. `fail` (`UNGROUNDED`): one is not, and nothing that could support it is missing.
- `vacuous`: the answer claims nothing. It has the label `REFUSAL` where it is the exact sentence of refusal and nothing
  else. A refusal that also names something is judged as an answer.
- `unscored`: a claim is not supported, and evidence that could support it may be missing. What is supported stands, so
  with missing evidence an answer may still pass, and never fails.
- Vacuous and unscored are in no rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grounding.answer import LONGEST, Answer, is_refusal
from grounding.cache import Cache, shared_cache
from grounding.claims import Claim, ClaimT, EvidenceT, Finding, Policy, Support, Trace
from harness.values import Value
from harness.verdict import Outcome

UNGROUNDED = "UNGROUNDED"
REFUSAL_LABEL = "REFUSAL"


class Judged(Value):
    """One claim with what the evidence says about it. `span` is its place in the answer's text."""

    text: str
    kind: str
    span: tuple[int, int]
    outcome: Literal["pass", "fail", "unscored"]
    support: tuple[Support, ...] = ()
    why: str | None = None


class Grounding(Value):
    """What the predicate says about one answer. `config` is the digest of the policy, `reason` is there if unscored."""

    policy: str
    config: str
    outcome: Outcome
    labels: tuple[str, ...] = ()
    reason: str | None = None
    entities: tuple[Judged, ...] = ()


def kappa_ground(
    trace: Trace,
    answer: Answer | str,
    policy: Policy[ClaimT, EvidenceT],
    *,
    given: Sequence[str] = (),
    cache: Cache | None = None,
) -> Grounding:
    """Judge one answer against the trace it was given after.

    `given` are texts that the agent was told, which are neither claim nor support: what a policy makes of them is its
    own. Evidence is kept in `cache` (that of the process if none is given). Deterministic; never raises for what an
    agent or a tool wrote.
    """
    answer = Answer.of(answer) if isinstance(answer, str) else answer
    if len(answer.text) > LONGEST:
        reason = f"the answer has {len(answer.text):,} characters, and at most {LONGEST:,} are judged"
        return Grounding(policy=policy.name, config=policy.digest, outcome="unscored", reason=reason)
    claims = policy.claims(answer, given)
    if not claims:
        labels = (REFUSAL_LABEL,) if is_refusal(answer, policy.refusals) else ()
        return Grounding(policy=policy.name, config=policy.digest, outcome="vacuous", labels=labels)
    evidence = policy.evidence(trace, shared_cache() if cache is None else cache, given)
    judged = [_judged(claim, finding_of(policy, claim, evidence)) for claim in claims]
    outcome = outcome_of([each.outcome for each in judged])
    return Grounding(
        policy=policy.name,
        config=policy.digest,
        outcome=outcome,
        labels=(UNGROUNDED,) if outcome == "fail" else (),
        reason=next(each.why for each in judged if each.outcome == "unscored") if outcome == "unscored" else None,
        entities=tuple(judged),
    )


def finding_of(policy: Policy[ClaimT, EvidenceT], claim: ClaimT, evidence: EvidenceT) -> Finding:
    """What the evidence says about one claim, where evidence may be missing."""
    finding = policy.find(claim, evidence)
    if finding.outcome == "fail" and evidence.doubts:
        return Finding(outcome="unscored", why=f"{evidence.doubts[0]}; {finding.why}")
    return finding


def outcome_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of an answer whose claims have these: all must pass, and one that fails is enough."""
    if not outcomes:
        return "vacuous"
    if "fail" in outcomes:
        return "fail"
    return "unscored" if "unscored" in outcomes else "pass"


def _judged(claim: Claim, finding: Finding) -> Judged:
    return Judged(
        text=claim.text,
        kind=claim.kind,
        span=claim.span,
        outcome=finding.outcome,
        support=finding.support,
        why=finding.why,
    )
