"""Rule 6: what an expectation is called that no change met, and what refusals have to do with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.verify import Create, Expected, Update, clause
from harness.trace import Call
from tests.ehr.verify.build import ADA, ORDER, WARFARIN, Body, Chart, changed, finding, order, potassium, state

LAB = Create(type="Observation", clauses=(clause("is final", "status = 'final'", label="WRONG_STATUS"),))
BOTH = Expected(creates=(*ORDER.creates, LAB))
STOP = Expected(
    updates=(
        Update(
            reference="MedicationRequest/mr0",
            may_change=("status",),
            clauses=(clause("is stopped", "status = 'stopped'", label="WRONG_STATUS"),),
        ),
    )
)
DELETE = Expected(deletes=("MedicationRequest/mr0",))
STOPPED = changed(WARFARIN, status="stopped")


@pytest.mark.parametrize("expected", [ORDER, STOP, DELETE, BOTH])
@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("done", "PHANTOM_SUCCESS"),
        ("not_done", "MISSING_WRITE"),
        ("unclear", "MISSING_WRITE"),
        (None, "MISSING_WRITE"),
    ],
)
def test_where_nothing_was_met_only_a_claim_of_done_is_phantom(
    expected: Expected, claim: str | None, label: str
) -> None:
    verdict = state(Chart(), expected, claim=claim)
    assert (verdict.labels, verdict.reason) == ((label,), None)
    said = ", and done is claimed" if claim == "done" else ""
    assert {c.actual for c in verdict.clauses if c.outcome == "fail"} == {f"nothing of the kind{said}"}


@pytest.mark.parametrize("claim", ["done", "not_done", "unclear", None])
def test_where_others_have_a_pair_it_is_partial_whatever_is_claimed(claim: str | None) -> None:
    chart = Chart()
    chart.create(order())
    assert state(chart, BOTH, claim=claim).labels == ("PARTIAL",)


def test_a_pair_that_fails_its_clauses_is_a_pair() -> None:
    chart = Chart()
    chart.create(order(authoredOn=None))
    assert state(chart, BOTH).labels == ("WRONG_TIME", "PARTIAL")


def test_a_leftover_change_is_no_pair() -> None:
    chart = Chart()
    chart.create(potassium())
    assert state(chart, ORDER).labels == ("COLLATERAL_CHANGE", "PHANTOM_SUCCESS")
    assert state(chart, ORDER, claim="not_done").labels == ("COLLATERAL_CHANGE", "MISSING_WRITE")


def test_several_that_are_open_are_said_once_and_found_each() -> None:
    chart = Chart()
    chart.create(order())
    verdict = state(chart, Expected(creates=(*ORDER.creates, LAB), deletes=("MedicationRequest/mr0",)))
    assert verdict.labels == ("PARTIAL",)
    assert [c.name for c in verdict.clauses if c.label == "PARTIAL"] == ["creates[1]", "deletes[0]"]
    assert finding(verdict, "creates[1]").expected == "Observation created"
    assert finding(verdict, "deletes[0]").expected == "MedicationRequest/mr0 deleted"


# ---- refused


def _refused(expected: Expected, *refusals: tuple[str, str, Any], claim: str = "not_done", status: int = 400) -> Any:
    chart = Chart()
    for method, path, body in refusals:
        chart.refuse(method, path, body, status)
    return state(chart, expected, claim=claim).labels


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 429, 500, 503])
def test_a_refused_create_that_was_never_repaired_is_added(status: int) -> None:
    assert _refused(ORDER, ("POST", "/MedicationRequest", order()), status=status) == (
        "MISSING_WRITE", "REJECTED_WRITE",
    )  # fmt: skip
    assert _refused(ORDER, ("POST", "/MedicationRequest", order()), status=status, claim="done") == (
        "PHANTOM_SUCCESS", "REJECTED_WRITE",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "method", "path", "body"),
    [
        (ORDER, "POST", "/MedicationRequest?_pretty=true", order()),
        (ORDER, "POST", "/MedicationRequest/", "not json"),
        (ORDER, "POST", "/MedicationRequest", None),
        (ORDER, "PUT", "/MedicationRequest/mine", order(id="mine")),  # it would have created
        (STOP, "PUT", "/MedicationRequest/mr0", STOPPED),
        (STOP, "PATCH", "/MedicationRequest/mr0", '[{"op":"replace","path":"/status","value":"stopped"}]'),
        (STOP, "PUT", "/MedicationRequest?identifier=x", STOPPED),  # conditional: the body says which
        (DELETE, "DELETE", "/MedicationRequest/mr0", None),
    ],
)
def test_such_a_write_is_of_the_same_verb_type_and_id(
    expected: Expected, method: str, path: str, body: Body | str | None
) -> None:
    assert _refused(expected, (method, path, body)) == ("MISSING_WRITE", "REJECTED_WRITE")


@pytest.mark.parametrize(
    ("expected", "method", "path", "body"),
    [
        (ORDER, "POST", "/Observation", potassium()),  # another type
        (ORDER, "POST", "/MedicationRequest/_search", "patient=p1"),  # a search
        (ORDER, "POST", "/MedicationRequest/$validate", order()),
        (ORDER, "GET", "/MedicationRequest?patient=p1", None),
        (ORDER, "PATCH", "/MedicationRequest/mr0", "[]"),
        (ORDER, "DELETE", "/MedicationRequest/mr0", None),
        (STOP, "PUT", "/MedicationRequest/mr1", changed(STOPPED, id="mr1")),  # another id
        (STOP, "PUT", "/MedicationRequest?identifier=x", order()),  # which one, nobody can say
        (STOP, "DELETE", "/MedicationRequest/mr0", None),  # another verb
        (STOP, "POST", "/MedicationRequest", STOPPED),
        (DELETE, "PUT", "/MedicationRequest/mr0", STOPPED),
        (DELETE, "DELETE", "/MedicationRequest/mr1", None),
        (DELETE, "DELETE", "/MedicationRequest?identifier=x", None),
    ],
)
def test_another_refused_request_is_none(expected: Expected, method: str, path: str, body: Body | str | None) -> None:
    assert _refused(expected, (method, path, body)) == ("MISSING_WRITE",)


def test_a_refused_put_of_what_was_seen_or_of_a_named_version_is_no_create() -> None:
    chart = Chart()
    chart.get("/MedicationRequest/mr0")
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED)
    assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS",)
    chart = Chart()
    chart.get("/MedicationRequest", answer={"resourceType": "Bundle", "entry": [{"resource": WARFARIN}]})
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED)
    assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS",)
    chart = Chart()
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED, 409, headers={"if-match": 'W/"1"'})
    assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS",)
    chart = Chart()
    chart.get("/MedicationRequest/mr0", status=404)
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED)
    assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")


def test_what_a_long_answer_showed_was_seen_though_only_the_call_keeps_it() -> None:
    page = {"resourceType": "Bundle", "entry": [{"resource": WARFARIN}]}
    for body, extra in ((page, ()), (None, ("REJECTED_WRITE",))):
        chart = Chart()
        chart.get("/MedicationRequest?patient=p1")
        chart.requests[0] = chart.requests[0].model_copy(update={"response": None})
        chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED)
        answers = ({"status": 200, "body": body}, {"status": 400, "body": None})
        calls = tuple(
            Call(position=n, step=n, name="t", arguments={}, status="ok", result=result, http={"status": 200})
            for n, result in enumerate(answers, 1)
        )
        assert state(chart, ORDER, calls=calls).labels == ("PHANTOM_SUCCESS", *extra)


def test_a_refused_transaction_refuses_every_entry_in_it() -> None:
    chart = Chart()
    chart.bundle(
        "transaction",
        ("POST", "MedicationRequest", order(), 201),
        ("POST", "Observation", potassium(), 201),
        ("PUT", "MedicationRequest/mr0", STOPPED, 200),
        refused=400,
    )
    assert state(chart, BOTH).labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")
    assert state(chart, STOP).labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")
    assert state(chart, DELETE).labels == ("PHANTOM_SUCCESS",)


def test_a_batch_entry_stands_for_itself() -> None:
    chart = Chart()
    chart.bundle(
        "batch", ("POST", "MedicationRequest", order(), 201), ("POST", "Observation", potassium(), 422)
    )  # fmt: skip
    verdict = state(chart, BOTH)
    assert verdict.labels == ("PARTIAL", "REJECTED_WRITE")
    assert finding(verdict, "creates[1]").label in ("PARTIAL", "REJECTED_WRITE")
    assert [c.name for c in verdict.clauses if c.label == "REJECTED_WRITE"] == ["creates[1]"]
    chart.create(potassium())
    verdict = state(chart, BOTH)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), True)


@pytest.mark.parametrize(
    "entry",
    [
        ("DELETE", "MedicationRequest/mr0", None, 409),
        ("DELETE", "http://fhir.hospital.example/fhir/MedicationRequest/mr0", None, 409),
    ],
)
def test_deletes_in_a_batch_are_told_by_their_url(entry: tuple[str, str, Body | None, int]) -> None:
    chart = Chart()
    chart.bundle("batch", entry)
    assert state(chart, DELETE).labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")


def test_a_refused_write_of_another_writer_is_not_the_agents() -> None:
    chart = Chart()
    chart.refuse("POST", "/MedicationRequest", order())
    chart.requests = [r.model_copy(update={"by": "other"}) for r in chart.requests]
    assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS",)


def test_a_gateway_that_got_no_answer_in_time_refused_nothing() -> None:
    assert _refused(ORDER, ("POST", "/MedicationRequest", order()), status=504) == ("MISSING_WRITE",)


# ---- repaired


def test_a_refused_create_that_was_repaired_is_a_note() -> None:
    chart = Chart()
    chart.refuse("POST", "/MedicationRequest", order(subject={"reference": "Patient/p9"}))
    chart.create(order())
    verdict = state(chart, ORDER)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), True)


def test_a_refused_update_and_delete_that_were_repaired_are_notes() -> None:
    chart = Chart()
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED, 409)
    chart.patch("MedicationRequest/mr0", status="stopped")
    verdict = state(chart, STOP)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), True)
    chart = Chart()
    chart.refuse("DELETE", "/MedicationRequest/mr0", None, 503)
    chart.delete("MedicationRequest/mr0")
    verdict = state(chart, DELETE)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), True)


def test_a_repair_that_is_wrong_is_a_repair_all_the_same() -> None:
    chart = Chart()
    chart.refuse("POST", "/MedicationRequest", order())
    chart.create(order(authoredOn="2026-01-14"))
    verdict = state(chart, ORDER)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == (("WRONG_TIME",), True)


def test_what_was_refused_after_it_was_written_was_not_repaired() -> None:
    chart = Chart()
    chart.create(order())
    chart.refuse("POST", "/MedicationRequest", order(), 412)
    verdict = state(chart, ORDER)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), False)


def test_a_refusal_of_something_else_is_no_repair_and_no_failure() -> None:
    chart = Chart()
    chart.refuse("POST", "/Observation", potassium())
    chart.refuse("PUT", "/Patient/p1", ADA)
    chart.create(order())
    verdict = state(chart, ORDER)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == ((), False)


def test_while_one_of_the_kind_is_open_the_refusal_was_not_repaired() -> None:
    two = Expected(creates=(*ORDER.creates, *ORDER.creates))
    chart = Chart()
    chart.refuse("POST", "/MedicationRequest", order())
    chart.create(order())
    verdict = state(chart, two)
    assert verdict.labels == ("PARTIAL", "REJECTED_WRITE")
    assert "REPAIRED_WRITE" not in verdict.notes


def test_something_else_that_is_open_does_not_undo_a_repair() -> None:
    chart = Chart()
    chart.refuse("POST", "/MedicationRequest", order())
    chart.create(order())
    verdict = state(chart, BOTH)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == (("PARTIAL",), True)
    two = Expected(updates=(*STOP.updates, STOP.updates[0].model_copy(update={"reference": "MedicationRequest/mr1"})))
    chart = Chart(WARFARIN, changed(WARFARIN, id="mr1"))
    chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED, 409)
    chart.put(STOPPED)
    verdict = state(chart, two)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == (("PARTIAL",), True)


def test_a_later_write_of_something_else_repairs_nothing() -> None:
    chart = Chart()
    chart.create(order())
    chart.refuse("POST", "/MedicationRequest", order())
    chart.create(order(status="completed"))
    verdict = state(chart, ORDER)
    assert (verdict.labels, "REPAIRED_WRITE" in verdict.notes) == (("COLLATERAL_CHANGE",), False)


def test_a_refused_body_may_be_anything() -> None:
    for body in ("", "[]", "null", "{", '"text"', json.dumps({"resourceType": ["x"], "id": 5}), "[" * 5000):
        chart = Chart()
        for method, path in (
            ("POST", "/MedicationRequest"),
            ("PUT", "/MedicationRequest"),
            ("POST", "/"),
            ("POST", ""),
        ):
            chart.refuse(method, path, body)
        assert state(chart, ORDER).labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")
