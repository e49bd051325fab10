"""How answers about patients are judged: the policy of the clinical claims, under a name and a digest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pydantic import Field

from ehr.prompts import REFUSAL
from ehr.verify.claims.asked import NOW, asked_in
from ehr.verify.claims.claim import ClinicalClaim, claims_of
from ehr.verify.claims.concepts import digest_of_concepts
from ehr.verify.claims.equal import CUSTOMARY, WORTH
from ehr.verify.claims.evidence import ClinicalEvidence, ShownTrace, evidence_of
from ehr.verify.claims.support import find
from grounding.answer import Answer
from grounding.cache import Cache
from grounding.claims import Finding, Trace
from grounding.lens import judge_grounding
from harness.task import Task
from harness.trace import Episode
from harness.values import Value, digest
from harness.verdict import Verdict

_RULES = 3
"""Raised whenever the same answer and trace may come to another verdict than before."""


class ClinicalPolicy(Value):
    """A `grounding.claims.Policy` for values of a patient's record.

    `given` are the texts that the agent was told: the instruction, and what time it is (`told`). `worth` is how much of
    a number its last place may be worth where it is rounded, `customary` how far off a customary factor may be.
    """

    name: str = "clinical"
    refusals: tuple[str, ...] = (REFUSAL,)
    worth: str = str(WORTH)
    customary: str = str(CUSTOMARY)
    concepts: str = Field(default_factory=lambda: digest_of_concepts())
    rules: int = _RULES

    @cached_property
    def digest(self) -> str:
        """The digest of every choice."""
        return digest(self.model_dump(mode="json"))

    def claims(self, answer: Answer, given: Sequence[str]) -> list[ClinicalClaim]:
        """The claims of an answer. A value that is given is none."""
        return claims_of(answer, asked_in(tuple(given)))

    def evidence(self, trace: Trace, cache: Cache, given: Sequence[str]) -> ClinicalEvidence:
        """What the trace showed. Reading a result takes less time than finding out whether it was read before."""
        return evidence_of(trace, asked_in(tuple(given)))

    def find(self, claim: ClinicalClaim, evidence: ClinicalEvidence) -> Finding:
        """Which values support the claim, or why none does."""
        return find(claim, evidence)


CLINICAL = ClinicalPolicy()


def judge_claims(task: Task, episode: Episode) -> Verdict:
    """The verdict of the `grounding` lens on an episode of the suite."""
    return judge_grounding(episode, CLINICAL, given=told(task))


def shown_by(task: Task, episode: Episode) -> ShownTrace:
    """What an episode's trace showed, for whoever judges other answers against it: small, and read once."""
    return ShownTrace(evidence_of(episode, asked_in(told(task))))


def told(task: Task) -> tuple[str, ...]:
    """What the agent of a task was told: the instruction, and what time it is."""
    return (task.instruction, NOW.format(clock=task.clock))
