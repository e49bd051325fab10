"""`readback judge`: judges from the command line, offline and over real HTTP."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.trace import Episode
from tests.harness.provider import Fail, Provider, Say
from tests.judges.build import NO, call, episode, said
from tests.judges.build import run as run_folder
from tests.readback.command import Ended, readback, started

PRICES = """
[[price]]
model = "openai:m"
base_url = "ADDRESS"
input = 1000.0
output = 1000.0
source = "a test"
date = 2026-01-15
"""


def a_run(path: Path, episodes: Sequence[Episode] = (), **about: Any) -> Path:
    """A small run on disk; of an odd episode the answer stands in a result."""
    episodes = episodes or [
        episode(number, [f"src/{number}.py"], calls=(call(1, result={"path": "src/1.py, src/3.py", "content": "x"}),))
        for number in (1, 2, 3, 4)
    ]
    with run_folder(path, episodes, **{"suite": "ehr", **about}):
        return path


def judge(run: Path | str, provider: Provider, *more: str | Path) -> Ended:
    return readback("judge", run, "--model", f"{provider.wire}:m", "--base-url", provider.base_url, "--json", *more)


def test_a_scripted_judge_judges_a_run_offline_and_says_what_it_is_everywhere(here: Path) -> None:
    a_run(here / "a")
    ended = readback("judge", "a", "--model", "scripted:overlap", "--json")
    assert ended.code == 0
    (one,) = ended.document["judges"]
    assert ended.document["format"] == "readback.judging/1"
    assert (one["name"], one["kind"]) == ("scripted:overlap", "scripted")
    assert one["about"].startswith("a rule, no model: ")
    assert one["outcomes"] == {"pass": 2, "fail": 2, "vacuous": 0, "unscored": 0}
    assert (one["asked"], one["left"], one["split"], one["billed_usd"]) == (20, 0, 0, 0.0)
    table = readback("judge", "a", "--model", "scripted:overlap")
    assert "scripted:overlap (a rule, no model), facts" in table.out
    assert "scripted:overlap (a rule, no model), facts: 0 votes on 4 episodes, no call" in table.err
    verdicts = [json.loads(line) for line in (here / "a/verdicts.jsonl").read_text().splitlines()]
    assert [verdict["outcome"] for verdict in verdicts] == ["pass", "fail", "pass", "fail"]
    assert all(verdict["notes"] == ["SCRIPTED_JUDGE"] for verdict in verdicts)
    votes = [json.loads(line) for line in (here / "a/votes.jsonl").read_text().splitlines()]
    assert {vote["judge"] for vote in votes} == {"scripted:overlap"}
    assert all("By a rule, no model" in vote["reason"] for vote in votes)
    (setting,) = [json.loads(line) for line in (here / "a/judges.jsonl").read_text().splitlines()]
    assert (setting["kind"], setting["model"]["provider"]) == ("scripted", "scripted")
    shown = readback("show", "a", episode(1).id).out
    assert "SCRIPTED_JUDGE" in shown


def test_that_a_model_is_paid_for_judging_baselines_is_said(here: Path) -> None:
    agents = [{"name": "m", "kind": "model"}, {"name": "idle", "kind": "baseline"}]
    told = "Baselines' episodes are judged, too; --agent m judges that agent's alone."
    with Provider("openai", Say(said())) as provider:
        a_run(here / "a", agents=agents)
        assert told in judge("a", provider, "--votes", "1").err
        assert told not in judge("a", provider, "--votes", "1", "--agent", "m").err
        a_run(here / "b", agents=agents[:1])
        assert told not in judge("b", provider, "--votes", "1").err
    assert told not in readback("judge", "a", "--model", "scripted:overlap").err


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_judges_a_run_and_is_asked_only_for_what_is_missing(here: Path, wire: Any) -> None:
    a_run(here / "a")
    with Provider(wire, Say("hm"), Say(said())) as provider:
        first = judge("a", provider, "--votes", "3", "--jobs", "1")
        assert first.code == 0
        assert (first.document["judges"][0]["asked"], first.document["judges"][0]["faults"]) == (12, {"unparseable": 1})
        assert f"{wire}:m, facts: 12 votes on 4 episodes, 12 calls, the price of {wire}:m is unknown" in first.err
        assert "asked for again by the same command" in first.err
        second = judge("a", provider, "--votes", "3")
        assert (second.document["judges"][0]["asked"], second.document["judges"][0]["faults"]) == (1, {})
        third = judge("a", provider, "--votes", "3")
        assert third.document["judges"][0]["asked"] == 0
        assert len(provider.requests) == 13
    vote = json.loads((here / "a/votes.jsonl").read_text().splitlines()[0])
    assert vote["sdk"].keys() == {wire}
    assert vote["model"] == "m"
    assert provider.refused == []


def test_judges_rubrics_and_views_stand_side_by_side(here: Path) -> None:
    a_run(here / "a")
    blind = json.dumps({"reason": "r", "failed": [], "verdict": "supported"})

    def speak(request: dict[str, Any]) -> Say:
        return Say(NO if '"calls": [1]' in str(request["messages"]) else blind)

    with Provider("openai", speak) as provider:
        both = ("--rubric", "facts", "--rubric", "predicate")
        ended = judge("a", provider, "--model", "scripted:overlap", *both, "--votes", "1")
        assert ended.code == 0
        assert [(one["name"], one["rubric"]) for one in ended.document["judges"]] == [
            ("openai:m", "facts"), ("openai:m", "predicate"), ("scripted:overlap", "facts"),
            ("scripted:overlap", "predicate"),
        ]  # fmt: skip
        blind_ended = judge("a", provider, "--no-trace", "--votes", "1")
        assert blind_ended.document["judges"][0]["outcomes"]["pass"] == 4
        assert not blind_ended.document["judges"][0]["trace"]
    assert len({line["config"] for line in map(json.loads, (here / "a/verdicts.jsonl").read_text().splitlines())}) == 5


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(here: Path) -> None:
    a_run(here / "a")
    with Provider("openai", Say(said())) as provider:
        (here / "prices.toml").write_text(PRICES.replace("ADDRESS", provider.base_url))
        ended = judge("a", provider, "--dry-run", "--prices", "prices.toml", "--model", "scripted:overlap")
        assert ended.code == 0
        plan = ended.document
        assert (plan["format"], plan["calls"], plan["why"]) == ("readback.judging-plan/1", 40, None)
        assert plan["judges"][0]["cost_usd"] == plan["cost_usd"] > 20
        assert plan["judges"][1]["cost_usd"] == 0.0
        words = readback(
            "judge", "a", "--model", "openai:m", "--base-url", provider.base_url, "--dry-run", "--votes", "2"
        )
        assert words.out.startswith("openai:m, facts: 8 votes on 4 episodes, 8 calls, the price of openai:m is unknown")
        assert "Nothing was asked." in words.err
        # It needs no key either.
        assert readback("judge", "a", "--model", "anthropic:m", "--dry-run").code == 0
        assert provider.requests == []
    assert not (here / "a/votes.jsonl").exists()


def test_a_budget_needs_a_price_and_stops_in_time(here: Path) -> None:
    a_run(here / "a")
    with Provider("openai", Say(said(), input=100, output=0)) as provider:
        ended = judge("a", provider, "--budget", "1")
        assert ended.code == 2
        assert ended.sentence == (
            "a budget of 1.0 USD cannot be kept: the price of openai:m is unknown; leave --budget out, or name a file"
            " with its price by --prices"
        )
        (here / "prices.toml").write_text(PRICES.replace("ADDRESS", provider.base_url))
        ended = judge("a", provider, "--budget", "0.45", "--prices", "prices.toml", "--jobs", "1")
        assert ended.code == 3
        (one,) = ended.document["judges"]
        assert (one["asked"], one["left"], one["billed_usd"]) == (5, 15, pytest.approx(0.5))
        assert "the budget of 0.45 USD is used up; 15 votes were not asked" in ended.err
        ended = judge("a", provider, "--prices", "prices.toml")
    assert ended.code == 0
    assert ended.document["judges"][0]["usage"]["cost_usd"] == pytest.approx(2.0)


def test_the_cost_of_judges_is_not_the_agents(here: Path) -> None:
    a_run(here / "a")
    before = {name: (here / "a" / name).read_bytes() for name in ("episodes.jsonl", "run.json", "tasks.jsonl")}
    with Provider("openai", Say(said())) as provider:
        assert judge("a", provider).code == 0
    assert {name: (here / "a" / name).read_bytes() for name in before} == before


def test_a_key_is_sent_and_written_nowhere_and_a_wrong_one_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_run(here / "a")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    with Provider("openai", Say(said()), key="sk-very-secret-key") as provider:
        assert judge("a", provider).code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-secret")
    with Provider("openai", Say(said())) as provider:
        ended = judge("a", provider, "--votes", "2", "--jobs", "1")
        assert ended.code == 3
        assert len(provider.requests) == 1
    assert "warning: openai:m" in ended.err
    for path in here.rglob("*"):
        assert not path.is_file() or b"secret" not in path.read_bytes(), path
    assert "secret" not in ended.err + ended.out


def test_without_a_key_the_providers_own_server_is_not_asked(here: Path) -> None:
    a_run(here / "a")
    ended = readback("judge", "a", "--model", "openai:m")
    assert ended.code == 2
    assert ended.sentence.startswith("OPENAI_API_KEY is not set")


def test_what_a_provider_does_wrong_is_unscored_visible_and_asked_again(here: Path) -> None:
    a_run(here / "a")
    with Provider("openai", Fail(400, "the moon is in the way")) as provider:
        ended = judge("a", provider, "--votes", "2", "--jobs", "1")
        assert ended.code == 3
        (one,) = ended.document["judges"]
        assert one["outcomes"] == {"pass": 0, "fail": 0, "vacuous": 0, "unscored": 4}
        assert (one["rate"], one["why"]) == (None, "no verdict is a pass or a fail")
        assert one["faults"] == {"provider_error": 8}
    assert "the moon is in the way" in readback("show", "a", episode(1).id).out
    with Provider("openai", Say(said())) as provider:
        # Another address is another judge; the same one is asked again.
        assert judge("a", provider, "--votes", "2").document["judges"][0]["asked"] == 8


def test_replies_are_kept_and_used_again_or_only(here: Path) -> None:
    a_run(here / "a")
    a_run(here / "b")
    with Provider("openai", Say(said())) as provider:
        assert judge("a", provider).document["judges"][0]["kept"] == 0
        assert judge("b", provider, "--cache", "only").document["judges"][0]["kept"] == 20
        assert len(provider.requests) == 20
        ended = judge("b", provider, "--votes", "6", "--cache", "only")
        assert ended.code == 0
        assert ended.document["judges"][0]["faults"] == {"not_kept": 4}
        a_run(here / "c")
        assert judge("c", provider, "--cache", "off").document["judges"][0]["kept"] == 0
        assert len(provider.requests) == 40
    key = here / "cache/readback/fence.key"
    assert (key.stat().st_mode & 0o777, len(key.read_text())) == (0o600, 64)
    marker = {str(request["messages"]).split("BEGIN DATA ")[1][:32] for request in provider.requests}
    assert len(marker) == 8, "one for each episode, and another without the key that is kept"


def test_a_key_of_fences_that_is_none_is_named(here: Path) -> None:
    a_run(here / "a")
    (here / "cache/readback").mkdir(parents=True)
    for text in ("", "no key", "00"):
        (here / "cache/readback/fence.key").write_text(text)
        ended = readback("judge", "a", "--model", "scripted:overlap")
        assert ended.code == 2
        assert "holds no key of a fence; remove it" in ended.sentence


def test_a_record_that_is_not_synthetic_is_not_sent_out(here: Path) -> None:
    record = {"hash": "sha256:1", "clock": "2026-01-15T10:15:00+00:00", "synthetic": False}
    a_run(here / "a", record=record)
    ended = readback("judge", "a", "--model", "openai:m", "--base-url", "http://example.org/v1", "--dry-run")
    assert ended.code == 2
    assert ended.sentence == (
        "the record is not marked synthetic, and openai:m is at http://example.org/v1: its patients' data would leave"
        " this machine; if that is allowed, say so with --allow-external"
    )
    outside = ("judge", "a", "--model", "openai:m", "--base-url", "http://example.org/v1", "--dry-run")
    assert readback(*outside, "--allow-external").code == 0
    assert readback("judge", "a", "--model", "scripted:overlap").code == 0
    with Provider("openai", Say(said())) as provider:
        assert judge("a", provider).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no judge is named; name one by --model, such as openai:MODEL or anthropic:MODEL or scripted:overlap"),
        (
            ["--model", "gpt"],
            "'gpt' is no judge; write openai:MODEL, anthropic:MODEL, scripted:overlap or scripted:coin",
        ),
        (["--model", "openai:"], "'openai:' is no judge"),
        (["--model", "scripted:overlop"], "there is no scripted judge 'overlop'; did you mean 'overlap'?"),
        (["--model", "scripted:coin?p=2"], "the p of scripted:coin is 2; it must be a number from 0 to 1"),
        (["--model", "scripted:overlap?p=1"], "scripted:overlap has no option 'p'"),
        (["--model", "scripted:coin", "--model", "scripted:coin"], "the judge 'scripted:coin' is named twice"),
        (["--model", "scripted:coin", "--rubric", "fact"], "there is no rubric 'fact'; did you mean 'facts'?"),
        (["--model", "scripted:coin", "--base-url", "http://127.0.0.1:9/v1"], "no model is named"),
        (["--model", "scripted:coin", "--votes", "0"], "'0' is not a whole number from 1 to 1000"),
        (["--model", "scripted:coin", "--agent", "nobody"], "none of the episodes of 'a' is of that agent"),
        (["--model", "scripted:coin", "--limit", "0"], "'0' is not a whole number, 1 or more"),
    ],
)
def test_a_mistake_is_one_sentence(here: Path, arguments: list[str], words: str) -> None:
    a_run(here / "a")
    ended = readback("judge", "a", *arguments)
    assert ended.code == 2
    assert words in ended.sentence
    assert not (here / "a/votes.jsonl").exists()


def test_a_folder_that_is_no_run_and_a_run_without_episodes_are_named(here: Path) -> None:
    assert "is no run folder" in readback("judge", "a", "--model", "scripted:coin").sentence
    with run_folder(here / "b", [], suite="ehr"):
        pass
    assert "holds no episode yet" in readback("judge", "b", "--model", "scripted:coin").sentence
    a_run(here / "c", [episode(1, ending="auth")])
    assert "ended in a way that can be judged" in readback("judge", "c", "--model", "scripted:coin").sentence


def test_killed_at_any_moment_nothing_that_came_home_is_lost(here: Path) -> None:
    a_run(here / "a", [episode(number, [f"src/{number}.py"]) for number in range(1, 41)])

    def slowly(request: dict[str, Any]) -> Say:
        time.sleep(0.02)
        return Say(said())

    with Provider("openai", slowly) as provider:
        arguments = (
            "judge",
            "a",
            "--model",
            "openai:m",
            "--base-url",
            provider.base_url,
            "--jobs",
            "4",
            "--cache",
            "off",
        )
        with started(*arguments, cwd=here) as process:
            votes = here / "a/votes.jsonl"
            until = time.monotonic() + 30
            while (not votes.exists() or len(votes.read_bytes()) < 20_000) and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        stored = len(votes.read_bytes().splitlines())
        assert 0 < stored < 200
        ended = judge("a", provider, "--cache", "off")
    assert ended.code == 0
    assert ended.document["judges"][0]["asked"] in (200 - stored, 201 - stored)  # a torn line is asked again
    assert ended.document["judges"][0]["outcomes"]["pass"] == 40


def test_questions_in_other_words_are_shown_in_those_words(here: Path) -> None:
    ended = readback("run", "repoqa", "--limit", "1", "--agent", "oracle", "--counterfactual", "1", "--out", "a")
    assert ended.code == 0, ended.err
    asked: list[str] = []

    def listen(request: dict[str, Any]) -> Say:
        asked.append(str(request["messages"][1]["content"]))
        return Say(said())

    with Provider("openai", listen) as provider:
        assert judge("a", provider, "--votes", "1", "--jobs", "1").code == 0
    questions = [json.loads(one.split("\n")[3])["text"] for one in asked]
    assert len(questions) == len(set(questions)) == 2
