"""The null: how often the same answers would pass by luck.

A bag of entities can be supported without having been read for it: an agent that reads half of a repository supports
almost any answer about it. So beside a grounded rate stands the rate of the same answers against traces of other
episodes of the same group (a repository, a template) that answered another question.

Definition. For each answer that makes a claim, take the traces of its group that belong to other questions: all of
them, or a sample without replacement of `partners`, drawn by a generator seeded with `seed` and the answer's id (so
neither order nor company of the answers changes the draw). Judge the answer against each by the same policy. The
answer's share is pass / (pass + fail) over these pairs; the null rate is the mean of the shares over the answers that
have a scored pair. Answers without a claim take no part, as in the grounded rate.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grounding.answer import LONGEST, Answer
from grounding.cache import Cache, shared_cache
from grounding.claims import ClaimT, EvidenceT, Policy, Trace
from grounding.predicate import finding_of, outcome_of

PARTNERS = 20
"""Traces that an answer is judged against where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with its trace. `group` is its repository or template, `question` what was asked (a task's id)."""

    id: str
    group: str
    question: str
    trace: Trace
    answer: Answer
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Null:
    """The null rate over `answers` in `pairs` scored pairs; None with the reason where there is none."""

    rate: float | None
    answers: int
    pairs: int
    why: str | None = None


def null_rate(
    answered: Sequence[Answered],
    policy: Policy[ClaimT, EvidenceT],
    *,
    partners: int | None = PARTNERS,
    seed: int = 1,
    cache: Cache | None = None,
) -> Null:
    """The null of these answers under a policy. `partners` None takes every trace of another question."""
    cache = shared_cache() if cache is None else cache
    groups: dict[str, list[Answered]] = defaultdict(list)
    for each in answered:
        groups[each.group].append(each)
    shares: list[float] = []
    pairs = 0
    for group in groups.values():
        group.sort(key=lambda each: each.id)
        evidence = [policy.evidence(each.trace, cache, each.given) for each in group]
        for one in group:
            if len(one.answer.text) > LONGEST or not (claims := policy.claims(one.answer, one.given)):
                continue
            others = [at for at, other in enumerate(group) if other.question != one.question]
            others = _drawn(others, partners, seed, one)
            outcomes = [
                outcome_of([finding_of(policy, claim, evidence[at]).outcome for claim in claims]) for at in others
            ]
            passed, failed = outcomes.count("pass"), outcomes.count("fail")
            if passed + failed:
                shares.append(passed / (passed + failed))
                pairs += passed + failed
    if not shares:
        return Null(None, 0, 0, "no answer could be judged against a trace of another question")
    return Null(sum(shares) / len(shares), len(shares), pairs)


def _drawn(others: list[int], partners: int | None, seed: int, one: Answered) -> list[int]:
    if partners is None or len(others) <= partners:
        return others
    return random.Random(f"{seed} {one.id}").sample(others, partners)  # noqa: S311 - a sample, no secret
