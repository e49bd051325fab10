"""One vote, over real HTTP: what a judge says, what it may do wrong, and what its provider may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cache import Cache
from harness.limits import Budget
from harness.models.exchange import Exchange, Patience
from harness.models.model import Asked, Reply
from harness.models.scripted import ScriptedModel
from harness.prices import read_prices
from judges.judge import Judge
from judges.rubric import Rubric
from judges.subject import Subject
from judges.vote import Vote
from tests.harness.provider import Cut, Fail, Hang, Provider, Raw, Say, Wire
from tests.judges.build import KEY, NO, call, episode, judge_saying, said, subject, task, vote
from tests.judges.provider import judge_at, messages_of

PRICES = """
[[price]]
model = "openai:m"
base_url = "ADDRESS"
input = 1000.0
output = 10000.0
source = "a test"
date = 2026-01-15
"""


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


def voted(wire: Wire, *steps: Any, one: Subject | None = None, **settings: Any) -> Vote:
    with Provider(wire, *steps) as provider, judge_at(provider, **settings) as judge:
        found = vote(judge, 1, one)
    assert provider.refused == []
    return found


def test_a_vote_says_what_was_asked_of_whom_and_what_came_of_it(wire: Wire) -> None:
    with (
        Provider(wire, Say(said("not_supported", "r", ["src/parser.py"]), input=900, output=40)) as provider,
        judge_at(provider, sdk={wire: "9.9"}, now=lambda: "2026-01-15T10:15:00+00:00") as judge,
    ):
        found = vote(judge, 3)
        setting = judge.setting
    assert found == Vote(
        episode="sha256:0001", config=setting.config, number=3, judge=f"{wire}:m", rubric="facts", trace=True,
        outcome="fail", said="not_supported", failed=("src/parser.py",), calls=(1,), reason="r", seen=subject().seen,
        model="m", prompt_digest=Rubric("facts").digest, sdk={wire: "9.9"}, usage=found.usage, billed_usd=None,
        started="2026-01-15T10:15:00+00:00", ended="2026-01-15T10:15:00+00:00",
    )  # fmt: skip
    assert (found.usage.input, found.usage.output, found.usage.calls, found.usage.cost_usd) == (900, 40, 1, None)
    assert Vote.read(found.line()) == found


def test_no_request_says_a_temperature_or_anything_that_was_not_asked_for(wire: Wire) -> None:
    with Provider(wire, Say(said())) as provider, judge_at(provider) as judge:
        vote(judge)
    (request,) = provider.requests
    form = {"response_format"} if wire == "openai" else {"output_config", "max_tokens", "system"}
    assert set(request) == {"model", "messages"} | form


def test_the_form_may_be_left_to_the_prompt(wire: Wire) -> None:
    with Provider(wire, Say(f"```json\n{said()}\n```")) as provider, judge_at(provider, form="text") as judge:
        assert vote(judge).said == "supported"
        (request,) = provider.requests
        assert {"response_format", "output_config"}.isdisjoint(request)
        system, _ = messages_of(provider, request)
    assert '{"reason": "...", "failed": ["..."], "calls": [1], "verdict": "..."}' in system


@pytest.mark.parametrize(
    ("step", "fault", "words"),
    [
        (Say("It is supported."), "unparseable", "no JSON object"),
        (Say(None), "unparseable", "no JSON object"),
        (Say(said("supported", "r", ["a"])), "contradiction", "said to fail"),
        (Say(said(), stop="cut_off"), "cut_off", "cut_off"),
        (Say("I can't help with that.", stop="refused"), "refused", "refused"),
        (Say(said(), calls=[("vote", {})]), "unparseable", "calls a tool"),
        (Fail(400, "prompt is too long: 300000 tokens", "invalid_request_error"), "context_full", "too long"),
        (Fail(400, "the moon is in the way"), "provider_error", "the moon is in the way"),
        (Fail(429), "provider_error", "429"),
        (Fail(500), "provider_error", "500"),
        (Fail(401, "Incorrect API key provided: sk-1234567890", "invalid_api_key"), "auth", "[key]"),
        (Cut, "provider_error", "connection"),
        (Raw(b"<html>"), "provider_error", "no JSON object"),
    ],
)  # fmt: skip
def test_what_went_wrong_is_unscored_and_never_a_no(wire: Wire, step: Any, fault: str, words: str) -> None:
    found = voted(wire, step)
    assert (found.outcome, found.said, found.fault) == ("unscored", None, fault)
    assert words in (found.error or "")
    if isinstance(step, Say):
        assert found.raw == (step.text or None)
        assert found.usage.calls == 1
    else:
        assert found.raw is None


def test_a_provider_that_does_not_answer_is_left_in_time() -> None:
    patient = Exchange(patience=Patience(attempts=1, timeout=0.2))
    assert voted("openai", Hang, exchange=patient).fault == "provider_error"
    assert voted("openai", Hang, exchange=patient, seconds=0.1).fault == "wall_time"


def test_a_provider_is_asked_again_with_patience(wire: Wire) -> None:
    waits: list[float] = []
    patient = Exchange(patience=Patience(attempts=3), sleep=waits.append, chance=lambda: 0.0)
    assert voted(wire, Fail(500), Fail(529), Say(said()), exchange=patient).said == "supported"
    assert waits == [1.0, 2.0]


def test_votes_are_calls_of_their_own_and_kept_under_their_number(wire: Wire, tmp_path: Path) -> None:
    with (
        Cache(tmp_path / "r.sqlite") as cache,
        Provider(wire, Say(said()), Say(NO), Say(said("no_claim"))) as provider,
        judge_at(provider, exchange=Exchange(cache=cache)) as judge,
    ):
        first = [vote(judge, number) for number in (1, 2, 3)]
        again = [vote(judge, number) for number in (1, 2, 3)]
    assert [one.said for one in first] == ["supported", "not_supported", "no_claim"]
    assert [one.said for one in again] == [one.said for one in first]
    assert [one.kept for one in first + again] == [False] * 3 + [True] * 3
    assert len(provider.requests) == 3
    assert provider.requests[0] == provider.requests[1] == provider.requests[2]


def test_a_vote_that_came_to_nothing_is_asked_anew_and_not_taken_from_the_cache(tmp_path: Path) -> None:
    with (
        Cache(tmp_path / "r.sqlite") as cache,
        Provider("openai", Say("Hm."), Say("Hm?"), Say(NO)) as provider,
        judge_at(provider, exchange=Exchange(cache=cache)) as judge,
    ):
        first = vote(judge, 2)
        second = vote(judge, 2, before=first)
        third = vote(judge, 2, before=second)
        assert vote(judge, 2).fault == "unparseable"  # what it said the first time is kept
    assert [one.attempt for one in (first, second, third)] == [0, 1, 2]
    assert [one.said for one in (first, second, third)] == [None, None, "not_supported"]
    assert [one.usage.calls for one in (first, second, third)] == [1, 2, 3]
    assert third.usage.input == 300
    assert len(provider.requests) == 3


def test_where_the_cache_alone_may_answer_a_miss_is_said(tmp_path: Path) -> None:
    with (
        Cache(tmp_path / "r.sqlite"),
        Cache(tmp_path / "r.sqlite", "only") as cache,
        Provider("openai") as provider,
        judge_at(provider, exchange=Exchange(cache=cache)) as judge,
    ):
        found = vote(judge)
    assert (found.fault, found.outcome, provider.requests) == ("not_kept", "unscored", [])
    assert "nothing is there yet" in (found.error or "")


def test_what_it_cost_is_kept_and_paid_from_the_budget(tmp_path: Path) -> None:
    with Cache(tmp_path / "r.sqlite") as cache, Provider("openai", Say(said(), input=100, output=10)) as provider:
        (tmp_path / "prices.toml").write_text(PRICES.replace("ADDRESS", provider.base_url))
        prices = read_prices(tmp_path / "prices.toml", environment={})
        budget = Budget(5.0)
        with judge_at(provider, exchange=Exchange(cache=cache), prices=prices) as judge:
            paid = vote(judge, budget=budget)
            kept = vote(judge, budget=budget)
    assert paid.usage.cost_usd == kept.usage.cost_usd == pytest.approx(0.2)
    assert (paid.billed_usd, kept.billed_usd) == (pytest.approx(0.2), 0.0)
    assert budget.spent == pytest.approx(0.2)


def test_flags_are_raised_and_change_nothing() -> None:
    found = voted("openai", Say(said("supported", "The path is not supported.", calls=[7])))
    assert (found.outcome, found.flags) == ("pass", ("TEXT_CONTRADICTS", "UNKNOWN_CALL"))
    assert vote(judge_saying(said("not_supported", "r", ["b.py"]))).flags == ("CLAIM_NOT_IN_ANSWER",)
    assert vote(judge_saying(said("not_supported", "r", ["done"]))).flags == ()


def test_where_the_trace_is_cut_a_no_is_unscored_and_a_yes_stands() -> None:
    long = subject(calls=tuple(call(place, result="x" * 3_000) for place in (1, 2, 3)))
    no, yes = (vote(judge_saying(text, characters=7_000), 1, long) for text in (NO, said()))
    assert (no.said, no.outcome) == ("not_supported", "unscored")
    assert no.doubt == no.left_out == "call 2 of 3 was left out, the whole being too long"
    assert (yes.said, yes.outcome, yes.doubt) == ("supported", "pass", no.doubt)
    recorded = subject(calls=(call(1, cut_by="recorder"),))
    assert vote(judge_saying(NO), 1, recorded).outcome == "unscored"
    assert vote(judge_saying(NO), 1, subject(calls=(call(1, cut_by="tool"),))).outcome == "fail"


def test_a_judge_without_the_trace_has_no_doubt_of_it() -> None:
    text = json.dumps({"reason": "r", "failed": ["src/parser.py"], "verdict": "not_supported"})
    recorded = subject(calls=(call(1, cut_by="recorder"),))
    found = vote(judge_saying(text, rubric=Rubric("facts", trace=False)), 1, recorded)
    assert (found.outcome, found.doubt, found.trace) == ("fail", None, False)


def long_trace() -> Subject:
    calls = [call(place, result="x" * 9_000) for place in range(1, 8)]
    calls[4] = call(5, result="y" * 30_000 + "class Parser: <here>" + "z" * 9_000)
    return Subject.of(task(), episode(calls=tuple(calls)))


def test_a_judge_looks_things_up_where_a_trace_is_too_long(wire: Wire) -> None:
    steps = (
        Say("I search.", calls=[("search_trace", {"text": "CLASS parser: <"})]),
        Say(calls=[("read_call", {"position": 5, "start": 30_000}), ("read_call", {"position": 99})]),
        Say(said("supported", "Call 5 shows it.", calls=[5])),
    )
    with Provider(wire, *steps) as provider, judge_at(provider, characters=20_000, long="search") as judge:
        found = vote(judge, 1, long_trace())
        assert judge.setting.long == "search"
        assert judge.setting.turns == 12
    assert provider.refused == []
    assert (found.said, found.outcome, found.looked, found.doubt, found.left_out) == (
        "supported",
        "pass",
        3,
        None,
        None,
    )
    assert found.usage.calls == 3
    first, second, third = provider.requests
    system, _ = messages_of(provider, first)
    assert "read_call gives a stretch of one call" in system
    assert "call_index" in json.dumps(first["messages"])
    names = [tool.get("name") or tool["function"]["name"] for tool in first["tools"]]
    assert names == ["read_call", "search_trace"]
    if wire == "openai":
        (hits,) = [one["content"] for one in second["messages"] if one["role"] == "tool"]
        found_places = json.loads(hits.split("\n")[1])
        assert [place["position"] for place in found_places["places"]] == [5]
        read, missing = [one["content"] for one in third["messages"] if one["role"] == "tool"][1:]
        assert "class Parser: " in read
        assert "there is no call 99" in missing


@pytest.mark.parametrize(
    ("kept", "all_of_it"), [((True, True), True), ((True, False), False), ((False, True), False)]
)  # fmt: skip
def test_a_vote_is_kept_where_the_cache_gave_every_reply_of_it(kept: tuple[bool, bool], all_of_it: bool) -> None:
    looks = Reply(calls=(Asked("a", "read_call", {"position": 1}),), is_kept=kept[0])
    model = ScriptedModel([looks, Reply(texts=(said(),), is_kept=kept[1])])
    found = vote(Judge(model, Rubric("facts"), characters=20_000, long="search"), 1, long_trace())
    assert (found.said, found.looked, found.kept) == ("supported", 1, all_of_it)


@pytest.mark.parametrize(("before", "now", "both"), [(0.5, 0.25, 0.75), (None, 0.25, None), (0.5, None, None)])
def test_what_a_vote_is_billed_is_of_all_its_attempts(
    before: float | None, now: float | None, both: float | None
) -> None:
    first = vote(judge_saying("Hm.")).model_copy(update={"billed_usd": before})
    model = ScriptedModel([Reply(texts=(said(),), billed_usd=now)])
    assert vote(Judge(model, Rubric("facts")), before=first).billed_usd == both


def test_a_no_of_a_judge_that_could_look_at_everything_is_a_no() -> None:
    judge = judge_saying(NO, characters=20_000, long="search")
    found = vote(judge, 1, long_trace())
    assert (found.outcome, found.looked) == ("fail", 0)


def test_a_trace_that_fits_is_shown_at_once_to_a_judge_that_could_look() -> None:
    judge = judge_saying(said(), long="search")
    case = judge.case(subject(), KEY)
    assert case is not None
    assert not case.rubric.looks
    assert case.rubric.system == Rubric("facts").system


def test_a_judge_that_only_looks_on_gives_no_verdict_and_is_told_when_it_is_its_last_look() -> None:
    looking = Say(calls=[("read_call", {"position": 1})])
    with (
        Provider("openai", looking) as provider,
        judge_at(provider, characters=20_000, long="search", turns=3) as judge,
    ):
        found = vote(judge, 1, long_trace())
    assert (found.fault, found.looked, found.usage.calls) == ("no_verdict", 2, 3)
    results = [one["content"] for one in provider.requests[-1]["messages"] if one["role"] == "tool"]
    assert "This was your last look." not in results[0]
    assert results[1].endswith("in the form that you were told.")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("read_call", "no json"), "the arguments are no JSON object"),
        (("read_call", {"position": "one"}), "must be a whole number"),
        (("run", {}), "there is no such tool; there are read_call, search_trace"),
        (("search_trace", {"text": ""}), "there is nothing to look for"),
    ],
)
def test_what_a_judge_does_wrong_when_looking_is_told_to_it(asked: tuple[str, Any], words: str) -> None:
    with (
        Provider("openai", Say(calls=[asked]), Say(said())) as provider,
        judge_at(provider, characters=20_000, long="search") as judge,
    ):
        assert vote(judge, 1, long_trace()).said == "supported"
    (result,) = [one["content"] for one in provider.requests[-1]["messages"] if one["role"] == "tool"]
    assert words in result
    assert provider.refused == []


def test_a_setting_has_a_digest_of_all_that_decides() -> None:
    model = ScriptedModel([Reply()])
    base = Judge(model, Rubric("facts")).setting
    others = [
        Judge(model, Rubric("predicate")), Judge(model, Rubric("facts", trace=False)),
        Judge(model, Rubric("facts"), votes=3), Judge(model, Rubric("facts"), is_rule=True),
        Judge(model, Rubric("facts"), characters=5_000), Judge(model, Rubric("facts"), long="search"),
        Judge(model, Rubric("facts"), form="text"), Judge(model, Rubric("facts"), label="another"),
        Judge(ScriptedModel([Reply()], name="scripted:other"), Rubric("facts")),
    ]  # fmt: skip
    assert len({base.config, *(one.setting.config for one in others)}) == len(others) + 1
    assert Judge(model, Rubric("facts"), about="other words", sdk={"a": "1"}, seconds=1.0).setting.config == base.config
    assert base.prompt == Rubric("facts").system
    assert base.title == "scripted:model, facts"
    assert Judge(model, Rubric("facts", trace=False), is_rule=True).setting.title == (
        "scripted:model (a rule, no model), facts, no trace"
    )


@pytest.mark.parametrize("votes", [0, 1_001])
def test_a_number_of_votes_that_makes_no_sense_is_refused(votes: int) -> None:
    with pytest.raises(ValueError, match=f"not {votes}"):
        Judge(ScriptedModel([]), Rubric("facts"), votes=votes)
