"""Model agents over real HTTP against a provider that speaks both wire formats: how each kind of reply ends."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Briefing, Played
from harness.finish import FINISH
from harness.functions import tool
from harness.limits import Budget, Limits
from harness.loop import REMINDER, ModelAgent
from harness.models.anthropic import AnthropicModel, anthropic_model
from harness.models.bounded import PACKED_LIMIT, REPLY_LIMIT
from harness.models.exchange import Exchange, Patience
from harness.models.model import ModelSetupError
from harness.models.openai import OpenAIModel, openai_model
from harness.models.sdk import parsed
from harness.plain import json_text
from harness.prices import Prices, read_prices
from harness.tool import ToolResult
from harness.toolbox import MOST_CALLS
from harness.trace import Text, Usage
from tests.harness.provider import Cut, Drip, Fail, Flood, Hang, Provider, Raw, Say, Wire, plain_client

BRIEFING = Briefing("How old is she?", "Count only what you saw.", "2026-01-15T10:15:00+00:00")
DONE = Say(calls=[("finish", {"outcome": "done", "answer": ["63"], "note": "n"})])
KEYS = {"OPENAI_API_KEY": "right", "ANTHROPIC_API_KEY": "right"}


def look_up(name: str, count: int = 1) -> ToolResult:
    """Look somebody up.

    Args:
        name: Who.
        count: How many.
    """
    return ToolResult("ok", {"status": 200, "body": {"name": name, "count": count, "note": "é"}})


TOOLS = [tool(look_up), FINISH]


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


@pytest.fixture
def waits() -> list[float]:
    return []


class Clock:
    """A clock that only waiting moves."""

    def __init__(self, waits: list[float]) -> None:
        self.waits = waits

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def model_at(provider: Provider, *, exchange: Exchange | None = None, **options: Any) -> OpenAIModel | AnthropicModel:
    make: Callable[..., OpenAIModel | AnthropicModel] = openai_model if provider.wire == "openai" else anthropic_model
    given = {"base_url": provider.base_url, "environment": KEYS, "prices": Prices(()), "http_client": plain_client()}
    return make("m", exchange=exchange or Exchange(), **{**given, **options})


def play(provider: Provider, waits: list[float] | None = None, **options: Any) -> Played:
    limits = options.pop("limits", Limits())
    patience = options.pop("patience", Patience())
    clock = Clock([] if waits is None else waits)
    exchange = Exchange(patience=patience, sleep=clock.sleep, chance=lambda: 0.0)
    with provider, contextlib.closing(model_at(provider, exchange=exchange, **options)) as model:
        played = ModelAgent(model, limits).play(BRIEFING, TOOLS, repeat=0)
    assert provider.refused == [], "the real provider would have refused this request"
    return played


def test_a_model_calls_tools_and_finishes(wire: Wire) -> None:
    provider = Provider(wire, Say("I look her up.", [("look_up", {"name": "Ada", "count": 2})]), DONE)
    played = play(provider)
    assert (played.ending, played.claim, played.answer, played.note) == ("finished", "done", ("63",), "n")
    assert played.error is None
    assert [(c.position, c.step, c.name, c.arguments, c.status) for c in played.calls] == [
        (1, 1, "look_up", {"name": "Ada", "count": 2}, "ok")
    ]
    assert played.texts == (Text(step=1, text="I look her up."),)
    assert played.usage == Usage(input=200, output=20, calls=2, cost_usd=None)
    first, second = provider.requests
    messages = first["messages"]
    if wire == "openai":
        assert messages[0] == {"role": "system", "content": "Count only what you saw."}
        assert first["tools"][0] == {
            "type": "function",
            "function": {"name": "look_up", "description": "Look somebody up.", "parameters": TOOLS[0].parameters},
        }
        messages = messages[1:]
    else:
        assert first["system"] == "Count only what you saw."
        assert first["tools"][1]["input_schema"] == FINISH.parameters
    assert messages == [{"role": "user", "content": "The time is 2026-01-15T10:15:00+00:00.\n\nHow old is she?"}]
    result = '{"status":200,"body":{"name":"Ada","count":2,"note":"é"}}'
    told = second["messages"][-1]
    assert told == (
        {"role": "tool", "tool_call_id": "call_1_0", "content": result}
        if wire == "openai"
        else {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1_0", "content": result, "is_error": False}],
        }
    )


def test_parallel_calls_keep_their_order(wire: Wire) -> None:
    names = ["Ada", "Bo", "Cy", "Di"]
    provider = Provider(wire, Say(calls=[("look_up", {"name": name}) for name in names]), DONE)
    played = play(provider)
    assert [(c.position, c.step, c.arguments) for c in played.calls] == [
        (place, 1, {"name": name}) for place, name in enumerate(names, 1)
    ]
    told = provider.requests[1]["messages"]
    results = told[-4:] if wire == "openai" else told[-1]["content"]
    assert [json.loads(r["content"])["body"]["name"] for r in results] == names


def test_finish_beside_other_calls_ends_after_those_before_it(wire: Wire) -> None:
    calls = [("look_up", {"name": "Ada"}), *DONE.calls, ("look_up", {"name": "Bo"})]
    played = play(Provider(wire, Say(calls=calls)))
    assert (played.ending, played.answer) == ("finished", ("63",))
    assert [(c.name, c.status) for c in played.calls] == [("look_up", "ok"), ("look_up", "error")]
    assert "not carried out" in played.calls[1].result["error"]


@pytest.mark.parametrize("given", ['{"name": "Ad', "Ada", '["Ada"]', "{'name': 'Ada'}", '"x"', "null"])
def test_malformed_arguments_are_told_to_the_model_and_kept(wire: Wire, given: str) -> None:
    provider = Provider(wire, Say(calls=[("look_up", given)]), Say(calls=[("look_up", {"name": "Ada"})]), DONE)
    played = play(provider)
    assert played.ending == "finished"
    assert [(c.status, c.arguments, c.raw_arguments) for c in played.calls] == [
        ("error", None, given), ("ok", {"name": "Ada"}, None),
    ]  # fmt: skip
    assert "are not a JSON object" in json.dumps(provider.requests[1]["messages"][-1])


def test_arguments_in_text_keep_the_digits_of_their_numbers() -> None:
    values, raw = parsed('{"dose": 4.1234567890123456789, "times": 2}')
    assert raw is None and values == {"dose": 4.1234567890123456789, "times": 2}
    assert json_text(values) == '{"dose":4.1234567890123456789,"times":2}'
    assert parsed('{"dose": 1e999}') == (None, '{"dose": 1e999}')


def test_arguments_that_do_not_fit_are_told_to_the_model(wire: Wire) -> None:
    provider = Provider(wire, Say(calls=[("look_up", {"who": "Ada"})]), DONE)
    played = play(provider)
    assert played.ending == "finished"
    told = provider.requests[1]["messages"][-1]
    result = told if wire == "openai" else told["content"][0]
    assert json.loads(result["content"]) == {
        "error": "look_up: there is no argument 'who' (it takes name, count); argument 'name' is missing (text)."
    }
    if wire == "anthropic":
        assert result["is_error"] is True


@pytest.mark.parametrize("name", ["lookup", "look up. please", "ü", "x" * 80, ""])
def test_an_unknown_tool_is_told_to_the_model(wire: Wire, name: str) -> None:
    provider = Provider(wire, Say(calls=[(name, {"a": 1})]), DONE)
    played = play(provider)
    assert played.ending == "finished"
    assert (played.calls[0].name, played.calls[0].status) == (name, "error")
    assert "there is no tool" in played.calls[0].result["error"]


def test_a_finish_that_does_not_fit_is_told_to_the_model(wire: Wire) -> None:
    played = play(Provider(wire, Say(calls=[("finish", {"outcome": "yes"})]), DONE))
    assert (played.ending, played.claim) == ("finished", "done")
    assert [(c.name, c.status) for c in played.calls] == [("finish", "error")]


def test_a_refusal_is_an_ending_and_its_words_are_kept(wire: Wire) -> None:
    played = play(Provider(wire, Say("I must not do that.", stop="refused")))
    assert (played.ending, played.claim, played.note) == ("refused", None, "I must not do that.")
    assert played.texts == (Text(step=1, text="I must not do that."),)
    assert played.error is None


def test_a_reply_that_was_cut_off_is_an_ending_and_its_calls_are_not_made(wire: Wire) -> None:
    played = play(Provider(wire, Say("I look", [("look_up", {"name": "A"})], stop="cut_off")))
    assert (played.ending, played.note, played.calls) == ("cut_off", "I look", ())
    assert played.usage.calls == 1


def test_a_turn_without_a_call_gets_a_reminder_and_a_second_one_is_the_end(wire: Wire) -> None:
    provider = Provider(wire, Say("She is 63."), Say("As I said, 63."))
    played = play(provider)
    assert (played.ending, played.claim, played.note) == ("no_finish", None, "As I said, 63.")
    assert played.texts == (Text(step=1, text="She is 63."), Text(step=2, text="As I said, 63."))
    assert provider.requests[1]["messages"][-1] == {"role": "user", "content": REMINDER}


def test_a_call_after_the_reminder_starts_the_count_again(wire: Wire) -> None:
    look = Say(calls=[("look_up", {"name": "Ada"})])
    assert play(Provider(wire, Say("Hm."), look, Say("Hm."), DONE)).ending == "finished"


@pytest.mark.parametrize("text", ["", None, " "])
def test_a_turn_of_nothing_at_all_is_a_turn_without_a_call(wire: Wire, text: str | None) -> None:
    assert play(Provider(wire, Say(text), Say(text))).ending == "no_finish"


def test_a_text_that_is_none_is_a_turn_without_a_call() -> None:
    body = {"content": [{"type": "text", "text": None}]}
    assert play(Provider("anthropic", Raw(json.dumps(body).encode()), DONE)).ending == "finished"


def test_429_is_waited_for_as_long_as_the_server_asks(wire: Wire, waits: list[float]) -> None:
    limited = Fail(429, "slow down", "rate_limit_error", {"retry-after": "7"})
    played = play(Provider(wire, limited, limited, DONE), waits)
    assert played.ending == "finished"
    assert waits == [7.0, 7.0]
    assert played.usage.calls == 1


def test_500_is_tried_again_after_growing_waits(wire: Wire, waits: list[float]) -> None:
    assert play(Provider(wire, Fail(500), Fail(503), Fail(529), DONE), waits).ending == "finished"
    assert waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (Fail(429, "slow down"), "m answered 429: slow down"),
        (Fail(500, "it broke"), "m answered 500: it broke"),
        (Raw(b"<html>"), "the reply is no JSON object: b'<html>'"),
        (Raw(b"[]"), "the reply is no JSON object: b'[]'"),
        (Cut, "the connection to"),
    ],
)
def test_a_provider_that_goes_on_failing_makes_the_episode_unscored(
    wire: Wire, step: Any, sentence: str, waits: list[float]
) -> None:
    provider = Provider(wire, Say(calls=[("look_up", {"name": "Ada"})]), step)
    played = play(provider, waits)
    assert played.ending == "provider_error"
    assert sentence in (played.error or "")
    assert len(provider.requests) == 1 + Patience().attempts
    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert [c.name for c in played.calls] == ["look_up"], "what was done until then is kept"


def test_a_connection_that_was_cut_once_is_made_again(wire: Wire) -> None:
    assert play(Provider(wire, Cut, DONE)).ending == "finished"


def test_a_wait_that_is_too_long_is_not_waited(wire: Wire, waits: list[float]) -> None:
    tomorrow = Fail(429, "tomorrow", headers={"retry-after": "86400"})
    played = play(Provider(wire, tomorrow), waits, limits=Limits(seconds=1_000_000))
    assert (played.ending, waits) == ("provider_error", [])
    waits.clear()
    played = play(Provider(wire, Fail(429, "later", headers={"retry-after": "100"})), waits, limits=Limits(seconds=50))
    assert (played.ending, waits) == ("provider_error", [])
    assert "there is no time left to try again" in (played.error or "")


def test_a_date_to_wait_for_is_understood(wire: Wire, waits: list[float]) -> None:
    when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
    assert play(Provider(wire, Fail(503, headers={"retry-after": when}), DONE), waits).ending == "finished"
    assert 20 < waits[0] <= 30


@pytest.mark.parametrize(
    "fail",
    [
        Fail(400, "temperature is not supported with this model", "invalid_request_error"),
        Fail(404, "the model `m` does not exist", "model_not_found"),
        Fail(429, "You exceeded your current quota", "insufficient_quota"),
        Fail(500, "never mind", headers={"x-should-retry": "false"}),
    ],
)
def test_what_will_not_get_better_is_not_tried_again(wire: Wire, fail: Fail, waits: list[float]) -> None:
    played = play(Provider(wire, fail), waits)
    assert (played.ending, waits) == ("provider_error", [])
    assert fail.message in (played.error or "")


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_request_is_not_sent_on_to_another_server(wire: Wire, status: int, waits: list[float]) -> None:
    with Provider(wire, DONE) as other:
        onward = Fail(status, headers={"location": f"{other.base_url}/chat/completions"})
        played = play(Provider(wire, onward), waits)
        assert (played.ending, waits, other.requests) == ("provider_error", [], [])
    assert f"answered {status}: it sends requests on to '{other.base_url}" in str(played.error)


@pytest.mark.parametrize("slow", [Hang, Drip])
def test_a_time_out_is_a_provider_error(wire: Wire, slow: object) -> None:
    played = play(Provider(wire, slow), patience=Patience(attempts=2, timeout=0.1))
    assert played.ending == "provider_error"
    assert played.error == f"{wire}:m did not answer in time"


def test_a_reply_without_end_is_a_provider_error(wire: Wire) -> None:
    played = play(Provider(wire, Flood), patience=Patience(attempts=1))
    assert played.ending == "provider_error"
    assert f"the reply has more than {REPLY_LIMIT} bytes" in (played.error or "")


def test_a_packed_reply_is_read_and_one_that_may_fill_the_memory_is_not(wire: Wire) -> None:
    packed = {"content-encoding": "gzip"}
    said = Raw(gzip.compress(b'{"error": {"message": "it was packed"}}'), packed)
    assert "it was packed" in (play(Provider(wire, said), patience=Patience(attempts=1)).error or "")
    played = play(Provider(wire, Raw(b"?" * (PACKED_LIMIT + 1), packed)), patience=Patience(attempts=1))
    assert played.ending == "provider_error"
    bomb = gzip.compress(random.Random(1).randbytes(PACKED_LIMIT + 1))
    played = play(Provider(wire, Raw(bomb, packed)), patience=Patience(attempts=1))
    assert f"the reply has more than {PACKED_LIMIT} bytes" in (played.error or "")


@pytest.mark.parametrize("slow", [Hang, Drip])
def test_the_end_of_the_time_while_waiting_is_wall_time(wire: Wire, slow: object) -> None:
    provider = Provider(wire, Say(calls=[("look_up", {"name": "Ada"})]), slow)
    played = play(provider, limits=Limits(seconds=0.5))
    assert (played.ending, len(played.calls)) == ("wall_time", 1)


@pytest.mark.parametrize(
    "fail",
    [
        Fail(400, "This model's maximum context length is 8192 tokens; you ask for 9000", "context_length_exceeded"),
        Fail(400, "prompt is too long: 216000 tokens > 200000 maximum", "invalid_request_error"),
        Fail(400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
        Fail(400, "input length and `max_tokens` exceed context limit: 1 + 2 > 2", "invalid_request_error"),
        Fail(413, "Request exceeds the maximum size", "request_too_large"),
    ],
)  # fmt: skip
def test_a_context_that_is_full_is_the_agents_own_doing(wire: Wire, fail: Fail, waits: list[float]) -> None:
    played = play(Provider(wire, Say(calls=[("look_up", {"name": "Ada"})]), fail), waits)
    assert (played.ending, waits) == ("context_full", [])
    assert len(played.calls) == 1


def test_a_reply_that_filled_the_context_is_the_same() -> None:
    assert play(Provider("anthropic", Say("I", stop="context_full"))).ending == "context_full"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_auth_and_never_written(wire: Wire, status: int) -> None:
    secret = "sk-proj-abcdefghijklmnop"
    keys = {"OPENAI_API_KEY": secret, "ANTHROPIC_API_KEY": secret}
    provider = Provider(wire, DONE) if status == 401 else Provider(wire, Fail(403, f"no: {secret}"), key=secret)
    played = play(provider, environment=keys)
    assert played.ending == "auth"
    assert f"{wire}:m answered {status}: " in (played.error or "")
    assert "abcdef" not in (played.error or "")


def test_a_prompt_that_the_provider_filters_is_a_refusal() -> None:
    assert play(Provider("openai", Fail(400, "filtered", "content_filter"))).ending == "refused"


def test_limits_end_an_episode_before_the_next_model_call(wire: Wire) -> None:
    look = Say(calls=[("look_up", {"name": "Ada"})])
    provider = Provider(wire, look)
    played = play(provider, limits=Limits(turns=3))
    assert (played.ending, len(played.calls), len(provider.requests)) == ("max_turns", 3, 3)
    provider = Provider(wire, look)
    played = play(provider, limits=Limits(tokens=250))
    assert (played.ending, played.usage.input + played.usage.output) == ("max_tokens", 330)


def priced(tmp_path: Path, base_url: str) -> Prices:
    (tmp_path / "prices.toml").write_text(
        f"""
