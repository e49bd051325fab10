"""What `--fail-under` takes, and what it finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from readback.summary import Summary, Threshold, read_threshold, shortfalls, summarise
from tests.readback.hand import ABOUT, VARIANT, Run, task


def with_models() -> Run:
    run = Run(
        [task("dose/0001a", twin="dose/0001b"), task("dose/0001b", twin="dose/0001a"), task("age/1", kind="read")]
    )
    for agent, kind, outcomes in (("good", "model", "ppp"), ("poor", "model", "pfp"), ("idle", "baseline", "fff")):
        for one, outcome in zip(run.tasks, outcomes, strict=True):
            says = {"state": "pass" if outcome == "p" else "fail MISSING_WRITE"}
            run.play(one.id.removeprefix("ehr/"), agent, kind=kind, says=says)
    return run


def summary(run: Run) -> Summary:
    return summarise(ABOUT, run.tasks, run.episodes, run.verdicts, run="r")


def missed(made: Callable[[], Run], *texts: str) -> list[str]:
    return [str(one) for one in shortfalls(summary(made()), [read_threshold(text) for text in texts])]


def test_every_measured_agent_is_held_to_it_and_no_baseline() -> None:
    assert missed(with_models, "success=0.8") == ["poor (default): success is 0.667, under 0.8"]
    assert missed(with_models, "success=0.6") == []
    assert missed(with_models, "success = 1") == ["poor (default): success is 0.667, under 1"]


def test_other_measures_than_success() -> None:
    assert missed(with_models, "twin=0.5", "write=0.5", "read=1", "state=0.9") == [
        "poor (default): twin is 0.000, under 0.5",
        "poor (default): state is 0.667, under 0.9",
    ]


def test_baselines_alone_are_held_to_it() -> None:
    def baselines() -> Run:
        run = with_models()
        return Run(run.tasks, [one for one in run.episodes if one.agent == "idle"], run.verdicts)

    assert missed(baselines, "success=0.8") == ["idle (default): success is 0.000, under 0.8"]


def test_named_agents_are_held_to_it() -> None:
    found = shortfalls(summary(with_models()), [Threshold("success", 0.8)], agents=["idle"])
    assert [one.agent for one in found] == ["idle"]


def test_a_row_without_such_tasks_is_not_held_to_them_where_another_has_some() -> None:
    def only_good_was_judged() -> Run:
        run = with_models()
        run.play("age/1", "good", repeat=1, says={"state": "pass", "grounding": "fail UNGROUNDED"})
        run.play("dose/0001a", "writer", says={"state": "fail"})
        return run

    assert missed(only_good_was_judged, "grounding=0.5", "read=0.5") == [
        "good (default): grounding is 0.000, under 0.5",
    ]


def test_rows_under_a_fault_are_passed_over_unless_there_are_no_others() -> None:
    def run_of(*faults: str | None) -> Run:
        run = Run([task("dose/0001a")])
        for fault in faults:
            outcome = "pass" if fault is None else "fail"
            run.play("dose/0001a", "m", variant={**VARIANT, "fault": fault}, says={"state": outcome})
        return run

    assert missed(lambda: run_of(None, "slow"), "success=0.5") == []
    assert missed(lambda: run_of("slow"), "success=0.5") == ["m (default): success is 0.000, under 0.5"]


def test_what_is_undefined_cannot_be_shown_to_reach_it() -> None:
    assert missed(with_models, "withhold=0.1", "answer=0") == [
        "good (default): withhold is undefined, under 0.1",
        "poor (default): withhold is undefined, under 0.1",
        "good (default): answer is undefined, under 0",
        "poor (default): answer is undefined, under 0",
    ]


@pytest.mark.parametrize("text", ["", "success", "0.8", "succes=0.8", "=0.8"])
def test_what_is_no_threshold_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="write MEASURE=RATE with one of success, twin"):
        read_threshold(text)


@pytest.mark.parametrize("number", ["80", "-0.1", "x", "", "nan", "80%"])
def test_what_is_no_rate_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=r"a number from 0 to 1, such as success=0\.8"):
        read_threshold(f"success={number}")
