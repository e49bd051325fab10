"""Replies in a form: what is sent to either provider, over real HTTP, and that nothing else changes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cache import Cache
from harness.models.anthropic import anthropic_model
from harness.models.exchange import Exchange
from harness.models.model import Form, Said
from harness.models.openai import openai_model
from harness.prices import Prices
from tests.harness.provider import Provider, Say, Wire, plain_client

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
FORM = Form("vote", SCHEMA)
SAID = '{"verdict": "yes"}'


def asked(provider: Provider, form: Form | None, cache: Cache | None = None, **options: Any) -> str:
    make: Any = openai_model if provider.wire == "openai" else anthropic_model
    model = make(
        "m", base_url=provider.base_url, environment={}, prices=Prices(()), http_client=plain_client(),
        exchange=Exchange(cache=cache), options=options,
    )  # fmt: skip
    with contextlib.closing(model):
        reply = model.reply("Judge.", [Said("This.")], [], repeat=0, seconds=10.0, form=form)
    assert provider.refused == []
    return str(reply.text)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_form_is_asked_for_in_the_words_of_each_protocol(wire: Wire) -> None:
    with Provider(wire, Say(SAID)) as provider:
        assert json.loads(asked(provider, FORM)) == {"verdict": "yes"}
        (request,) = provider.requests
    if wire == "openai":
        described = {"name": "vote", "strict": True, "schema": SCHEMA}
        assert request["response_format"] == {"type": "json_schema", "json_schema": described}
    else:
        assert request["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert "tools" not in request
    assert "tool_choice" not in request


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_without_a_form_the_request_says_nothing_of_one(wire: Wire) -> None:
    with Provider(wire, Say(SAID)) as provider:
        asked(provider, None)
        (request,) = provider.requests
    assert {"response_format", "output_config"}.isdisjoint(request)


def test_a_form_stands_beside_the_users_own_settings_of_the_output() -> None:
    with Provider("anthropic", Say(SAID)) as provider:
        asked(provider, FORM, output_config={"effort": "low"})
        (request,) = provider.requests
    assert request["output_config"]["effort"] == "low"
    assert request["output_config"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_replies_in_another_form_are_other_replies(wire: Wire, tmp_path: Path) -> None:
    with Provider(wire, Say(SAID), Say("yes")) as provider, Cache(tmp_path / "replies.sqlite") as cache:
        assert asked(provider, FORM, cache) == SAID
        assert asked(provider, None, cache) == "yes"
        assert asked(provider, FORM, cache) == SAID
        assert len(provider.requests) == 2
