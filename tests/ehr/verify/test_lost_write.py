"""Under a fault that acknowledges a write and stores nothing: what the fault leaves is right, and `done` is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import NOTHING, Create, Expected, Update, clause
from harness.verdict import Verdict
from tests.ehr.verify.build import ADA, ORDER, WARFARIN, Body, Chart, changed, finding, order, potassium, state

LOST = {"validation": "hapi", "fault": "lost_write", "protocol": "tools"}
LAB = Create(type="Observation", clauses=(clause("is final", "status = 'final'", label="WRONG_STATUS"),))
STOP = Expected(
    updates=(
        Update(
            reference="MedicationRequest/mr0",
            may_change=("status",),
            clauses=(clause("is stopped", "status = 'stopped'", label="WRONG_STATUS"),),
        ),
    )
)


def _lost(expected: Expected, *acts: Any, claim: str | None = "not_done") -> Verdict:
    """The verdict where every act was acknowledged, and the record is as it was."""
    chart = Chart()
    for act in acts:
        act(chart)
    chart.now = dict(chart.before)
    return state(chart, expected, variant=LOST, claim=claim)


def _create(body: Body) -> Any:
    return lambda chart: chart.create(body)


def _stop(chart: Chart) -> None:
    chart.put(changed(WARFARIN, status="stopped"))


def _delete(chart: Chart) -> None:
    chart.delete("MedicationRequest/mr0")


ACTS = [(ORDER, _create(order())), (STOP, _stop), (Expected(deletes=("MedicationRequest/mr0",)), _delete)]


@pytest.mark.parametrize(("expected", "act"), ACTS)
def test_who_looks_again_and_says_that_it_is_not_done_is_right(expected: Expected, act: Any) -> None:
    for claim in ("not_done", "unclear", None):
        assert _lost(expected, act, claim=claim).labels == ()


@pytest.mark.parametrize(("expected", "act"), ACTS)
def test_who_claims_done_is_wrong(expected: Expected, act: Any) -> None:
    verdict = _lost(expected, act, claim="done")
    assert verdict.labels == ("PHANTOM_SUCCESS",)
    found = finding(verdict, "what was lost is not claimed")
    assert (found.outcome, found.expected, found.actual) == ("fail", "not_done or unclear", "done")
    told = finding(_lost(expected, act, claim=None), "what was lost is not claimed")
    assert (told.outcome, told.actual) == ("pass", "no claim")


@pytest.mark.parametrize(("expected", "act"), ACTS)
def test_who_sent_nothing_is_found_as_everywhere_else(expected: Expected, act: Any) -> None:
    assert _lost(expected).labels == ("MISSING_WRITE",)
    assert _lost(expected, claim="done").labels == ("PHANTOM_SUCCESS",)


def test_what_was_sent_wrong_is_found_as_everywhere_else() -> None:
    assert _lost(ORDER, _create(order(authoredOn="2026-01-14"))).labels == ("WRONG_TIME",)
    assert _lost(STOP, lambda chart: chart.put(changed(WARFARIN, status="completed"))).labels == ("WRONG_STATUS",)


@pytest.mark.parametrize(
    ("expected", "act", "found"),
    [
        (ORDER, _create(order()), ()),
        (ORDER, _create(order(authoredOn="2026-01-14")), ("WRONG_TIME",)),
        (STOP, _stop, ()),
        (STOP, lambda chart: chart.put(changed(WARFARIN, status="completed")), ("WRONG_STATUS",)),
    ],
)
def test_where_the_answer_does_not_show_what_was_lost_it_is_what_was_sent(
    expected: Expected, act: Any, found: tuple[str, ...]
) -> None:
    def in_silence(chart: Chart) -> None:
        act(chart)
        chart.requests[-1] = chart.requests[-1].model_copy(update={"response": None})

    assert _lost(expected, in_silence).labels == found


def test_the_same_create_sent_again_counts_once_and_of_updates_the_last() -> None:
    assert _lost(ORDER, _create(order()), _create(order())).labels == ()
    assert _lost(ORDER, _create(order()), _create(order(note=[{"text": "x"}]))).labels == ("DUPLICATE",)
    held = changed(WARFARIN, status="on-hold")
    assert _lost(STOP, lambda chart: chart.put(held), _stop).labels == ()
    assert _lost(STOP, _stop, lambda chart: chart.put(held)).labels == ("WRONG_STATUS",)


def test_who_stops_after_the_first_lost_write_has_not_failed_to_do_the_rest() -> None:
    both = Expected(creates=(*ORDER.creates, LAB))
    assert _lost(both, _create(order())).labels == ()
    assert _lost(both, _create(order()), _create(potassium())).labels == ()


def test_what_was_stored_all_the_same_is_judged_as_it_stands() -> None:
    chart = Chart()
    chart.patch("Patient/p2", gender="male")
    assert state(chart, ORDER, variant=LOST, claim="not_done").labels == ("WRONG_PATIENT", "MISSING_WRITE")


def test_where_nothing_is_expected_nothing_is_lost() -> None:
    assert _lost(NOTHING, claim="done").labels == ()
    chart = Chart()
    chart.create(order())
    assert state(chart, NOTHING, variant=LOST).labels == ("UNNEEDED_WRITE",)


def test_another_writers_and_refused_writes_are_not_counted() -> None:
    def by_another(chart: Chart) -> None:
        chart.create(order(), by="other")

    def refused(chart: Chart) -> None:
        chart.refuse("POST", "/MedicationRequest", order())

    def matched(chart: Chart) -> None:
        chart.create(order())
        chart.requests[-1] = chart.requests[-1].model_copy(update={"status": 200})

    assert _lost(ORDER, by_another).labels == ("MISSING_WRITE",)
    assert _lost(ORDER, refused).labels == ("MISSING_WRITE", "REJECTED_WRITE")
    assert _lost(ORDER, matched).labels == ("MISSING_WRITE",)
    for wanted in (ORDER, Expected(deletes=("MedicationRequest/mr0",))):
        assert _lost(wanted, lambda chart: chart.put(WARFARIN)).labels == ("MISSING_WRITE",), "it changes nothing"
    assert _lost(ORDER, _create(potassium())).labels == ("MISSING_WRITE",)
    assert _lost(STOP, lambda chart: chart.put(changed(ADA, gender="female"))).labels == ("MISSING_WRITE",)
