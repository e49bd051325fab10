"""The `grounding` lens: the predicate as a verdict about an episode of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding.answer import answer_of
from grounding.cache import Cache
from grounding.claims import Policy, Support
from grounding.predicate import UNGROUNDED, Judged, kappa_ground
from harness.trace import Episode
from harness.verdict import Clause, Evidence, Verdict

LENS = "grounding"

OPERANDS = 100
"""Operands of a derived value that a clause names; all of them stand in the grounding document."""


def judge_grounding(
    episode: Episode, policy: Policy[Any, Any], *, given: Sequence[str] = (), cache: Cache | None = None
) -> Verdict:
    """The verdict of the lens: one clause an entity, in the order of the answer. See `grounding.predicate`."""
    if not episode.scored:
        return Verdict(
            episode=episode.id,
            lens=LENS,
            config=policy.digest,
            outcome="unscored",
            reason=f"the episode ended as {episode.ending}",
        )
    said = kappa_ground(episode, answer_of(episode), policy, given=given, cache=cache)
    return Verdict(
        episode=episode.id,
        lens=LENS,
        config=policy.digest,
        outcome=said.outcome,
        label=said.labels[0] if said.labels else None,
        labels=said.labels,
        reason=said.reason,
        clauses=tuple(_clause(entity) for entity in said.entities),
    )


def _clause(entity: Judged) -> Clause:
    first = entity.support[0] if entity.support else None
    return Clause(
        name=f"{entity.kind} {entity.text}",
        outcome=entity.outcome,
        label=UNGROUNDED if entity.outcome == "fail" else None,
        expected="seen",
        actual=_actual(entity),
        evidence=Evidence(call=first.call, resource=first.resource, path=first.path) if first else None,
        why=entity.why,
    )


def _actual(entity: Judged) -> str | None:
    """How it was seen: `defined at 120`, or the rule, all its operands and their calls."""
    if not entity.support:
        return "not seen" if entity.outcome == "fail" else None
    first = entity.support[0]
    if first.rule is not None:
        return _derived(first.rule, entity.support)
    return first.how if first.span is None else f"{first.how} at {first.span[0]}"


def _derived(rule: str, operands: Sequence[Support]) -> str:
    """`mean from Observation/a, Observation/b (calls 2, 3)`."""
    calls = list(dict.fromkeys(str(operand.call) for operand in operands))
    told = f"call{'s' * (len(calls) > 1)} {', '.join(calls)}"
    places = list(dict.fromkeys(operand.resource for operand in operands if operand.resource))
    if not places:
        return f"{rule} from {told}"
    more = f" and {len(places) - OPERANDS} more" if len(places) > OPERANDS else ""
    return f"{rule} from {', '.join(places[:OPERANDS])}{more} ({told})"
