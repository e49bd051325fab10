"""Models behind the Chat Completions protocol: OpenAI's, and any server that speaks it (vLLM, Ollama, llama.cpp)."""

from __future__ import annotations

import json
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

OWN_URL = "https://api.openai.com/v1"
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"

_REASONING = ("reasoning_content", "reasoning_details")
"""What some servers send of a model's reasoning and want to be given back."""


@dataclass(frozen=True)
class OpenAIModel:
    """`openai:<model>`. Made by `openai_model`."""

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
        """`openai:<model>`."""
        return f"openai:{self.model}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Provider, base URL, model, and the options of the request."""
        return {"provider": "openai", "base_url": self.base_url, "model": self.model, "options": dict(self.options)}

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
        request: dict[str, Any] = {"model": self.model, "messages": _messages(system, history), **self.options}
        if tools:
            request["tools"] = [_declared(tool) for tool in tools]
        if form:
            described = {"name": form.name, "schema": form.schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": described}
        question = Question("openai", self.base_url, self.model, request, repeat)
        turn = sum(isinstance(turn, Reply) for turn in history) + 1

        def read(body: Mapping[str, Any], is_kept: bool) -> Reply:
            return _read(body, self.price, is_kept=is_kept, turn=turn)

        return self.exchange.ask(question, self.send, read, seconds=seconds)

    def close(self) -> None:
        """Let the connections go."""
        self.client.close()

    def send(self, request: bytes, timeout: float) -> bytes:
        """The body of the reply to a request written as JSON. Raises `NoReplyError`."""
        import httpx2
        import openai

        # The request as it is, not as the library's arguments: what it has no argument for goes to the server all the
        # same, and its walk over every message, which may take longer than all else here, is left out.
        try:
            response = self.client.post(
                "/chat/completions", cast_to=httpx2.Response, content=request, options=sending(timeout)
            )
        except openai.OpenAIError as problem:
            raise no_reply(openai, self.name, problem) from problem
        content: bytes = response.content
        return content


def openai_model(
    model: str,
    *,
    base_url: str | None = None,
    options: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    exchange: Exchange | None = None,
    environment: Mapping[str, str] = os.environ,
    http_client: httpx2.Client | None = None,
) -> OpenAIModel:
    """The model, ready to be asked. `options` go into each request as they are (`temperature`, `seed`, ...).

    Base URL and key come from `OPENAI_BASE_URL` and `OPENAI_API_KEY` where they are not given. Raises
    `ModelSetupError`.
    """
    import openai

    from harness.models.bounded import with_bounded_replies

    url = checked_base_url(base_url or environment.get(URL) or OWN_URL)
    is_own = url == OWN_URL
    key = key_for("OpenAI", KEY, environment, is_own_server=is_own)
    # Retries are ours (see `exchange`), so that waiting is known to the time limit of the episode.
    http = with_bounded_replies(http_client or openai.DefaultHttpxClient())
    client = openai.OpenAI(api_key=key, base_url=url, max_retries=0, http_client=http)
    is_plain = http_client is None and environment.get(KEY) == os.environ.get(KEY)
    if http_client is None:  # it is ours to close, as the library would close its own
        weakref.finalize(client, http.close)
    price = (prices or read_prices()).find(f"openai:{model}", None if is_own else url)
    return OpenAIModel(model, url, dict(options or {}), price, exchange or Exchange(), client, is_plain)


def _declared(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _messages(system: str, history: Sequence[Turn]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for turn in history:
        match turn:
            case Said():
                messages.append({"role": "user", "content": turn.text})
            case Answered():
                messages.extend(
                    {"role": "tool", "tool_call_id": result.id, "content": result.text} for result in turn.results
                )
            case Reply():
                messages.append(_given_back(turn))
    return messages


def _given_back(reply: Reply) -> dict[str, Any]:
    """The model's turn as it is sent back to it.

    Arguments that did not parse go back as none, since servers parse them again and refuse the whole request; what
    was wrong stands in the call's result. So do names that the protocol does not allow.
    """
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, **(reply.message or {})}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": asked.id,
                "type": "function",
                "function": {
                    "name": safe_name(asked.name),
                    "arguments": json.dumps(asked.arguments or {}, ensure_ascii=False),
                },
            }
            for asked in reply.calls
        ]
    elif not reply.text:
        message["content"] = ""
    return message


def _read(body: Mapping[str, Any], price: Price | None, *, is_kept: bool, turn: int) -> Reply:
    try:
        choice = body["choices"][0]
        message = choice["message"]
        tokens = _tokens(body.get("usage") or {})
        asked = [_asked(call, f"call_{turn}_{place}") for place, call in enumerate(message.get("tool_calls") or [], 1)]
        refusal = _text(message.get("refusal"))
        texts = [text for text in (_text(message.get("content")), refusal) if text]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as problem:
        raise no_reply_in(body, f"the reply is no chat completion: {problem!r}") from None
    # Without a count of tokens nobody knows what it cost.
    cost = None if price is None or not body.get("usage") else price.rates(tokens).cost(tokens)
    return Reply(
        texts=tuple(texts),
        calls=tuple(_distinct(asked)),
        stop=_stop(choice.get("finish_reason"), is_refusal=bool(refusal) and not asked),
        usage=Usage(input=tokens.input, output=tokens.output, cached=tokens.cached, calls=1, cost_usd=cost),
        billed_usd=0.0 if is_kept else cost,
        is_kept=is_kept,
        message={key: message[key] for key in _REASONING if message.get(key)},
    )


def _stop(reason: Any, *, is_refusal: bool) -> Stop:
    if is_refusal or reason == "content_filter":
        return "refused"
    return "cut_off" if reason == "length" else "ended"


def _asked(call: Mapping[str, Any], spare_id: str) -> Asked:
    function = call["function"]
    given = function.get("arguments")
    return Asked(str(call.get("id") or spare_id), str(function["name"]), *parsed(given))


def _distinct(asked: Sequence[Asked]) -> list[Asked]:
    """The calls with ids that differ, which not every server takes care of."""
    seen: set[str] = set()
    distinct = []
    for place, each in enumerate(asked, 1):
        key = each.id if each.id not in seen else f"{each.id}_{place}"
        seen.add(key)
        distinct.append(Asked(key, each.name, each.arguments, each.raw))
    return distinct


def _text(content: Any) -> str:
    """The text of a message: a string, or parts of which some are text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(str(part.get("text") or "") for part in content)


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    """Some servers count what they kept beside the input and not within it, as shows where it is more."""
    details = usage.get("prompt_tokens_details") or {}
    given, cached = counted(usage, "prompt_tokens"), counted(details, "cached_tokens")
    written = counted(details, "cache_write_tokens")
    beside = cached + written if cached + written > given else 0
    return Tokens(given + beside, counted(usage, "completion_tokens"), cached, written)
