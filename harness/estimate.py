"""What a plan will take, before it is run: episodes, model calls and money, from stated guesses.

The guesses are those of this module, not measurements: `TURNS` turns an episode, `RESULT_TOKENS` tokens a turn of
results, `OUTPUT_TOKENS` of output, four characters a token, and nothing read from a provider's prompt cache.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.loop import ModelAgent
from harness.plan import Plan, Planned
from harness.prices import Tokens

TURNS = 8
RESULT_TOKENS = 1_500
OUTPUT_TOKENS = 200
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much is to be done. `cost_usd` is None where a price is unknown, and `why` names whose.

    `model_calls` is the guess, `model_calls_at_most` what the limits allow; both are 0 where no model plays.
    """

    planned: int
    to_play: int
    model_calls: int
    model_calls_at_most: int
    cost_usd: float | None
    why: str | None


def estimate(plan: Plan, done: Collection[str] = ()) -> Estimate:
    """What is left of the plan when the episodes with these ids are done."""
    todo = [planned for planned in plan.episodes if planned.id not in done]
    models = [(planned, planned.agent) for planned in todo if isinstance(planned.agent, ModelAgent)]
    unpriced = sorted({agent.name for _, agent in models if agent.model.price is None})
    costs = [_cost(plan, planned, agent) for planned, agent in models]
    return Estimate(
        planned=len(plan.episodes),
        to_play=len(todo),
        model_calls=sum(min(TURNS, agent.limits.turns) for _, agent in models),
        model_calls_at_most=sum(agent.limits.turns for _, agent in models),
        cost_usd=None if unpriced else sum(cost or 0.0 for cost in costs),
        why=f"the price of {', '.join(unpriced)} is unknown" if unpriced else None,
    )


def _cost(plan: Plan, planned: Planned, agent: ModelAgent) -> float | None:
    price = agent.model.price
    if price is None:
        return None
    words = len(plan.conditions[planned.condition]) + len(planned.task.instruction) + plan.described_in(planned)
    prompt = words // CHARACTERS_PER_TOKEN
    turns = range(min(TURNS, agent.limits.turns))
    asked = [Tokens(input=prompt + turn * (RESULT_TOKENS + OUTPUT_TOKENS), output=OUTPUT_TOKENS) for turn in turns]
    return sum(price.rates(tokens).cost(tokens) for tokens in asked)
