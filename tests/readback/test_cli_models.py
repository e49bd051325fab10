"""Models from the command line: real requests to a provider on the loopback address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.provider import Fail, Provider, Say
from tests.readback.command import Ended, readback

AGES = ["--task", "patient-age", "--per-template", "2"]
FINISH = Say(calls=[("finish", {"outcome": "unclear"})])
PRICES = """
[[price]]
model = "openai:m"
base_url = "ADDRESS"
input = 1000.0
output = 1000.0
source = "a test"
date = 2026-01-15
"""


def run(record: Path, provider: Provider, *more: str | Path) -> Ended:
    return readback(
        "run", "ehr", "--record", record, *AGES, "--agent", f"{provider.wire}:m", "--base-url", provider.base_url,
        "--jobs", "1", "--json", *more,
    )  # fmt: skip


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_plays_with_idle_and_blind_beside_it(here: Path, small_record: Path, wire: Any) -> None:
    search = Say("Let me look.", calls=[("fhir_search", {"type": "Patient", "parameters": {"name": "a"}})])
    with Provider(wire, search, FINISH, search, FINISH) as provider:
        ended = run(small_record, provider, "--out", "a")
    assert ended.code == 0
    row = ended.document["rows"][0]
    assert (row["agent"], row["kind"], row["endings"]) == (f"{wire}:m", "model", {"finished": 2})
    assert row["usage"]["input"] == 400
    assert row["usage"]["cost_usd"] is None
    assert [row["agent"] for row in ended.document["rows"][1:]] == ["idle", "blind"]
    assert provider.refused == []
    shown = readback("show", "a", "ehr/patient-age/0001", "--agent", f"{wire}:m").out
    assert "Let me look." in shown
    assert "1. fhir_search" in shown


def test_replies_are_kept_and_used_again_or_only(here: Path, small_record: Path) -> None:
    with Provider("openai", FINISH) as provider:
        assert run(small_record, provider).code == 0
        assert len(provider.requests) == 2
        assert run(small_record, provider).code == 0
        assert run(small_record, provider, "--cache", "only").code == 0
        assert len(provider.requests) == 2
        assert run(small_record, provider, "--cache", "off").code == 0
        assert len(provider.requests) == 4
        assert (here / "cache/readback/replies.sqlite").is_file()
        assert run(small_record, provider, "--seed", "2", "--cache", "only").code == 3


def test_settings_behind_the_model_go_into_the_request_and_make_another_agent(here: Path, small_record: Path) -> None:
    with Provider("openai", FINISH) as provider:
        ended = readback(
            "run", "ehr", "--record", small_record, *AGES, "--base-url", provider.base_url, "--json",
            "--agent", "openai:m", "--agent", "openai:m?temperature=0.5&user=me",
        )  # fmt: skip
    assert [row["agent"] for row in ended.document["rows"][:2]] == ["openai:m", "openai:m?temperature=0.5&user=me"]
    assert [request.get("temperature") for request in provider.requests].count(0.5) == 2
    assert {request.get("user") for request in provider.requests} == {None, "me"}
    assert len(ended.document["comparisons"]) == 1


def test_the_key_is_sent_and_written_nowhere(here: Path, small_record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    with Provider("openai", FINISH, key="sk-very-secret-key") as provider:
        assert run(small_record, provider).code == 0
    for path in here.rglob("*"):
        assert not path.is_file() or b"very-secret" not in path.read_bytes(), path


def test_a_wrong_key_is_told_and_resume_goes_on_with_the_right_one(
    here: Path, small_record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    with Provider("openai", FINISH) as provider:
        ended = run(small_record, provider, "--out", "a")
        assert ended.code == 3
        assert ended.document["rows"][0]["endings"] == {"auth": 1}
        assert "warning: openai:m" in ended.err
        assert "sk-wrong" not in ended.err
        assert "readback resume a" in ended.err
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        ended = readback("resume", "a", "--json")
    assert ended.code == 0
    assert ended.document["rows"][0]["endings"] == {"finished": 2}


def test_what_the_provider_does_wrong_is_unscored_and_said(here: Path, small_record: Path) -> None:
    with Provider("openai", Fail(400, "the moon is in the way")) as provider:
        ended = run(small_record, provider, "--out", "a")
    assert ended.code == 3
    row = ended.document["rows"][0]
    assert row["endings"] == {"provider_error": 2}
    assert row["success"]["rate"] is None
    assert row["success"]["bounds"] == [0, 1]
    assert "the moon is in the way" in readback("show", "a", "--unscored", "--task", "0001", "--json").out or (
        "the moon is in the way" in (here / "a/episodes.jsonl").read_text()
    )


def test_a_budget_needs_a_price_and_stops_in_time(here: Path, small_record: Path) -> None:
    with Provider("openai", FINISH) as provider:
        ended = run(small_record, provider, "--budget", "1", "--out", "a")
        assert ended.code == 2
        assert ended.sentence == (
            "a budget of 1.0 USD cannot be kept: the price of openai:m is unknown; leave --budget out, or name a file"
            " with its price by --prices"
        )
        assert not Path("a").exists()
        (here / "prices.toml").write_text(PRICES.replace("ADDRESS", provider.base_url))
        ended = run(small_record, provider, "--budget", "0.05", "--prices", "prices.toml", "--out", "a")
        assert ended.code == 3
        row = ended.document["rows"][0]
        assert row["usage"]["cost_usd"] == pytest.approx(0.11)
        assert ended.document["episodes"]["missing"] == 1
        assert "the budget of 0.05 USD is used up" in ended.err
        ended = readback("resume", "a", "--json")
    assert ended.code == 0
    assert ended.document["rows"][0]["usage"]["cost_usd"] == pytest.approx(0.22)


@pytest.mark.parametrize(
    ("text", "words"), [(None, "No such file"), ("price = 1", "prices.toml"), ("[[price]]\nmodel = 'x'", "prices.toml")]
)
def test_a_file_of_prices_that_is_none_is_named(here: Path, small_record: Path, text: str | None, words: str) -> None:
    if text is not None:
        (here / "prices.toml").write_text(text)
    ended = readback(
        "run", "ehr", "--record", small_record, "--agent", "openai:m", "--base-url", "http://127.0.0.1:9/v1",
        "--prices", "prices.toml",
    )  # fmt: skip
    assert ended.code == 2
    assert words in ended.sentence


def test_a_reply_cache_that_is_none_is_named(here: Path, small_record: Path) -> None:
    (here / "cache/readback").mkdir(parents=True)
    (here / "cache/readback/replies.sqlite").write_text("no database" * 100)
    with Provider("openai", FINISH) as provider:
        ended = run(small_record, provider)
    assert ended.code == 2
    assert "replies.sqlite" in ended.sentence


def test_limits_of_an_episode_are_scored_or_not(here: Path, small_record: Path) -> None:
    search = Say(calls=[("fhir_search", {"type": "Patient", "parameters": {"name": "a"}})])
    with Provider("openai", search) as provider:
        ended = run(small_record, provider, "--max-turns", "3", "--out", "a")
        assert ended.code == 0
        assert ended.document["rows"][0]["endings"] == {"max_turns": 2}
        ended = run(small_record, provider, "--max-tokens", "150", "--cache", "off")
        assert ended.document["rows"][0]["endings"] == {"max_tokens": 2}
    about = json.loads(Path("a/run.json").read_text())
    assert about["agents"][0]["settings"]["limits"] == {"turns": 3, "tokens": None}
