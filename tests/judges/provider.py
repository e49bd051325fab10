"""Judges at a provider on the loopback address, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from harness.models.anthropic import anthropic_model
from harness.models.exchange import Exchange, Patience
from harness.models.openai import openai_model
from harness.prices import Prices
from judges.judge import Judge
from judges.rubric import Rubric
from tests.harness.provider import Provider, plain_client

FREE_OF_RETRIES = Exchange(patience=Patience(attempts=1, timeout=5.0))


@contextmanager
def judge_at(
    provider: Provider, *, rubric: Rubric | None = None, exchange: Exchange = FREE_OF_RETRIES,
    prices: Prices | None = None, environment: dict[str, str] | None = None, **settings: Any,
) -> Iterator[Judge]:  # fmt: skip
    """A judge at this provider, with its connections."""
    make: Callable[..., Any] = openai_model if provider.wire == "openai" else anthropic_model
    model = make(
        "m", base_url=provider.base_url, environment=environment or {}, prices=prices or Prices(()), exchange=exchange,
        http_client=plain_client(),
    )  # fmt: skip
    try:
        yield Judge(model, rubric or Rubric("facts"), **settings)
    finally:
        model.close()


def messages_of(provider: Provider, request: dict[str, Any]) -> tuple[str, Sequence[dict[str, Any]]]:
    """The system message and the others of a request, in either protocol."""
    messages = request["messages"]
    if provider.wire == "openai":
        return str(messages[0]["content"]), messages[1:]
    return str(request["system"]), messages
