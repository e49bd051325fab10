"""What a judging will take before it is begun: calls and money, the calls counted, the money guessed.

The guesses are those of this module, not measurements: four characters a token, `OUTPUT_TOKENS` of output a vote,
`LOOKS` turns of a judge that looks things up, and nothing read from a provider's prompt cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.prices import Tokens
from judges.judge import Judge
from judges.judging import Row

OUTPUT_TOKENS = 300
LOOKS = 4
LOOKED_TOKENS = 3_000
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one judge would take. `votes` are those to be asked for, `stored` those that are there.

    `silent` and `too_long` are episodes about which nobody is asked. `calls` is exact, but for judges that look things
    up. `cost_usd` is None where the price is unknown.
    """

    config: str
    episodes: int
    silent: int
    too_long: int
    stored: int
    votes: int
    calls: int
    cost_usd: float | None


def estimate(judge: Judge, rows: Iterable[Row]) -> Estimate:
    """What is missing of this judge's votes, and about what they cost. What the cache knows is not taken off."""
    config = judge.setting.config
    own = [row for row in rows if row.config == config]
    asked = [row for row in own if row.why is None]
    votes = sum(len(row.missing) for row in asked)
    return Estimate(
        config=config,
        episodes=len(own),
        silent=sum(row.why == "silent" for row in own),
        too_long=sum(row.why == "too_long" for row in own),
        stored=len(asked) * judge.votes - votes,
        votes=votes,
        calls=sum(len(row.missing) * _turns(row) for row in asked),
        cost_usd=_cost(judge, asked),
    )


def _turns(row: Row) -> int:
    return LOOKS if row.looks else 1


def _cost(judge: Judge, rows: Sequence[Row]) -> float | None:
    price = judge.model.price
    if price is None:
        return None
    told = len(judge.setting.prompt)
    cost = 0.0
    for row in rows:
        for turn in range(_turns(row)):
            read = (told + row.characters) // CHARACTERS_PER_TOKEN + turn * LOOKED_TOKENS
            tokens = Tokens(input=read, output=OUTPUT_TOKENS)
            cost += len(row.missing) * price.rates(tokens).cost(tokens)
    return cost
