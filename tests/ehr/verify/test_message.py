"""The message lens: the same episode graded the old way, by what was sent or said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.verify import NOTHING, Create, Expected, Update, clause
from harness.trace import Text
from tests.ehr.verify.build import (
    ADA,
    MAGNESIUM,
    NDC,
    ORDER,
    WARFARIN,
    Body,
    Chart,
    changed,
    finding,
    message,
    order,
    potassium,
    state,
    verdicts,
)

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
LAB = Create(type="Observation", clauses=(clause("is final", "status = 'final'", label="WRONG_STATUS"),))
BOTH = Expected(creates=(*ORDER.creates, LAB))

# ---- the five rows of the baselines


def _oracle() -> Chart:
    chart = Chart()
    chart.create(order())
    return chart


def _careless() -> Chart:
    chart = _oracle()
    chart.patch("Patient/p2", gender="male")
    return chart


def _stutter() -> Chart:
    chart = _oracle()
    chart.create(order())
    return chart


@pytest.mark.parametrize(
    ("name", "chart", "fields", "said", "stored", "label"),
    [
        ("oracle", _oracle(), {}, "pass", "pass", None),
        ("idle", Chart(), {"claim": "unclear"}, "fail", "fail", "MISSING_WRITE"),
        ("phantom", Chart(), {"note": f"Done: {json.dumps(order())}"}, "pass", "fail", "PHANTOM_SUCCESS"),
        ("careless", _careless(), {}, "pass", "fail", "WRONG_PATIENT"),
        ("stutter", _stutter(), {}, "fail", "fail", "DUPLICATE"),
    ],
)
def test_the_baselines(name: str, chart: Chart, fields: Body, said: str, stored: str, label: str | None) -> None:
    both = verdicts(chart, ORDER, **fields)
    assert (both["message"].outcome, both["state"].outcome, both["state"].label) == (said, stored, label), name
    assert both["message"].labels == ()


# ---- what is a payload


def _outcome(expected: Expected, chart: Chart | None = None, *texts: str, note: str = "") -> str:
    said = tuple(Text(step=n, text=text) for n, text in enumerate(texts, 1))
    return message(chart or Chart(), expected, texts=said, note=note).outcome


def test_an_acknowledged_create_of_any_kind_is_a_payload() -> None:
    for act in ("post", "put", "transaction", "batch"):
        chart = Chart()
        if act == "post":
            chart.create(order())
        elif act == "put":
            chart.put(order(id="own"))
        else:
            chart.bundle(act, ("POST", "MedicationRequest", order(), 201))
        assert _outcome(ORDER, chart) == "pass", act
        assert _outcome(NOTHING, chart) == "fail", act


@pytest.mark.parametrize(
    "said",
    [
        "{}",
        "I order {}.",
        "```json\n{}\n```",
        "```tool_code\nPOST http://h.example/fhir/MedicationRequest\n{}\n```",
        "[{}]",
        '{{"resourceType": "Bundle", "type": "transaction", "entry": [{{"resource": {}}}]}}',
        '{{"resourceType": "Bundle", "entry": [7, {{"request": {{}}}}, {{"resource": {}}}]}}',
        '{{"name": "fhir_create", "arguments": {{"type": "MedicationRequest", "resource": {}}}}}',
        '{{"resourceType": "Parameters", "parameter": [{{"name": "resource", "resource": {}}}]}}',
        "{{ not json {} }}",
        "first {} and again {}",  # repeated, and still one
    ],
)
def test_a_resource_said_as_json_is_a_payload_wherever_it_stands(said: str) -> None:
    text = said.format(json.dumps(order()), json.dumps(order()))
    assert _outcome(ORDER, None, text) == "pass"
    assert _outcome(ORDER, None, note=text) == "pass"
    assert _outcome(ORDER, None, "thinking", text, note=text) == "pass"
    assert _outcome(NOTHING, None, text) == "fail"


@pytest.mark.parametrize(
    "said",
    [
        "2 g magnesium for Ada",
        '{"dose": 2}',
        '{"resourceType": 7}',
        '{"resourceType": "OperationOutcome", "issue": []}',
        '{"resourceType": "Bundle", "entry": []}',
        json.dumps(order())[:-1],
        "",
    ],
)
def test_what_is_no_resource_is_none(said: str) -> None:
    assert _outcome(ORDER, None, said) == "fail"
    assert _outcome(NOTHING, None, said) == "pass"


def test_contained_resources_are_part_of_theirs() -> None:
    body = order(contained=[{"resourceType": "Practitioner", "id": "d"}])
    assert _outcome(ORDER, None, json.dumps(body)) == "pass"


def test_sent_and_said_counts_once() -> None:
    chart = _oracle()
    assert _outcome(ORDER, chart, json.dumps(order()), note=json.dumps(order(), indent=2)) == "pass"
    same = json.dumps(dict(reversed(order().items()))).replace('"value": 2', '"value": 2.0')
    assert _outcome(ORDER, chart, same) == "pass"  # equal, not the same text
    assert _outcome(ORDER, chart, json.dumps(order(authoredOn="2026-01-15T10:15:00Z"))) == "pass"
    assert _outcome(ORDER, chart, json.dumps(order(note=[{"text": "x"}]))) == "fail"  # another one


def test_refused_never_counts_even_where_it_is_also_said() -> None:
    for act in ("post", "transaction", "batch"):
        chart = Chart()
        if act == "post":
            chart.refuse("POST", "/MedicationRequest", order())
        elif act == "transaction":
            chart.bundle("transaction", ("POST", "MedicationRequest", order(), 201), refused=400)
        else:
            chart.bundle("batch", ("POST", "MedicationRequest", order(), 400))
        assert _outcome(ORDER, chart, json.dumps(order())) == "fail", act
        assert _outcome(NOTHING, chart, json.dumps(order())) == "pass", act
        chart.create(order())  # and then it was acknowledged
        assert _outcome(ORDER, chart, json.dumps(order())) == "pass", act


def test_the_same_sent_twice_counts_twice() -> None:
    assert _outcome(ORDER, _stutter()) == "fail"
    assert _outcome(Expected(creates=ORDER.creates * 2), _stutter()) == "pass"


def test_what_another_writer_sent_is_no_payload() -> None:
    chart = Chart()
    chart.create(order(), by="other")
    assert _outcome(ORDER, chart) == "fail"
    assert _outcome(NOTHING, chart) == "pass"


def test_reads_updates_and_deletes_are_no_payloads() -> None:
    chart = Chart()
    chart.get("/Patient/p1")
    chart.put(STOPPED)
    chart.patch("MedicationRequest/mr0", priority="stat")
    chart.delete("MedicationRequest/mr0")
    assert _outcome(NOTHING, chart) == "pass"


# ---- what passes


def test_each_expected_create_needs_a_satisfying_payload_of_its_own() -> None:
    chart = Chart()
    chart.create(potassium())
    assert _outcome(BOTH, chart) == "fail"
    assert _outcome(BOTH, chart, json.dumps(order())) == "pass"  # one sent, one said
    assert _outcome(Expected(creates=(LAB, LAB)), chart) == "fail"


def test_the_best_assignment_is_taken_here_too() -> None:
    strict = Create(type="Observation", clauses=(clause("noted", "note.exists()", label="WRONG_VALUE"),))
    for creates in ((LAB, strict), (strict, LAB)):
        chart = Chart()
        chart.create(potassium(note=[{"text": "x"}]))
        chart.create(potassium())
        assert _outcome(Expected(creates=creates), chart) == "pass"


@pytest.mark.parametrize(
    "body",
    [
        order(subject={"reference": "Patient/p2"}),
        order(authoredOn="2026-01-14"),
        order(status="draft"),
        potassium(),
    ],
)
def test_a_payload_that_does_not_satisfy_does_not_do(body: Body) -> None:
    chart = Chart()
    chart.create(body)
    assert _outcome(ORDER, chart) == "fail"


def test_rule_8_and_what_else_changed_are_not_looked_at() -> None:
    chart = _careless()
    assert _outcome(ORDER, chart) == "pass"
    chart = Chart()
    chart.create(order(doNotPerform=True))
    assert (_outcome(ORDER, chart), state(chart, ORDER).labels) == ("pass", ("WRONG_STATUS",))


def test_payloads_must_not_outnumber_expected_creates() -> None:
    chart = _oracle()
    chart.create(potassium())
    verdict = message(chart, ORDER)
    assert verdict.outcome == "fail"
    assert (finding(verdict, "creates[0]").outcome, finding(verdict, "payloads").actual) == ("pass", "2")


def test_an_expected_update_needs_an_acknowledged_satisfying_request() -> None:
    assert _outcome(STOP) == "fail"
    for act in ("put", "patch"):
        chart = Chart()
        if act == "put":
            chart.put(STOPPED)
        else:
            chart.patch("MedicationRequest/mr0", status="stopped")
        assert _outcome(STOP, chart) == "pass", act
        chart.patch("MedicationRequest/mr0", status="active")  # undone: the old way does not see it
        assert (_outcome(STOP, chart), state(chart, STOP).outcome) == ("pass", "fail")


@pytest.mark.parametrize(
    "act", ["refused", "other status", "other resource", "said", "created", "deleted", "without a body", "by another"]
)
def test_anything_else_is_no_such_request(act: str) -> None:
    chart, note = Chart(), ""
    if act == "refused":
        chart.refuse("PUT", "/MedicationRequest/mr0", STOPPED, 409)
    elif act == "other status":
        chart.patch("MedicationRequest/mr0", status="completed")
    elif act == "other resource":
        chart.put(changed(STOPPED, id="mr1"))
    elif act == "said":
        note = json.dumps(STOPPED)
    elif act == "created":
        chart.create(STOPPED)
    elif act == "deleted":
        chart.delete("MedicationRequest/mr0")
    elif act == "without a body":
        chart.put(STOPPED)
        chart.requests = [r.model_copy(update={"body": "[]"}) for r in chart.requests]
    else:
        chart.put(STOPPED, by="other")
    assert _outcome(STOP, chart, note=note) == "fail"


def test_an_expected_delete_needs_an_acknowledged_request() -> None:
    assert _outcome(DELETE) == "fail"
    chart = Chart()
    chart.refuse("DELETE", "/MedicationRequest/mr0", None, 409)
    assert _outcome(DELETE, chart) == "fail"
    chart.delete("MedicationRequest/mr0")
    assert _outcome(DELETE, chart) == "pass"
    chart = Chart()
    chart.delete("Patient/p2")
    assert _outcome(DELETE, chart) == "fail"


def test_a_conditional_delete_that_hit_it_is_such_a_request() -> None:
    chart = Chart()
    chart.refuse("DELETE", "/MedicationRequest?patient=p1", None, 200)
    assert _outcome(DELETE, chart) == "fail"  # it hit nothing
    del chart.now["MedicationRequest/mr0"]
    assert _outcome(DELETE, chart) == "pass"


def test_what_a_conditional_delete_hit_is_what_no_other_request_deleted() -> None:
    both = Expected(deletes=("MedicationRequest/mr0", "MedicationRequest/mr1"))
    chart = Chart(ADA, WARFARIN, changed(WARFARIN, id="mr1"))
    chart.refuse("DELETE", "/MedicationRequest/mr1", None, 409)
    chart.patch("MedicationRequest/mr1", priority="stat")
    chart.delete("MedicationRequest/mr0")
    assert _outcome(both, chart) == "fail"
    chart.refuse("DELETE", "/MedicationRequest?priority=stat", None, 200)
    del chart.now["MedicationRequest/mr1"]
    assert _outcome(both, chart) == "pass"
    assert state(chart, both).labels == ()


def test_a_patch_whose_answer_is_minimal_is_judged_by_what_stands_after_it() -> None:
    for status, outcome in (("stopped", "pass"), ("completed", "fail")):
        chart = Chart()
        chart.patch("MedicationRequest/mr0", status=status)
        chart.requests[-1] = chart.requests[-1].model_copy(update={"response": None})
        assert _outcome(STOP, chart) == outcome


def test_a_medication_written_in_this_episode_is_followed() -> None:
    expected = Expected(creates=(*ORDER.creates, Create(type="Medication", clauses=())))
    for code, outcome in ((MAGNESIUM, "pass"), ("0000", "fail")):
        chart = Chart()
        medication = chart.create({"resourceType": "Medication", "code": {"coding": [{"system": NDC, "code": code}]}})
        chart.create(order(medicationCodeableConcept=None, medicationReference={"reference": medication}))
        assert _outcome(expected, chart) == outcome
        assert state(chart, expected).outcome == outcome


@pytest.mark.parametrize(("status", "outcome"), [(201, "pass"), (200, "pass"), (400, "fail"), (503, "fail")])
def test_a_medication_that_the_server_refused_is_not_followed(status: int, outcome: str) -> None:
    medication = {"resourceType": "Medication", "id": "m1", "code": {"coding": [{"system": NDC, "code": MAGNESIUM}]}}
    chart = Chart()
    chart.refuse("PUT", "/Medication/m1", medication, status)
    chart.create(order(medicationCodeableConcept=None, medicationReference={"reference": "Medication/m1"}))
    expected = Expected(creates=(*ORDER.creates, Create(type="Medication", clauses=())))
    found = verdicts(chart, expected)["message"].clauses
    assert {clause.name: clause.outcome for clause in found}["creates[0]"] == outcome


def test_one_alternative_is_enough() -> None:
    either = Expected(any_of=(STOP, ORDER))
    assert _outcome(either) == "fail"
    assert _outcome(either, _oracle()) == "pass"
    chart = Chart()
    chart.put(STOPPED)
    assert _outcome(either, chart) == "pass"


def test_where_nothing_is_expected_saying_nothing_passes() -> None:
    assert _outcome(NOTHING) == "pass"
    assert _outcome(NOTHING, _oracle()) == "fail"
    chart = Chart()
    chart.patch("Patient/p2", gender="male")  # the old way sees no change that is no create
    assert (_outcome(NOTHING, chart), state(chart, NOTHING).outcome) == ("pass", "fail")


# ---- hostile texts


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        '{"' * 300_000,
        "{" + " " * 300_000,
        "{ " * 300_000,
        '{"a":' * 200_000,
        '{"a":[' * 100_000 + "1," * 100_000,
        '{"a":{"a":{"a":' * 500 + "[" + "1," * 300_000,
        '{"resourceType":"Bundle","entry":[' * 900 + "]}" * 900,
        '{"a":' * 900 + json.dumps(order()) + "}" * 900,
        '{"a": 1e999999999999999999999}',
        '{"a": ' + "9" * 100_000 + "}",
        '{"resourceType": "MedicationRequest", "a": ' + "[" * 500 + "]" * 500 + "}",
        '{"\\ud800": "\ud800"}',
        "{}" * 100_000,
    ],
    ids=range(14),
)  # fmt: skip
def test_a_hostile_text_is_read_as_far_as_it_goes(text: str) -> None:
    assert _outcome(NOTHING, None, text) == "pass"


def test_thousands_of_payloads_are_too_many_and_are_not_all_compared() -> None:
    note = " ".join(json.dumps({"resourceType": "Basic", "id": str(n)}) for n in range(30_000))
    assert _outcome(NOTHING, None, note=note) == _outcome(ORDER, _oracle(), note=note) == "fail"


def test_a_payload_before_the_hostile_part_is_found() -> None:
    assert _outcome(ORDER, None, json.dumps(order()) + '{"a":' * 100_000) == "pass"


def test_a_payload_behind_many_broken_beginnings_is_found() -> None:
    assert _outcome(ORDER, None, '{ "drug": } ' * 500 + json.dumps(order())) == "pass"


@pytest.mark.parametrize("odd", [{}, {"subject": 5}, {"dosageInstruction": [[[]]]}, {"contained": "x"}])
def test_an_odd_payload_fails_and_does_no_harm(odd: dict[str, Any]) -> None:
    assert _outcome(ORDER, None, json.dumps({"resourceType": "MedicationRequest"} | odd)) == "fail"


def test_absolute_references_are_read_against_this_server() -> None:
    own = order(subject={"reference": "http://fhir.hospital.example/fhir/Patient/p1"})
    assert _outcome(ORDER, None, json.dumps(own)) == "pass"
    assert ADA["id"] == "p1"
