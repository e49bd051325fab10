"""Recorded traces judged by `kappa_ground`, one at a time: a document for each, totals and the null at the end.

Memory does not grow with the number of traces: of each one only its outcome is kept, of files that were read what they
define (`grounding.Cache`, bounded), and for the null a seeded sample of at most `SAMPLED` traces.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from grounding import Answered, Cache, CodePolicy, Grounding, Judged, kappa_ground, null_rate
from harness.values import Value, digest
from harness.verdict import Outcome
from readback.traces import Found, Problem, RecordedTrace

SAMPLED = 200
"""Traces that the null is computed from at most."""

_NEVER_READ = frozenset({"list_directory", "search", "finish"})
"""Tools that are known to show no file."""

_LARGEST_SAMPLED = 1_000_000
"""Characters of results in a trace that may be among them."""


FORMAT: Literal["readback.grounding/1"] = "readback.grounding/1"


class PolicyName(Value):
    """A policy by its name and the digest of its choices."""

    name: str
    digest: str


class GroundingTotals(Value):
    """Outcomes of all traces. `refusal` is a part of `vacuous`.

    `rate` is pass / (pass + fail), null where nothing is scored; `bounds`, where anything is unscored, the rate if all
    of that had failed and if all had passed. `null_rate` is the rate of the same answers against traces of other
    questions (`grounding.null`), over `null_pairs` pairs of a seeded sample; `null_why` says why there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    passed: int = Field(alias="pass")
    fail: int
    vacuous: int
    unscored: int
    refusal: int
    rate: float | None
    bounds: tuple[float, float] | None
    why: str | None
    null_rate: float | None
    null_pairs: int
    null_why: str | None


class GroundedTrace(Value):
    """One trace. `answer` is the text that spans of entities are places in; `loss` is what its source could not tell.

    `policies` is there where several were asked for: the outcome under each.
    """

    file: str
    id: str
    outcome: Outcome
    labels: tuple[str, ...]
    reason: str | None
    loss: tuple[str, ...]
    answer: str | None
    entities: tuple[Judged, ...]
    policies: dict[str, Outcome] | None = None


class PolicyTotals(Value):
    """The totals under one policy. `differs` counts traces whose outcome is not that of the first policy."""

    policy: PolicyName
    totals: GroundingTotals
    differs: int


class UnreadFile(Value):
    """A file, or a line of it (counted from 1), that holds no trace, and the sentence that says so."""

    file: str
    number: int | None
    problem: str


class GroundingDocument(Value):
    """`readback ground --json`. `traces` are in the order of the files; `sensitivity` is there where asked for."""

    format: Literal["readback.grounding/1"] = FORMAT
    policy: PolicyName
    totals: GroundingTotals
    traces: tuple[GroundedTrace, ...]
    sensitivity: tuple[PolicyTotals, ...] | None = None
    problems: tuple[UnreadFile, ...] = ()


class Grounder:
    """Judges traces under policies, the first of which is the one that is shown."""

    def __init__(self, policies: Sequence[CodePolicy], *, seed: int = 1) -> None:
        self.policies = tuple(policies)
        self.problems: list[UnreadFile] = []
        self.unread_tools: Counter[str] = Counter()
        self.without_reads = 0
        self._cache = Cache()
        self._counts = {policy.name: Counter[str]() for policy in policies}
        self._differs: Counter[str] = Counter()
        self._seed = seed
        self._draw = random.Random(seed)  # noqa: S311 - a sample, no secret
        self._seen = 0
        self._sample: list[Answered] = []

    @property
    def judged(self) -> int:
        """How many traces were judged."""
        return self._counts[self.policies[0].name].total()

    def judge(self, found: Found) -> GroundedTrace:
        """The document of one trace, which then counts."""
        trace = found.trace
        said = {policy.name: self._said(trace, policy) for policy in self.policies}
        first = said[self.policies[0].name]
        for name, grounding in said.items():
            self._counts[name][_counted_as(grounding)] += 1
            self._differs[name] += grounding.outcome != first.outcome
        self._note_tools(trace, self.policies[0])
        self._keep(found)
        return GroundedTrace(
            file=found.file,
            id=trace.id,
            outcome=first.outcome,
            labels=first.labels,
            reason=first.reason,
            loss=trace.loss,
            answer=None if trace.answer is None else trace.answer.text,
            entities=first.entities,
            policies={name: each.outcome for name, each in said.items()} if len(said) > 1 else None,
        )

    def problem(self, problem: Problem) -> None:
        """Count what holds no trace."""
        self.problems.append(UnreadFile(file=problem.file, number=problem.line, problem=problem.said))

    def totals(self) -> GroundingTotals:
        """The totals under the first policy, so far."""
        return self._totals(self.policies[0])

    def sensitivity(self) -> tuple[PolicyTotals, ...]:
        """The totals under each policy, so far."""
        return tuple(
            PolicyTotals(policy=name_of(policy), totals=self._totals(policy), differs=self._differs[policy.name])
            for policy in self.policies
        )

    def _said(self, trace: RecordedTrace, policy: CodePolicy) -> Grounding:
        if trace.answer is None:
            return Grounding(policy=policy.name, config=policy.digest, outcome="unscored", reason=trace.why)
        return kappa_ground(trace, trace.answer, policy, given=trace.given, cache=self._cache)

    def _totals(self, policy: CodePolicy) -> GroundingTotals:
        counts = self._counts[policy.name]
        passed, fail, unscored = counts["pass"], counts["fail"], counts["unscored"]
        judgeable = passed + fail + unscored
        null = null_rate(self._sample, policy, seed=self._seed, cache=self._cache)
        counted = {"pass": passed, "fail": fail}
        return GroundingTotals(
            **counted,
            vacuous=counts["vacuous"] + counts["refusal"],
            unscored=unscored,
            refusal=counts["refusal"],
            rate=passed / (passed + fail) if passed + fail else None,
            bounds=(passed / judgeable, (passed + unscored) / judgeable) if unscored else None,
            why=None if passed + fail else "no trace is scored",
            null_rate=null.rate,
            null_pairs=null.pairs,
            null_why=null.why,
        )

    def _note_tools(self, trace: RecordedTrace, policy: CodePolicy) -> None:
        """Remember which tools are called in traces that call none that reads: they may be what reads there."""
        names = {call.name for call in trace.calls} - _NEVER_READ
        if names and not any(policy.reads_files(name) for name in names):
            self.without_reads += 1
            self.unread_tools.update(names)

    def _keep(self, found: Found) -> None:
        """A reservoir: every trace has the same chance to be in the sample."""
        trace = found.trace
        if trace.answer is None or sum(len(str(call.result)) for call in trace.calls) > _LARGEST_SAMPLED:
            return
        self._seen += 1
        at = len(self._sample) if len(self._sample) < SAMPLED else self._draw.randrange(self._seen)
        if at < SAMPLED:
            question = trace.question or f"{found.file} {trace.id}"
            key = f"{found.file} {trace.id} {self._seen}"
            kept = Answered(key, trace.group or "", digest(question), trace, trace.answer, trace.given)
            self._sample[at : at + 1] = [kept]


def name_of(policy: CodePolicy) -> PolicyName:
    """What a policy is called in documents."""
    return PolicyName(name=policy.name, digest=policy.digest)


def _counted_as(grounding: Grounding) -> str:
    return "refusal" if "REFUSAL" in grounding.labels else grounding.outcome
