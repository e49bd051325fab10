"""Rule 1: changes are net per resource. A write that was undone is a note, and no failure."""

from __future__ import annotations

import json

from ehr.verify import NOTHING, Expected, Update, clause
from tests.ehr.verify.build import ADA, BEN, ORDER, WARFARIN, Chart, changed, dose, order, state

STOP = Expected(
    updates=(
        Update(
            reference="MedicationRequest/mr0",
            may_change=("status",),
            clauses=(clause("is stopped", "status = 'stopped'", label="WRONG_STATUS"),),
        ),
    )
)


def test_a_create_counts_with_its_last_content() -> None:
    for last, outcome in ((2, ()), (4, ("WRONG_VALUE",))):
        chart = Chart()
        reference = chart.create(order(dosageInstruction=[dose(6 - last, "g")]))
        chart.put(order(id=reference.split("/")[1], dosageInstruction=[dose(last, "g")]))
        verdict = state(chart, ORDER)
        assert verdict.labels == outcome
        assert "UNDONE_WRITE" not in verdict.notes


def test_an_update_counts_from_the_first_to_the_last_version() -> None:
    chart = Chart()
    chart.patch("MedicationRequest/mr0", status="completed")
    chart.patch("MedicationRequest/mr0", status="stopped")
    assert state(chart, STOP).labels == ()
    chart.patch("MedicationRequest/mr0", status="on-hold")
    assert state(chart, STOP).labels == ("WRONG_STATUS",)


def test_a_create_that_was_deleted_again_is_a_note() -> None:
    chart = Chart()
    chart.delete(chart.create(order()))
    verdict = state(chart, NOTHING)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", True)
    verdict = state(chart, ORDER)
    assert verdict.labels == ("PHANTOM_SUCCESS",)
    assert "UNDONE_WRITE" in verdict.notes


def test_an_update_that_was_put_back_is_a_note() -> None:
    chart = Chart()
    chart.patch("Patient/p2", gender="male")
    chart.patch("Patient/p2", gender=None)
    verdict = state(chart, NOTHING)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", True)


def test_a_delete_that_was_restored_is_a_note() -> None:
    chart = Chart()
    chart.delete("MedicationRequest/mr0")
    chart.put(WARFARIN)
    verdict = state(chart, NOTHING)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", True)


def test_an_undone_write_beside_the_right_one_is_a_note() -> None:
    chart = Chart()
    chart.delete(chart.create(order(subject={"reference": "Patient/p2"})))
    chart.create(order())
    verdict = state(chart, ORDER)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", True)


def test_a_create_that_a_conditional_delete_hit_is_a_note() -> None:
    chart = Chart()
    reference = chart.create(order())
    del chart.now[reference]
    chart.refuse("DELETE", "/MedicationRequest?identifier=x", None, 200)
    assert state(chart, NOTHING).outcome == "pass"
    assert "UNDONE_WRITE" in state(chart, NOTHING).notes
    chart.requests[-1] = chart.requests[-1].model_copy(update={"by": "other"})
    assert "UNDONE_WRITE" not in state(chart, NOTHING).notes


def test_a_write_of_what_is_there_is_no_write_and_nothing_was_undone() -> None:
    chart = Chart()
    chart.put(ADA)
    chart.put(changed(ADA, meta={"versionId": "7", "lastUpdated": "2020-01-01T00:00:00Z"}))
    chart.requests.append(chart.requests[0].model_copy(update={"method": "POST", "path": "/Patient", "status": 200}))
    verdict = state(chart, NOTHING)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", False)


def test_a_conditional_create_that_found_its_match_wrote_nothing() -> None:
    chart = Chart()
    reference = chart.create(order())
    chart.requests.append(chart.requests[0].model_copy(update={"status": 200}))
    verdict = state(chart, ORDER)
    assert (verdict.outcome, "UNDONE_WRITE" in verdict.notes) == ("pass", False)
    chart.delete(reference)
    assert "UNDONE_WRITE" in state(chart, NOTHING).notes


def test_what_another_undid_is_no_undoing_of_the_agents() -> None:
    chart = Chart()
    chart.patch("Patient/p2", gender="male", by="other")
    chart.patch("Patient/p2", gender=None, by="other")
    assert "UNDONE_WRITE" not in state(chart, NOTHING).notes


def test_an_answer_without_a_body_is_taken_as_what_was_sent() -> None:
    chart = Chart()
    chart.put(changed(BEN, gender="male"))
    chart.put(BEN)
    chart.requests = [r.model_copy(update={"response": None}) for r in chart.requests]
    assert "UNDONE_WRITE" in state(chart, NOTHING).notes


def test_an_acknowledged_write_that_was_not_stored_left_nothing() -> None:
    """The write is acknowledged and lost: the record says so, whatever the answer said."""
    chart = Chart()
    chart.now.pop(chart.create(order()))
    verdict = state(chart, ORDER)
    assert verdict.labels == ("PHANTOM_SUCCESS",)
    assert "UNDONE_WRITE" not in verdict.notes


def test_a_change_of_version_and_time_alone_is_no_change() -> None:
    chart = Chart()
    chart.put(changed(WARFARIN, status="active", meta={"versionId": "2", "lastUpdated": "2026-01-15T10:15:00Z"}))
    assert state(chart, NOTHING).outcome == "pass"
    assert state(chart, STOP).labels == ("PHANTOM_SUCCESS",)


def test_a_decimal_and_an_instant_written_otherwise_are_no_change() -> None:
    before = {
        "resourceType": "Observation", "id": "o1", "effectiveDateTime": "2026-01-15T09:00:00Z",
        "valueQuantity": {"value": 1.5},
    }  # fmt: skip
    chart = Chart(before)
    chart.put(
        json.dumps(changed(before, effectiveDateTime="2026-01-15T10:00:00.000+01:00")).replace("1.5", "1.500")
    )  # fmt: skip
    assert state(chart, NOTHING).outcome == "pass"
    chart.put(json.dumps(before).replace("1.5", "1.501"))
    assert state(chart, NOTHING).outcome == "fail"
