"""Models behind Anthropic's Messages protocol.

There are no sampling settings: the current models refuse a temperature, and the library has no argument for one.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.cache import Question
from harness.models.exchange import Exchange
from harness.models.model import Answered, Asked, Form, Reply, Said, Stop, Turn
from harness.models.sdk import checked_base_url, counted, key_for, no_reply, no_reply_in, parsed, safe_name, sending
from harness.prices import Price, Prices, Tokens, read_prices
from harness.tool import Tool
from harness.trace import Usage

if TYPE_CHECKING:
    import httpx2

OWN_URL = "https://api.anthropic.com"
KEY, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"

MAX_TOKENS = 16_000
"""The longest reply, which this protocol must be told; `options` may say another."""

_STOPS: Mapping[str, Stop] = {
    "max_tokens": "cut_off", "refusal": "refused", "model_context_window_exceeded": "context_full",
}  # fmt: skip


@dataclass(frozen=True)
class AnthropicModel:
    """`anthropic:<model>`. Made by `anthropic_model`."""

    model: str
    base_url: str
    options: Mapping[str, Any]
    price: Price | None
    exchange: Exchange
    client: Any = field(repr=False)
    is_plain: bool = False
    """Whether its name, its base URL and the environment make it again, as another interpreter needs (`courier`)."""

    @property
    def name(self) -> str:
        """`anthropic:<model>`."""
        return f"anthropic:{self.model}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Provider, base URL, model, and the options of the request."""
        return {"provider": "anthropic", "base_url": self.base_url, "model": self.model, "options": dict(self.options)}

    def reply(
        self,
        system: str,
        history: Sequence[Turn],
        tools: Sequence[Tool],
        *,
        repeat: int,
        seconds: float,
        form: Form | None = None,
    ) -> Reply:
        """The next turn. See `Model`."""
        request: dict[str, Any] = {"model": self.model, "messages": _messages(history), **self.options}
        if system:
            request["system"] = system
        if tools:
            request["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
            ]
        if form:
            format = {"type": "json_schema", "schema": form.schema}
            request["output_config"] = {**request.get("output_config", {}), "format": format}
        question = Question("anthropic", self.base_url, self.model, request, repeat)

        def read(body: Mapping[str, Any], is_kept: bool) -> Reply:
            return _read(body, self.price, is_kept=is_kept)

        return self.exchange.ask(question, self.send, read, seconds=seconds)

    def close(self) -> None:
        """Let the connections go."""
        self.client.close()

    def send(self, request: bytes, timeout: float) -> bytes:
        """The body of the reply to a request written as JSON. Raises `NoReplyError`."""
        import anthropic
        import httpx2

        # The request as it is, not as the library's arguments: see `harness.models.openai`.
        try:
            response = self.client.post(
                "/v1/messages", cast_to=httpx2.Response, content=request, options=sending(timeout)
            )
        except anthropic.AnthropicError as problem:
            raise no_reply(anthropic, self.name, problem) from problem
        content: bytes = response.content
        return content


def anthropic_model(
    model: str,
    *,
    base_url: str | None = None,
    options: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    exchange: Exchange | None = None,
    environment: Mapping[str, str] = os.environ,
    http_client: httpx2.Client | None = None,
) -> AnthropicModel:
    """The model, ready to be asked. `options` go into each request as they are (`max_tokens`, `thinking`, ...).

    Base URL and key come from `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` where they are not given. Of the provider's
    own server, the growing history of an episode is kept in its prompt cache. Raises `ModelSetupError`.
    """
    import anthropic

    from harness.models.bounded import with_bounded_replies

    url = checked_base_url(base_url or environment.get(URL) or OWN_URL)
    is_own = url == OWN_URL
    key = key_for("Anthropic", KEY, environment, is_own_server=is_own)
    # Retries are ours (see `exchange`), so that waiting is known to the time limit of the episode.
    http = with_bounded_replies(http_client or anthropic.DefaultHttpxClient())
    client = anthropic.Anthropic(api_key=key, base_url=url, max_retries=0, http_client=http)
    is_plain = http_client is None and environment.get(KEY) == os.environ.get(KEY)
    if http_client is None:  # it is ours to close, as the library would close its own
        weakref.finalize(client, http.close)
    price = (prices or read_prices()).find(f"anthropic:{model}", None if is_own else url)
    caching = {"cache_control": {"type": "ephemeral"}} if is_own else {}
    settings = {"max_tokens": MAX_TOKENS, **caching, **(options or {})}
    return AnthropicModel(model, url, settings, price, exchange or Exchange(), client, is_plain)


def _messages(history: Sequence[Turn]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for turn in history:
        match turn:
            case Said():
                messages.append({"role": "user", "content": turn.text})
            case Answered():
                results = [
                    {"type": "tool_result", "tool_use_id": r.id, "content": r.text, "is_error": r.is_error}
                    for r in turn.results
                ]
                messages.append({"role": "user", "content": results})
            case Reply():
                messages.append({"role": "assistant", "content": _given_back(turn)})
    return messages


def _given_back(reply: Reply) -> list[dict[str, Any]]:
    """The model's turn as it is sent back to it: its own blocks, thinking included, as they came.

    Changed is only what the protocol does not take back: empty texts, inputs that are no object, names it forbids.
    """
    said = [block for block in reply.message if block.get("type") != "text" or str(block.get("text") or "").strip()]
    back = [_block(block) for block in said]
    return back or [{"type": "text", "text": "(nothing)"}]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") != "tool_use":
        return block
    given = block.get("input")
    return {**block, "name": safe_name(str(block.get("name"))), "input": given if isinstance(given, dict) else {}}


def _read(body: Mapping[str, Any], price: Price | None, *, is_kept: bool) -> Reply:
    try:
        blocks = body["content"]
        texts = [str(block["text"]) for block in blocks if block["type"] == "text" and block["text"]]
        asked = [
            Asked(str(block["id"]), str(block["name"]), *parsed(block.get("input")))
            for block in blocks
            if block["type"] == "tool_use"
        ]
        tokens = _tokens(body.get("usage") or {})
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise no_reply_in(body, f"the reply is no message: {problem!r}") from None
    # Without a count of tokens nobody knows what it cost.
    cost = None if price is None or not body.get("usage") else price.rates(tokens).cost(tokens)
    return Reply(
        texts=tuple(texts),
        calls=tuple(asked),
        stop=_STOPS.get(str(body.get("stop_reason")), "ended"),
        usage=Usage(input=tokens.input, output=tokens.output, cached=tokens.cached, calls=1, cost_usd=cost),
        billed_usd=0.0 if is_kept else cost,
        is_kept=is_kept,
        message=blocks,
    )


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    """This protocol counts what was read from the cache, or written into it, beside the input and not within it."""
    cached, written = counted(usage, "cache_read_input_tokens"), counted(usage, "cache_creation_input_tokens")
    return Tokens(counted(usage, "input_tokens") + cached + written, counted(usage, "output_tokens"), cached, written)
