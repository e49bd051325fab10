"""Which lenses apply, when nobody can judge, and whether the agent read back what it wrote."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ehr.verify import NOTHING, judge
from ehr.verify.readback import read_back
from grounding.loss import NO_STATUS, NO_STEPS, NO_TIMES, of_call
from harness.trace import SCORED_ENDINGS, UNSCORED_ENDINGS, Ending, SelfCheck
from tests.ehr.verify.build import ORDER, Chart, order, potassium, state, task, verdicts

ANSWER = {"values": [{"text": "a"}], "order": "any"}


def _right(**fields: Any) -> Any:
    chart = Chart()
    chart.create(order())
    return judge(task(ORDER, answer=ANSWER), chart.episode(answer=("a",), **fields))


def test_answer_applies_where_one_is_expected_and_the_others_always() -> None:
    assert [v.lens for v in _right()] == ["state", "answer", "message", "grounding"]
    assert [v.lens for v in judge(task(ORDER), Chart().episode())] == ["state", "message", "grounding"]


def test_without_calls_on_record_nothing_says_what_the_agent_saw() -> None:
    assert [v.lens for v in judge(task(ORDER), Chart().episode(), has_calls=False)] == ["state", "message"]


def test_without_an_expectation_nothing_may_change() -> None:
    chart = Chart()
    assert verdicts(chart, None)["state"].outcome == "pass"
    chart.create(order())
    assert verdicts(chart, None)["state"].labels == ("UNNEEDED_WRITE",)


def test_what_its_source_could_not_tell_is_unscored_and_never_a_fail() -> None:
    lost = ("the requests after the tenth were not kept",)
    outcomes = {v.lens: v.outcome for v in _right(loss=lost)}
    assert (outcomes["state"], outcomes["answer"], outcomes["message"]) == ("unscored", "pass", "unscored")
    nothing = judge(task(ORDER, answer=ANSWER), Chart().episode(loss=lost))
    assert [(v.lens, v.outcome, v.labels) for v in nothing][:3] == [
        ("state", "unscored", ()), ("answer", "unscored", ()), ("message", "unscored", ()),
    ]  # fmt: skip
    assert nothing[0].reason == "the episode's source could not tell everything: " + lost[0]
    wrong = judge(task(ORDER, answer=ANSWER), Chart().episode(answer=("b",), loss=lost))
    assert [v.labels for v in wrong if v.lens == "answer"] == [("WRONG_ANSWER",)], "the answer is there"


@pytest.mark.parametrize("loss", [NO_STATUS, NO_TIMES, NO_STEPS, of_call(3, "parts of its result are no text")])
def test_what_is_lost_of_times_steps_and_single_calls_does_not_touch_the_record(loss: str) -> None:
    assert [v.outcome for v in _right(loss=(loss,))][:3] == ["pass", "pass", "pass"]
    assert judge(task(ORDER), Chart().episode(loss=(loss,)))[0].outcome == "fail"


@pytest.mark.parametrize("ending", SCORED_ENDINGS)
def test_however_the_agent_ended_its_own_endings_are_judged(ending: str) -> None:
    assert [v.outcome for v in _right(ending=ending)] == ["pass", "pass", "pass", "vacuous"]


@pytest.mark.parametrize("ending", UNSCORED_ENDINGS)
def test_where_somebody_else_ended_it_nothing_is_judged(ending: str) -> None:
    for verdict in _right(ending=ending):
        assert (verdict.outcome, verdict.labels, verdict.clauses) == ("unscored", (), ())
        assert verdict.reason == f"the episode ended with {ending}"


def test_every_ending_is_one_of_the_two_kinds() -> None:
    assert set(get_args(Ending)) == {*SCORED_ENDINGS, *UNSCORED_ENDINGS}


def test_a_self_check_that_fails_stands_alone() -> None:
    check = SelfCheck(agrees=False, differences=("Patient/p1 reads otherwise", "and more"))
    for verdict in _right(self_check=check):
        assert (verdict.outcome, verdict.labels) == ("unscored", ("SELF_CHECK_FAILED",))
        assert verdict.reason == "the self-check failed: Patient/p1 reads otherwise"
    for verdict in _right(self_check=SelfCheck(agrees=False)):
        assert verdict.reason == "the self-check failed: no reason given"
    assert [v.outcome for v in _right(self_check=SelfCheck(agrees=True))] == ["pass", "pass", "pass", "vacuous"]


def test_a_change_of_nobodys_stands_alone() -> None:
    for check in (SelfCheck(agrees=True, foreign=("Patient/p9",)), SelfCheck(agrees=False, foreign=("Patient/p9",))):
        for verdict in _right(self_check=check):
            assert (verdict.outcome, verdict.labels) == ("unscored", ("FOREIGN_CHANGE",))
            assert verdict.reason == "somebody else changed the server: Patient/p9"


def test_an_ending_that_cannot_be_judged_outweighs_the_self_check() -> None:
    for verdict in _right(ending="auth", self_check=SelfCheck(agrees=False)):
        assert (verdict.labels, verdict.reason) == ((), "the episode ended with auth")


def test_each_lens_names_its_configuration() -> None:
    judged, unscored = _right(), _right(ending="auth")
    assert [v.config for v in judged] == [v.config for v in unscored]
    assert len({v.config for v in judged}) == 4
    assert {v.episode for v in judged} == {"sha256:0"}


# ---- read back


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("/MedicationRequest/1000", True),
        ("/MedicationRequest/1000/_history/1", True),
        ("/MedicationRequest/1000/_history", True),
        ("/MedicationRequest?patient=p1", True),
        ("/MedicationRequest", True),
        ("/MedicationRequest/_search?patient=p1", True),
        ("/Patient/p1/MedicationRequest", True),
        ("/MedicationRequest/1000/Observation", False),
        ("/MedicationRequest/1001", False),
        ("/Observation?patient=p1", False),
        ("/Patient/1000", False),
        ("/", False),
        ("", False),
    ],
)
def test_a_later_read_or_search_of_the_type_is_a_read_back(path: str, is_read: bool) -> None:
    chart = Chart()
    chart.create(order())
    chart.get(path)
    assert read_back(chart.episode()) == is_read
    assert ("NO_READBACK" in state(chart, ORDER).notes) != is_read


def test_a_read_before_or_of_another_writer_is_none() -> None:
    chart = Chart()
    chart.get("/MedicationRequest/1000")
    chart.create(order())
    assert read_back(chart.episode()) is False
    chart.get("/MedicationRequest/1000")
    chart.requests[-1] = chart.requests[-1].model_copy(update={"by": "other"})
    assert read_back(chart.episode()) is False


def test_a_search_by_post_counts_and_another_post_does_not() -> None:
    chart = Chart()
    chart.create(order())
    chart.refuse("POST", "/MedicationRequest", order())
    chart.refuse("DELETE", "/MedicationRequest/1000", None)
    assert read_back(chart.episode()) is False
    chart.refuse("POST", "/MedicationRequest/_search", "patient=p1", 200)
    assert read_back(chart.episode()) is True


def test_a_read_in_a_batch_counts_like_one_outside() -> None:
    chart = Chart()
    chart.create(order())
    chart.bundle("batch", ("GET", "Observation?patient=p1", None, 200), ("DELETE", "Observation/x", None, 404))
    assert read_back(chart.episode()) is False
    chart.bundle("batch", ("GET", "MedicationRequest/1000", None, 200))
    assert read_back(chart.episode()) is True


def test_every_write_must_be_read_back() -> None:
    chart = Chart()
    first, second = chart.create(order()), chart.create(potassium())
    chart.get(f"/{first}")
    assert read_back(chart.episode()) is False
    chart.get(f"/{second}")
    assert read_back(chart.episode()) is True
    chart.delete(first)
    assert read_back(chart.episode()) is False
    chart.get(f"/{first}", status=410)
    assert read_back(chart.episode()) is True


def test_a_bundle_is_so_many_writes() -> None:
    chart = Chart()
    chart.bundle("transaction", ("POST", "MedicationRequest", order(), 201), ("POST", "Observation", potassium(), 201))
    chart.get("/MedicationRequest?patient=p1")
    assert read_back(chart.episode()) is False
    chart.get("/Observation?patient=p1")
    assert read_back(chart.episode()) is True


def test_where_nothing_was_written_nobody_can_say() -> None:
    chart = Chart()
    chart.get("/Patient/p1")
    chart.refuse("POST", "/MedicationRequest", order())
    chart.create(order(), by="other")
    assert read_back(chart.episode()) is None
    assert "NO_READBACK" not in state(chart, NOTHING).notes
