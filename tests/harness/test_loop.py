"""The loop itself, with a model that says what it is told to: faults, other protocols, and whole runs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from harness.agent import Briefing, Played
from harness.estimate import OUTPUT_TOKENS, RESULT_TOKENS, TURNS, estimate
from harness.finish import FINISH
from harness.functions import tool
from harness.limits import Budget, Limits, reached
from harness.loop import ModelAgent
from harness.models.exchange import Exchange, Patience
from harness.models.model import Asked, NoReplyError, Reply, Said, Turn
from harness.models.openai import OpenAIModel, openai_model
from harness.models.scripted import ScriptedModel
from harness.plan import PlanError, make_plan, resume_plan
from harness.prices import Prices, read_prices
from harness.protocol import FormatError, ToolCalling
from harness.runfolder import RunFolder
from harness.runner import execute
from harness.tool import Tool, ToolResult
from harness.trace import SCORED_ENDINGS, UNSCORED_ENDINGS, Call, Ending, Episode, SelfCheck, Text, Usage
from tests.harness.provider import Fail, Provider, Say, plain_client
from tests.harness.tally import TallySuite

BRIEFING = Briefing("Raise the tally to 3.", "Count well.", "2026-01-15T10:15:00+00:00")


def add(number: int) -> ToolResult:
    """Add.

    Args:
        number: What.
    """
    return ToolResult("ok", {"status": 200, "body": {"tally": number}})


def broken() -> None:
    """Fail."""
    raise RuntimeError("a fault of ours")


TOOLS = [tool(add), tool(broken), FINISH]


def calls(*named: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    asked = tuple(Asked(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(named))
    return Reply(texts=(text,) if text else (), calls=asked)


def play(*script: Reply | NoReplyError, **options: Any) -> Played:
    return ModelAgent(ScriptedModel(script), **options).play(BRIEFING, TOOLS, repeat=0)


FINISHED = calls(("finish", {"outcome": "done"}))


def test_a_tool_that_raises_is_a_harness_error_with_its_traceback() -> None:
    played = play(calls(("add", {"number": 1})), calls(("broken", {}), text="Now this."))
    assert (played.ending, played.claim) == ("harness_error", None)
    assert "RuntimeError: a fault of ours" in (played.error or "")
    assert [call.name for call in played.calls] == ["add"]
    assert played.texts == (Text(step=2, text="Now this."),)


def test_a_model_that_raises_is_a_harness_error() -> None:
    def raising(history: Sequence[Turn]) -> Reply:
        raise ZeroDivisionError("in the script")

    played = ModelAgent(ScriptedModel(raising)).play(BRIEFING, TOOLS, repeat=0)
    assert played.ending == "harness_error"
    assert "ZeroDivisionError: in the script" in (played.error or "")


@pytest.mark.parametrize("ending", ["auth", "provider_error", "context_full", "wall_time", "refused"])
def test_no_reply_is_the_ending_that_it_names(ending: Ending) -> None:
    played = play(calls(("add", {"number": 1})), NoReplyError(ending, "why"))
    assert (played.ending, played.error, len(played.calls)) == (ending, "why", 1)


def test_time_is_looked_at_before_each_model_call() -> None:
    seconds = iter([0.0, 0.0, 4.0, 8.0, 12.0])
    look = calls(("add", {"number": 1}))
    played = play(look, look, look, look, limits=Limits(seconds=10), monotonic=lambda: next(seconds))
    assert (played.ending, len(played.calls)) == ("wall_time", 3)


def test_each_model_call_has_the_time_that_is_left() -> None:
    class Listening:
        name, settings, price = "listening:m", {"model": "m"}, None

        def __init__(self) -> None:
            self.seconds: list[float] = []

        def reply(self, *said: object, seconds: float, **more: object) -> Reply:
            self.seconds.append(seconds)
            return calls(("add", {"number": 1}))

    model, at = Listening(), iter([100.0, 100.0, 104.0, 109.5, 110.0])
    agent = ModelAgent(model, limits=Limits(seconds=10), monotonic=lambda: next(at))  # type: ignore[arg-type]
    assert agent.play(BRIEFING, TOOLS, repeat=0).ending == "wall_time"
    assert model.seconds == [10.0, 6.0, 0.5]


def test_an_episode_is_scored_unless_it_ended_by_somebody_elses_fault() -> None:
    def episode(ending: Ending, check: SelfCheck | None = None) -> Episode:
        return Episode(
            id="e", task="t", task_digest="d", agent="a", condition="default", variant={}, ending=ending,
            self_check=check,
        )  # fmt: skip

    unscored = {"provider_error", "auth", "budget", "wall_time", "harness_error"}
    assert unscored == set(UNSCORED_ENDINGS) == set(get_args(Ending)) - set(SCORED_ENDINGS)
    assert len(SCORED_ENDINGS) == 8
    for ending in get_args(Ending):
        assert episode(ending).scored is episode(ending).sound is (ending not in unscored), ending
        assert episode(ending, SelfCheck(agrees=True)).sound is (ending not in unscored), ending
        assert not episode(ending, SelfCheck(agrees=False)).sound
        assert not episode(ending, SelfCheck(agrees=True, foreign=("Patient/p1",))).sound


def test_which_limit_comes_first() -> None:
    used = Usage(input=90, output=10, calls=5, cost_usd=1.0)
    limits = Limits(turns=6, tokens=101, cost_usd=1.1, seconds=10)
    spent = Budget(1.0)
    spent.pay(1.0)

    def ending(limits: Limits, seconds: float = 5, budget: Budget | None = None) -> Ending | None:
        return reached(limits, used, seconds=seconds, budget=budget or Budget())

    assert ending(limits) is None
    assert ending(replace(limits, turns=5)) == "max_turns"
    assert ending(replace(limits, tokens=100)) == "max_tokens"
    assert ending(limits, seconds=10) == "wall_time"
    assert ending(replace(limits, cost_usd=1.0)) == "budget"
    assert ending(limits, budget=spent) == "budget"
    assert ending(replace(limits, turns=5, tokens=1), seconds=10, budget=spent) == "max_turns"
    assert ending(Limits()) is None


def test_limits_that_decide_a_score_make_another_agent_and_the_others_do_not() -> None:
    def digest_of(**limits: Any) -> str:
        return ModelAgent(ScriptedModel([]), limits=Limits(**limits)).digest

    assert len({digest_of(), digest_of(turns=39), digest_of(tokens=10), digest_of(tokens=11)}) == 4
    assert digest_of() == digest_of(seconds=1.0) == digest_of(cost_usd=1.0)


def test_an_unknown_price_makes_the_whole_cost_unknown() -> None:
    priced, unpriced = (Reply(calls=FINISHED.calls[:0], usage=Usage(calls=1, cost_usd=cost)) for cost in (1.0, None))
    assert play(priced, priced).usage.cost_usd == 2.0
    assert play(priced, unpriced).usage.cost_usd is None


class Lines:
    """A protocol of text: `ADD 5` or `FINISH`, one line a turn, as later protocols will be."""

    name = "lines"

    def opening(self, briefing: Briefing, tools: Sequence[Tool]) -> Turn:
        return Said(f"{briefing.instruction} You may say: {', '.join(tool.name.upper() for tool in tools)}.")

    def offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return ()

    def calls(self, reply: Reply) -> Sequence[Asked]:
        match reply.text.split():
            case ["ADD", number]:
                return [Asked("", "add", {"number": int(number)})]
            case ["FINISH"]:
                return [Asked("", "finish", {"outcome": "unclear"})]
            case []:
                return []
        raise FormatError(f"{reply.text!r} is neither ADD nor FINISH")

    def answer(self, made: Sequence[tuple[Asked, Call]]) -> Turn:
        return Said(json.dumps([call.result for _, call in made]))


def say(text: str) -> Reply:
    return Reply(texts=(text,))


def test_a_protocol_of_text_needs_only_another_seam() -> None:
    seen: list[list[Turn]] = []
    replies = iter([say("ADD 5"), say("FINISH")])

    def script(history: Sequence[Turn]) -> Reply:
        seen.append(list(history))
        return next(replies)

    agent = ModelAgent(ScriptedModel(script), protocol=Lines())
    played = agent.play(BRIEFING, TOOLS, repeat=0)
    assert (played.ending, played.claim) == ("finished", "unclear")
    assert [(call.name, call.arguments) for call in played.calls] == [("add", {"number": 5})]
    assert seen[0] == [Said("Raise the tally to 3. You may say: ADD, BROKEN, FINISH.")]
    assert seen[1][1:] == [say("ADD 5"), Said('[{"status": 200, "body": {"tally": 5}}]')]
    assert agent.settings["protocol"] == "lines"
    assert agent.digest != replace(agent, protocol=ToolCalling()).digest


def test_what_a_protocol_cannot_read_twice_in_a_row_is_bad_format() -> None:
    played = play(say("Sure!"), say("ADD 5"), say("Sure!"), say("Why?"), protocol=Lines())
    assert (played.ending, played.note, len(played.calls)) == ("bad_format", "Why?", 1)
    assert play(say("Sure!"), say("FINISH"), protocol=Lines()).ending == "finished"


def test_history_is_the_trace() -> None:
    seen: list[Sequence[Turn]] = []

    def script(history: Sequence[Turn]) -> Reply:
        seen.append(tuple(history))
        return [calls(("add", {"number": 1}), ("add", {"number": "x"}), text="T"), FINISHED][len(seen) - 1]

    played = ModelAgent(ScriptedModel(script)).play(BRIEFING, TOOLS, repeat=0)
    told = seen[-1][-1]
    assert [json.loads(result.text) for result in told.results] == [call.result for call in played.calls]  # type: ignore[union-attr]
    assert [result.is_error for result in told.results] == [False, True]  # type: ignore[union-attr]


@contextlib.contextmanager
def model_of(provider: Provider, prices: Prices | None = None, **patience: Any) -> Any:
    exchange = Exchange(patience=Patience(**patience), sleep=lambda seconds: None)
    model = openai_model(
        "m",
        base_url=provider.base_url,
        environment={},
        prices=prices or Prices(()),
        exchange=exchange,
        http_client=plain_client(),
    )
    with contextlib.closing(model):
        yield model


def answers(request: dict[str, Any]) -> Say:
    """Raises the tally as it was told to, in one call, and then finishes."""
    goal = request["messages"][1]["content"].split()[-1].rstrip(".")
    if request["messages"][-1]["role"] == "tool":
        return Say(calls=[("finish", {"outcome": "done"})])
    return Say(calls=[("add", {"number": int(goal)})])


def test_a_run_with_a_model_over_http_and_a_provider_that_breaks_down_is_resumed(tmp_path: Path) -> None:
    suite = TallySuite(6)
    steps = [answers] * 7 + [Fail(500)] * 2 + [answers] * 100
    with Provider("openai", *steps) as provider, model_of(provider, attempts=2) as model:
        plan = make_plan(suite, [ModelAgent(model), "idle"])
        with RunFolder.create(tmp_path / "run", plan.about(), plan.tasks) as folder:
            report = execute(plan, folder)
            assert (report.played, report.unscored) == (12, 1)
            failed = next(e for e in folder.episodes() if e.ending == "provider_error")
            assert failed.task == "tally/raise/0004"
            assert [call.name for call in failed.calls] == ["add"]
            assert "answered 500: no luck" in (failed.error or "")
        asked = len(provider.requests)
        with RunFolder.append(tmp_path / "run") as folder:
            report = execute(resume_plan(suite, [ModelAgent(model), "idle"], folder), folder)
            assert (report.played, report.unscored, report.left) == (1, 0, 0)
            assert len(provider.requests) == asked + 2
            outcomes = {(v.episode, v.lens): v.outcome for v in folder.verdicts()}
            assert [
                (e.ending, e.usage.calls, outcomes[e.id, "state"]) for e in folder.episodes() if e.agent == "openai:m"
            ] == [("finished", 2, "pass")] * 6
        assert provider.refused == []
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["agents"][0]["settings"]["base_url"] == provider.base_url


def test_a_wrong_key_ends_an_agent_after_one_episode(tmp_path: Path) -> None:
    with Provider("openai", answers, key="another") as provider:
        model = openai_model("m", base_url=provider.base_url, environment={"OPENAI_API_KEY": "wrong-key-of-mine"})
        with contextlib.closing(model):
            plan = make_plan(TallySuite(20), [ModelAgent(model)])
            with RunFolder.create(tmp_path / "run", plan.about(), plan.tasks) as folder:
                report = execute(plan, folder)
    assert (report.played, report.left, len(provider.requests)) == (1, 19, 1)
    assert report.problems[0].endswith("19 more of its episodes were not played")


def prices_for(tmp_path: Path, provider: Provider) -> Prices:
    (tmp_path / "prices.toml").write_text(
        f'[[price]]\nmodel = "openai:m"\nbase_url = "{provider.base_url}"\ninput = 10\noutput = 100\nsource = "s"\n'
        "date = 2026-01-01\n"
    )
    return read_prices(tmp_path / "prices.toml")


def test_a_budget_is_kept_across_episodes_and_gone_on_with(tmp_path: Path) -> None:
    with Provider("openai", answers) as provider, model_of(provider, prices_for(tmp_path, provider)) as model:
        budget = Budget(0.013)
        plan = make_plan(TallySuite(6), [ModelAgent(model, budget=budget), "idle"])
        with RunFolder.create(tmp_path / "run", plan.about(), plan.tasks) as folder:
            report = execute(plan, folder, budget=budget)
            endings = [e.ending for e in folder.episodes() if e.agent == "openai:m"]
        assert endings == ["finished"] * 3 + ["budget"]
        assert len(provider.requests) == 7
        assert (report.left, report.unscored) == (2, 1)
        assert report.problems == ["the budget of 0.013 USD is used up; 2 episodes were not played"]
        with RunFolder.append(tmp_path / "run") as folder:
            report = execute(resume_plan(TallySuite(6), [ModelAgent(model), "idle"], folder), folder)
            assert report.is_complete
            assert report.played == 3


def test_no_budget_without_a_price(tmp_path: Path) -> None:
    with Provider("openai", answers) as provider, model_of(provider) as model:
        for agent, budget in ((ModelAgent(model), Budget(1)), (ModelAgent(model, Limits(cost_usd=1)), Budget())):
            plan = make_plan(TallySuite(1), [agent])
            with RunFolder.create(tmp_path / f"run{budget.usd}", plan.about(), plan.tasks) as folder:
                with pytest.raises(PlanError, match="nobody knows what openai:m costs, so no budget can be kept"):
                    execute(plan, folder, budget=budget)
                assert provider.requests == []


def test_an_estimate_says_what_it_guesses(tmp_path: Path) -> None:
    suite = TallySuite(10)
    with Provider("openai", answers) as provider, model_of(provider, prices_for(tmp_path, provider)) as model:
        plan = make_plan(suite, ["idle", ModelAgent(model, Limits(turns=20))])
        guess = estimate(plan)
        assert (guess.planned, guess.to_play, guess.model_calls, guess.model_calls_at_most) == (20, 20, 80, 200)
        tools = plan.described_in(plan.episodes[0])
        prompt = (len("Count well.") + len("Raise the tally to 1.") + tools) // 4
        one = sum((prompt + n * (RESULT_TOKENS + OUTPUT_TOKENS)) * 10 + OUTPUT_TOKENS * 100 for n in range(TURNS)) / 1e6
        assert guess.cost_usd == pytest.approx(10 * one, rel=0.001)
        assert guess.why is None
        left = estimate(plan, {planned.id for planned in plan.episodes[:19]})
        assert (left.planned, left.to_play, left.model_calls) == (20, 1, 8)
        unpriced: OpenAIModel = replace(model, price=None)
        unknown = estimate(make_plan(suite, [ModelAgent(unpriced)]))
        assert (unknown.cost_usd, unknown.why) == (None, "the price of openai:m is unknown")
        assert estimate(make_plan(suite, ["idle"])).cost_usd == 0.0
        assert provider.requests == []