[[price]]
model = "openai:m"
base_url = "{base_url}"
input = 10
cached = 1
written = 20
output = 100
above = [{{ tokens = 1000, input = 20, cached = 2, written = 40, output = 200 }}]
source = "here"
date = 2026-01-01
[[price]]
model = "anthropic:*"
base_url = "{base_url}"
input = 10
cached = 1
written = 20
output = 100
source = "here"
date = 2026-01-01
"""
    )
    return read_prices(tmp_path / "prices.toml")


def test_usage_and_cost_are_kept(wire: Wire, tmp_path: Path) -> None:
    look = Say(calls=[("look_up", {"name": "Ada"})], input=1000, cached=600, written=100, output=50)
    provider = Provider(wire, look, DONE)
    prices = priced(tmp_path, provider.base_url)
    played = play(provider, prices=prices)
    cost = (300 * 10 + 600 * 1 + 100 * 20 + 50 * 100) / 1e6 + (100 * 10 + 10 * 100) / 1e6
    assert played.usage.model_dump(exclude={"cost_usd"}) == {"input": 1100, "output": 60, "cached": 600, "calls": 2}
    assert played.usage.cost_usd == pytest.approx(cost)


def test_what_uncounted_tokens_cost_is_unknown(wire: Wire, tmp_path: Path) -> None:
    finish = {"outcome": "unclear"}
    call = {"id": "c1", "type": "function", "function": {"name": "finish", "arguments": json.dumps(finish)}}
    body = {
        "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}],
        "content": [{"type": "tool_use", "id": "c1", "name": "finish", "input": finish}],
    }
    provider = Provider(wire, Raw(json.dumps(body).encode()))
    played = play(provider, prices=priced(tmp_path, provider.base_url))
    assert (played.ending, played.usage) == ("finished", Usage(calls=1, cost_usd=None))


@pytest.mark.parametrize("count", [-10, 10**13, "many", [1]])
def test_a_count_of_tokens_that_is_none_is_no_reply(wire: Wire, count: object) -> None:
    body = {
        "choices": [{"message": {"content": "Hm."}}], "content": [{"type": "text", "text": "Hm."}],
        "usage": {"prompt_tokens": count, "input_tokens": count},
    }  # fmt: skip
    played = play(Provider(wire, Raw(json.dumps(body).encode())), patience=Patience(attempts=1))
    assert (played.ending, played.usage.input) == ("provider_error", 0)
    assert "which is no number of tokens" in (played.error or "")


def test_tokens_that_were_kept_never_make_a_reply_cost_less_than_nothing(tmp_path: Path) -> None:
    """Some servers count them beside the input."""
    provider = Provider("openai", Say(calls=DONE.calls, input=100, cached=600, output=10))
    played = play(provider, prices=priced(tmp_path, provider.base_url))
    assert (played.usage.input, played.usage.cached) == (700, 600)
    assert played.usage.cost_usd == pytest.approx((100 * 10 + 600 * 1 + 10 * 100) / 1e6)


def test_a_long_request_costs_the_rates_of_its_tier(tmp_path: Path) -> None:
    provider = Provider("openai", Say(calls=DONE.calls, input=1001, cached=1, output=1))
    played = play(provider, prices=priced(tmp_path, provider.base_url))
    assert played.usage.cost_usd == pytest.approx((1000 * 20 + 1 * 2 + 1 * 200) / 1e6)


def test_money_ends_an_episode_as_budget(wire: Wire, tmp_path: Path) -> None:
    look = Say(calls=[("look_up", {"name": "Ada"})])
    provider = Provider(wire, look)
    played = play(provider, prices=priced(tmp_path, provider.base_url), limits=Limits(cost_usd=0.005))
    assert (played.ending, played.usage.calls) == ("budget", 3)
    provider = Provider(wire, look)
    budget = Budget(0.003)
    prices = priced(tmp_path, provider.base_url)
    with provider, contextlib.closing(model_at(provider, prices=prices)) as model:
        played = ModelAgent(model, budget=budget).play(BRIEFING, TOOLS, repeat=0)
    assert (played.ending, played.usage.calls) == ("budget", 2)
    assert budget.spent == pytest.approx(0.004)


def test_a_model_whose_replies_hold_thousands_of_calls_has_had_its_turns() -> None:
    provider = Provider("openai", Say(calls=[("look_up", {"name": "Ada"})] * (MOST_CALLS + 1)))
    played = play(provider)
    assert (played.ending, len(played.calls)) == ("max_turns", MOST_CALLS)


def test_options_go_into_the_request_as_they_are() -> None:
    provider = Provider("openai", DONE)
    play(provider, options={"temperature": 0, "seed": 7, "top_k": 5, "chat_template_kwargs": {"thinking": False}})
    sent = provider.requests[0]
    assert (sent["temperature"], sent["seed"], sent["top_k"]) == (0, 7, 5)
    assert sent["chat_template_kwargs"] == {"thinking": False}
    provider = Provider("anthropic", DONE)
    play(provider, options={"max_tokens": 99, "thinking": {"type": "adaptive"}})
    sent = provider.requests[0]
    assert (sent["max_tokens"], sent["thinking"]) == (99, {"type": "adaptive"})


def test_reasoning_is_given_back_as_it_came(wire: Wire) -> None:
    provider = Provider(wire, Say("Hm.", [("look_up", {"name": "Ada"})], thinking="She was born in 1963."), DONE)
    played = play(provider)
    assert played.texts == (Text(step=1, text="Hm."),)
    back = next(m for m in provider.requests[1]["messages"] if m["role"] == "assistant")
    if wire == "openai":
        assert back["reasoning_content"] == "She was born in 1963."
    else:
        assert back["content"][0] == {"type": "thinking", "thinking": "She was born in 1963.", "signature": "sealed"}


def test_odd_servers_are_understood() -> None:
    def call(**call: Any) -> dict[str, Any]:
        return {"type": "function", **call}

    body = {
        "choices": [
            {
                "finish_reason": "stop",
                "message": {
                    "content": [{"type": "text", "text": "Hm."}],
                    "tool_calls": [
                        call(id="1", function={"name": "look_up", "arguments": {"name": "Ada"}}),
                        call(id="1", function={"name": "look_up", "arguments": '{"name": "Bo"}'}),
                        call(function={"name": "look_up", "arguments": ""}),
                        call(id=None, function={"name": "look_up", "arguments": '{"name": "\\ud800"}'}),
                    ],
                },
            }
        ]
    }
    provider = Provider("openai", Raw(json.dumps(body).encode()), DONE)
    played = play(provider)
    assert played.ending == "finished"
    assert played.texts == (Text(step=1, text="Hm."),)
    assert [(c.status, c.arguments) for c in played.calls] == [
        ("ok", {"name": "Ada"}), ("ok", {"name": "Bo"}), ("error", {}), ("ok", {"name": "\ufffd\ufffd\ufffd"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"choices": []}',
        b'{"content": 5}',
        b'{"choices": [{"message": 5}], "content": [5]}',
        b'{"choices": [{"message": {"refusal": 5}}], "content": [{"type": "text"}]}',
    ],
)
def test_a_reply_of_another_form_is_a_provider_error(wire: Wire, body: bytes, waits: list[float]) -> None:
    played = play(Provider(wire, Raw(body)), waits)
    assert played.ending == "provider_error"
    assert "the reply is no " in (played.error or "")
    assert len(waits) == Patience().attempts - 1
    assert play(Provider(wire, Raw(body), DONE), waits).ending == "finished"


@pytest.mark.parametrize(
    ("error", "ending", "tries"),
    [
        ({"code": 429, "message": "rate limited upstream"}, "provider_error", Patience().attempts),
        ({"type": "overloaded_error", "message": "overloaded"}, "provider_error", Patience().attempts),
        ({"code": "insufficient_quota", "message": "no credit"}, "provider_error", 1),
        ({"code": 401, "message": "no such key"}, "auth", 1),
        ({"code": "context_length_exceeded", "message": "too long"}, "context_full", 1),
        ({"message": "This model's maximum context length is 8192 tokens"}, "context_full", 1),
    ],
)
def test_an_error_that_comes_as_a_success_is_one(
    wire: Wire, error: dict[str, Any], ending: str, tries: int, waits: list[float]
) -> None:
    provider = Provider(wire, Raw(json.dumps({"error": error}).encode()))
    played = play(provider, waits)
    assert played.ending == ending
    assert (played.error or "").endswith(f"it says: {error['message']}")
    assert len(provider.requests) == tries


@pytest.fixture
def no_keys() -> Iterator[dict[str, str]]:
    yield {"PATH": ""}


@pytest.mark.parametrize(
    ("make", "variable"), [(openai_model, "OPENAI_API_KEY"), (anthropic_model, "ANTHROPIC_API_KEY")]
)
def test_a_missing_key_is_one_sentence_at_the_start(make: Any, variable: str, no_keys: dict[str, str]) -> None:
    with pytest.raises(ModelSetupError, match=f"{variable} is not set, and .* does not answer without a key") as error:
        make("m", environment=no_keys)
    assert "\n" not in str(error.value)


def test_another_server_needs_no_key(wire: Wire, no_keys: dict[str, str]) -> None:
    assert play(Provider(wire, DONE, key="none"), environment=no_keys).ending == "finished"


def test_the_base_url_may_come_from_the_environment(wire: Wire) -> None:
    provider = Provider(wire, DONE)
    name = "OPENAI_BASE_URL" if wire == "openai" else "ANTHROPIC_BASE_URL"
    played = play(provider, base_url=None, environment={**KEYS, name: provider.base_url + "/"})
    assert played.ending == "finished"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8089",
        "ftp://x/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
        "http://h:x/",
    ],
)
def test_a_base_url_that_is_none_or_holds_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ModelSetupError, match="base URL") as error:
        openai_model("m", base_url=url, environment=KEYS)
    assert "secret" not in str(error.value)


def test_settings_say_everything_but_the_key() -> None:
    model = openai_model(
        "m", base_url="http://127.0.0.1:1/v1", options={"seed": 1}, environment={"OPENAI_API_KEY": "hush"}
    )
    agent = ModelAgent(model, Limits(turns=5))
    assert agent.settings == {
        "provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", "options": {"seed": 1},
        "protocol": "tools", "limits": {"turns": 5, "tokens": None},
    }  # fmt: skip
    assert agent.name == "openai:m"
    assert "hush" not in repr(model)
    assert ModelAgent(model, Limits(turns=6)).digest != agent.digest
    assert ModelAgent(model, Limits(turns=5, seconds=1, cost_usd=1)).digest == agent.digest
    assert ModelAgent(model, label="mine").name == "mine"


def test_many_episodes_at_once_share_one_model(wire: Wire) -> None:
    def answer(request: dict[str, Any]) -> Say:
        return Say(calls=[("look_up", {"name": "Ada"})]) if len(request["messages"]) < 3 else DONE

    provider = Provider(wire, answer)
    played: list[Played] = []
    with provider, contextlib.closing(model_at(provider)) as model:
        agent = ModelAgent(model)
        threads = [
            threading.Thread(target=lambda: played.append(agent.play(BRIEFING, TOOLS, repeat=0))) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [p.ending for p in played] == ["finished"] * 16
    assert {len(p.calls) for p in played} == {1}
