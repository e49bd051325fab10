"""Requests carried by another interpreter: the same replies and faults as from this one, and never two of them lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from harness.cache import Cache, Question
from harness.models.anthropic import AnthropicModel, anthropic_model
from harness.models.courier import Courier, CourierError, Lane, carried
from harness.models.exchange import CARRY, Exchange, Patience
from harness.models.model import NoReplyError, Said
from harness.models.openai import OpenAIModel, openai_model
from harness.prices import Prices
from tests.harness.provider import Cut, Fail, Hang, Provider, Raw, Say, Step, Wire, plain_client
from tests.support import ROOT

KEY = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wire:
    for name in KEY.values():
        monkeypatch.setenv(name, "right")
    chosen: Wire = request.param
    return chosen


def model_at(base_url: str, wire: Wire, **options: Any) -> OpenAIModel | AnthropicModel:
    make: Callable[..., OpenAIModel | AnthropicModel] = openai_model if wire == "openai" else anthropic_model
    given = {"base_url": base_url, "prices": Prices(()), "exchange": Exchange(patience=Patience(attempts=1))}
    return make("m", **{**given, **options})


@contextlib.contextmanager
def lane_for(*models: OpenAIModel | AnthropicModel) -> Iterator[tuple[Lane, Courier]]:
    """A lane of another interpreter that is up."""
    with contextlib.closing(Courier(models, 1, worth=1)) as courier:
        (lane,) = courier.lanes
        courier.place(Question(models[0].name.split(":")[0], models[0].base_url, models[0].model, {}, 0))
        assert lane.connection is not None
        assert lane.connection.poll(60), "the other interpreter is not up"
        token = CARRY.set(lane.carry)
        try:
            yield lane, courier
        finally:
            CARRY.reset(token)


def reply(model: OpenAIModel | AnthropicModel, seconds: float = 20.0) -> Any:
    return model.reply("Be brief.", [Said("How old is she, é?")], (), repeat=0, seconds=seconds)


def test_a_carried_reply_is_the_same_as_one_from_here(wire: Wire) -> None:
    with Provider(wire, Say("63", cached=7, thinking="Hm.")) as provider:
        model = model_at(provider.base_url, wire)
        here = reply(model)
        with lane_for(model) as (lane, _):
            there = reply(model)
            assert lane.carried == 1
    assert there.texts == here.texts == ("63",)
    assert there.usage == here.usage
    assert provider.requests[0] == provider.requests[1]
    assert not provider.refused


@pytest.mark.parametrize(
    "step",
    [
        Fail(401, "no such key"), Fail(429, "later", headers={"retry-after": "7"}), Fail(500), Fail(400, "no", "odd"),
        Fail(400, "prompt is too long"), Fail(403), Fail(503, headers={"x-should-retry": "false"}), Cut, Raw(b"no"),
    ],
)  # fmt: skip
def test_a_carried_fault_is_the_same_as_one_from_here(wire: Wire, step: Step) -> None:
    def fault(model: OpenAIModel | AnthropicModel) -> tuple[Any, ...]:
        with pytest.raises(NoReplyError) as raised:
            reply(model)
        return str(raised.value), raised.value.ending, raised.value.retryable, raised.value.wait, raised.value.timed_out

    with Provider(wire, step) as provider:
        model = model_at(provider.base_url, wire)
        here = fault(model)
        with lane_for(model):
            assert fault(model) == here
    assert len(provider.requests) == 2


def test_a_carried_request_has_its_time(wire: Wire) -> None:
    with Provider(wire, Hang) as provider:
        model = model_at(provider.base_url, wire)
        with lane_for(model), pytest.raises(NoReplyError) as raised:
            reply(model, seconds=0.3)
    assert raised.value.ending == "wall_time"


def test_what_the_cache_has_is_carried_nowhere(tmp_path: Path) -> None:
    with Provider("openai", Say("63")) as provider, Cache(tmp_path / "c.sqlite") as cache:
        model = model_at(provider.base_url, "openai", exchange=Exchange(cache))
        with lane_for(model) as (lane, _):
            assert reply(model).texts == reply(model).texts == ("63",)
            assert lane.carried == 1
    assert len(provider.requests) == 1


def test_once_it_is_gone_requests_are_sent_from_here() -> None:
    with Provider("openai", Say("63")) as provider:
        model = model_at(provider.base_url, "openai")
        with lane_for(model) as (lane, courier):
            assert courier.pid is not None
            os.kill(courier.pid, signal.SIGKILL)
            assert reply(model).texts == reply(model).texts == ("63",)
            assert lane.carried == 0


def test_once_it_is_closed_nothing_in_flight_is_sent_again() -> None:
    with Provider("openai", Hang) as provider:
        model = model_at(provider.base_url, "openai")
        with lane_for(model) as (_, courier):

            def closed(question: Question, written: bytes, timeout: float) -> bytes | None:
                courier.close()
                return courier.lanes[0].carry(question, written, timeout)

            CARRY.set(closed)
            with pytest.raises(NoReplyError, match="nobody waits"):
                reply(model)
    assert not provider.requests


def test_it_is_started_for_many_requests_only_and_not_for_other_models() -> None:
    with Provider("openai", Say("63")) as provider:
        model = model_at(provider.base_url, "openai")
        question = Question("openai", provider.base_url, "m", {}, 0)
        with contextlib.closing(Courier([model], 2, worth=3)) as courier:
            assert [courier.place(question), courier.pid] == [0, None]
            assert courier.place(Question("openai", provider.base_url, "other", {}, 0)) is None
            assert [courier.place(question), courier.pid] == [0, None]
            courier.place(question)
            assert courier.pid is not None


def test_once_it_is_closed_it_is_not_started_any_more() -> None:
    model = model_at("http://127.0.0.1:9/v1", "openai")
    courier = Courier([model], 1, worth=1)
    courier.close()
    assert courier.lanes[0].carry(Question("openai", model.base_url, "m", {}, 0), b"{}", 1.0) is None
    assert courier.pid is None


def test_a_fault_of_ours_there_is_raised_here_and_no_reply() -> None:
    model = model_at("http://127.0.0.1:9/v1", "openai")
    model.close()
    with pytest.raises(CourierError, match="client has been closed"):
        _told(model)


def _told(model: OpenAIModel | AnthropicModel) -> bytes | None:
    """What a lane makes of what is carried by a model that cannot send."""
    ours, theirs = Pipe()
    lane = Lane(Courier([model], 0, worth=2))
    lane.connection = ours
    theirs.send_bytes(b"u")
    theirs.send_bytes(carried(model, b"{}", 1.0))
    with ours, theirs:
        return lane.carry(Question("openai", model.base_url, "m", {}, 0), b"{}", 1.0)


def test_ctrl_c_at_the_terminal_does_not_reach_it() -> None:
    with Provider("openai", Say("63")) as provider:
        model = model_at(provider.base_url, "openai")
        with lane_for(model) as (_, courier):
            assert courier.pid is not None
            assert os.getsid(courier.pid) == courier.pid != os.getsid(0)


@pytest.mark.parametrize(
    "other", [{"http_client": plain_client()}, {"environment": {"OPENAI_API_KEY": "another"}}], ids=["client", "key"]
)
def test_a_model_that_cannot_be_made_again_is_not_carried(other: dict[str, Any]) -> None:
    with Provider("openai", Say("63")) as provider:
        model = model_at(provider.base_url, "openai", **other)
        with contextlib.closing(Courier([model], 1, worth=1)) as courier:
            assert courier.place(Question("openai", provider.base_url, "m", {}, 0)) is None
            assert courier.pid is None


def test_the_key_is_not_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Provider("openai", Say("63"), key="sk-very-secret") as provider:
        model = model_at(provider.base_url, "openai")
        with lane_for(model) as (_, courier):
            shown = subprocess.run(
                ["ps", "-o", "args=", "-p", str(courier.pid)], capture_output=True, text=True, check=True
            ).stdout
            assert "harness.models.courier" in shown
            assert "secret" not in shown
            assert reply(model).texts == ("63",)


_OWNER = """
import sys, time
from harness.cache import Question
from harness.models.courier import Courier
from harness.models.openai import openai_model
model = openai_model("m", base_url="http://127.0.0.1:9/v1")
courier = Courier([model], 1, worth=1)
courier.place(Question("openai", model.base_url, "m", {}, 0))
print(courier.pid, flush=True)
time.sleep(60)
"""


def test_it_ends_with_its_owner_whatever_ends_that() -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert owner.stdout is not None
    pid = json.loads(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break  # it ended, and nobody has looked yet
        time.sleep(0.05)
    else:
        assert time.monotonic() < until, "the other interpreter is still there"
