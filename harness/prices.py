"""What model calls cost. An unknown price is unknown, never 0.

The table is `prices.toml` beside this module; a user's own file of the same form comes before it.
"""

from __future__ import annotations

import datetime
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from harness.values import Value, first_wrong

VARIABLE = "READBACK_PRICES"
"""The environment variable that names the user's own file."""


class PricesError(ValueError):
    """A file of prices that cannot be read; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one model call. `input` is all of it; of that, `cached` was read from the provider's prompt cache,
    and `written` went into it.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0


class Rates(Value):
    """US dollars for a million tokens of each sort."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    written: float | None = Field(default=None, ge=0)

    def cost(self, tokens: Tokens) -> float:
        """What these tokens cost, in US dollars."""
        fresh = tokens.input - tokens.cached - tokens.written
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        total = (
            fresh * self.input + tokens.cached * cached + tokens.written * written + tokens.output * self.output
        )  # fmt: skip
        return total / 1_000_000


class Tier(Rates):
    """The rates of a whole request whose input has more than `tokens` tokens."""

    tokens: int


class Price(Rates):
    """One row of the table: for which model, where, since when it is known, and from where."""

    model: str
    base_url: str | None = None
    above: tuple[Tier, ...] = ()
    source: str
    date: datetime.date

    @model_validator(mode="after")
    def _is_ordered(self) -> Price:
        bounds = [tier.tokens for tier in self.above]
        if bounds != sorted(set(bounds)):
            raise ValueError(f"the tiers of {self.model!r} must rise; they are above {bounds}")
        return self

    def is_for(self, model: str, base_url: str | None) -> bool:
        """Whether this is a price of `model` at that server (None: the provider's own)."""
        if self.base_url != base_url:
            return False
        return model.startswith(self.model[:-1]) if self.model.endswith("*") else model == self.model

    def rates(self, tokens: Tokens) -> Rates:
        """The rates that hold for a request with this input."""
        return next((tier for tier in reversed(self.above) if tokens.input > tier.tokens), self)


@dataclass(frozen=True, slots=True)
class Prices:
    """All known prices; where several rows fit, an exact name comes first, then the longest."""

    rows: tuple[Price, ...]

    def find(self, model: str, base_url: str | None = None) -> Price | None:
        """The price of a model (`openai:gpt-x`) at a server (None: the provider's own), or None where it is unknown."""
        fitting = [row for row in self.rows if row.is_for(model, base_url)]
        return max(fitting, key=lambda row: (row.model == model, len(row.model)), default=None)


def read_prices(path: Path | str | None = None, *, environment: Mapping[str, str] = os.environ) -> Prices:
    """The user's prices, from `path` or the file that `READBACK_PRICES` names, and behind them our own.

    Raises `PricesError`.
    """
    path = path or environment.get(VARIABLE) or None
    ours = _own()
    return ours if path is None else Prices(_rows(Path(path)) + ours.rows)


@cache
def _own() -> Prices:
    return Prices(_rows(Path(__file__).with_name("prices.toml")))


def _rows(path: Path) -> tuple[Price, ...]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise PricesError(f"the prices in {str(path)!r} cannot be read: {problem.strerror}; check the name") from None
    except UnicodeDecodeError:
        raise PricesError(f"the prices in {str(path)!r} are no UTF-8 text; save them as such") from None
    except (ValueError, RecursionError) as problem:
        raise PricesError(f"the prices in {str(path)!r} are no TOML: {problem}") from None
    if list(table) not in ([], ["price"]) or not isinstance(table.get("price", []), list):
        raise PricesError(f"the prices in {str(path)!r} must be [[price]] rows, and it has {', '.join(table)}")
    rows = []
    for number, row in enumerate(table.get("price", []), 1):
        try:
            rows.append(Price.model_validate(row))
        except ValidationError as problem:
            wrong = first_wrong(problem, "it")
            raise PricesError(f"price {number} in {str(path)!r} is wrong: {wrong}") from None
    return tuple(rows)
