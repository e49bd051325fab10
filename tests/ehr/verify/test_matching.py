"""Rules 2 and 3: which change goes with which expectation; alternatives; the order of labels; what a verdict shows."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ehr.verify import NOTHING, Create, Expected, Update, clause, coded, quantity, refers_to
from ehr.verify.expected import ClauseSpec
from ehr.verify.labels import SEVERITY, by_severity
from harness.trace import Call
from tests.ehr.verify.build import (
    ADA,
    BEN,
    LOINC,
    ORDER,
    WARFARIN,
    Body,
    Chart,
    amount,
    changed,
    dose,
    finding,
    labels,
    order,
    potassium,
    state,
)

PATIENT = refers_to("patient", "subject", "Patient/p1")


def _test(code: str, *more: ClauseSpec) -> Create:
    return Create(type="ServiceRequest", clauses=(PATIENT, coded("test", "code", LOINC, code), *more))


def _request(code: str, patient: str = "p1", **elements: object) -> Body:
    body = {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "code": {"coding": [{"system": LOINC, "code": code}]},
        "subject": {"reference": f"Patient/{patient}"},
    }
    return changed(body, **elements)


STAT = clause("is urgent", "priority = 'stat'", label="WRONG_VALUE")

# ---- rule 2


def test_a_pair_needs_the_same_verb_and_type() -> None:
    chart = Chart()
    chart.put(changed(WARFARIN, id="own"))  # a PUT that creates is a create
    verdict = state(chart, ORDER)
    assert finding(verdict, "creates[0].patient").evidence is not None
    assert labels(ORDER, _request("1")) == ("COLLATERAL_CHANGE", "PHANTOM_SUCCESS")


def test_an_update_and_a_delete_need_the_same_id() -> None:
    other = changed(WARFARIN, id="mr1")
    for expected in (
        Expected(updates=(Update(reference="MedicationRequest/mr0", may_change=("status",)),)),
        Expected(deletes=("MedicationRequest/mr0",)),
    ):
        for reference in ("MedicationRequest/mr0", "MedicationRequest/mr1"):
            chart = Chart(ADA, WARFARIN, other)
            if expected.deletes:
                chart.delete(reference)
            else:
                chart.patch(reference, status="stopped")
            right = reference.endswith("mr0")
            assert state(chart, expected).labels == (() if right else ("COLLATERAL_CHANGE", "PHANTOM_SUCCESS"))


# ---- rule 3

PAIR = Expected(creates=(_test("A"), _test("B")))


def test_the_order_of_writing_does_not_matter() -> None:
    assert labels(PAIR, _request("A"), _request("B")) == ()
    assert labels(PAIR, _request("B"), _request("A")) == ()


def test_the_best_assignment_is_taken_and_not_the_first_that_fits() -> None:
    loose, strict = _test("A"), _test("A", STAT)
    for expected in (Expected(creates=(loose, strict)), Expected(creates=(strict, loose))):
        for acts in ((_request("A", priority="stat"), _request("A")), (_request("A"), _request("A", priority="stat"))):
            assert labels(expected, *acts) == ()


def test_patient_clauses_come_first() -> None:
    """A perfect one for another patient and a poor one for the right patient: the poor one is the pair."""
    expected = Expected(creates=(_test("A", STAT, clause("note", "note.exists()", label="WRONG_STATUS")),))
    perfect = _request("A", "p2", priority="stat", note=[{"text": "x"}])
    poor = _request("B")
    for acts in ((perfect, poor), (poor, perfect)):
        assert labels(expected, *acts) == ("WRONG_PATIENT", "WRONG_VALUE", "WRONG_CODE", "WRONG_STATUS")
    chart = Chart()
    chart.create(perfect)
    reference = chart.create(poor)
    evidence = finding(state(chart, expected), "creates[0].patient").evidence
    assert evidence is not None
    assert evidence.resource == reference


def test_among_equals_the_first_written_is_the_pair() -> None:
    expected = Expected(creates=(_test("A", STAT),))
    chart = Chart()
    first = chart.create(_request("A", note=[{"text": "1"}]))
    second = chart.create(_request("B", priority="stat"))
    verdict = state(chart, expected)
    assert verdict.labels == ("COLLATERAL_CHANGE", "WRONG_VALUE")
    evidence = finding(verdict, "creates[0].is urgent").evidence
    assert evidence is not None
    assert evidence.resource == first
    assert finding(verdict, f"creates {second}").label == "COLLATERAL_CHANGE"


def test_what_was_written_first_is_told_by_the_requests_and_not_by_the_change_log() -> None:
    expected = Expected(creates=(_test("A", STAT),))
    chart = Chart()
    chart.create(_request("A"))
    chart.create(_request("B", priority="stat"))
    chart.now = dict(reversed(chart.now.items()))
    assert state(chart, expected).labels == ("COLLATERAL_CHANGE", "WRONG_VALUE")


def test_no_expectation_stays_open_while_a_possible_change_is_free() -> None:
    """However badly it fits: a wrong order is a wrong order, and not a missing one beside an extra one."""
    assert labels(PAIR, _request("A"), _request("C")) == ("WRONG_CODE",)
    assert labels(PAIR, _request("C", "p2"), _request("D", "p2")) == ("WRONG_PATIENT", "WRONG_CODE")


def test_more_expectations_than_changes_leave_the_last_ones_open() -> None:
    three = Expected(creates=(_test("A"), _test("B"), _test("C")))
    chart = Chart()
    chart.create(_request("X"))
    verdict = state(chart, three)
    assert verdict.labels == ("WRONG_CODE", "PARTIAL")
    assert [c.name for c in verdict.clauses if c.label == "PARTIAL"] == ["creates[1]", "creates[2]"]
    chart.create(_request("C"))
    verdict = state(chart, three)
    assert [c.name for c in verdict.clauses if c.label == "PARTIAL"] == ["creates[1]"]


def test_types_are_matched_apart() -> None:
    expected = Expected(creates=(_test("A"), *ORDER.creates, _test("B")))
    assert labels(expected, _request("B"), order(), _request("A")) == ()
    assert labels(expected, _request("B"), _request("A")) == ("PARTIAL",)


def test_two_expectations_of_one_resource_share_its_change_by_the_best_fit() -> None:
    stop = Update(
        reference="MedicationRequest/mr0",
        may_change=("status",),
        clauses=(clause("stopped", "status = 'stopped'", label="WRONG_STATUS"),),
    )
    hold = stop.model_copy(update={"clauses": (clause("held", "status = 'on-hold'", label="WRONG_STATUS"),)})
    for updates in ((stop, hold), (hold, stop)):
        chart = Chart()
        chart.patch("MedicationRequest/mr0", status="on-hold")
        assert state(chart, Expected(updates=updates)).labels == ("PARTIAL",)


# ---- any_of

AMEND = Expected(
    updates=(
        Update(
            reference="Observation/o1",
            may_change=("value", "status"),
            clauses=(
                quantity("value", "value", "72.5", "kg"),
                clause("corrected", "status = 'corrected'", label="WRONG_STATUS"),
            ),
        ),
    )
)
REPLACE = Expected(
    creates=(Create(type="Observation", clauses=(PATIENT, quantity("value", "value", "72.5", "kg"))),),
    updates=(
        Update(
            reference="Observation/o1",
            may_change=("status",),
            clauses=(clause("in error", "status = 'entered-in-error'", label="WRONG_STATUS"),),
        ),
    ),
)
EITHER = Expected(any_of=(AMEND, REPLACE))
WRONG_WEIGHT = potassium(valueQuantity=amount(725, "kg"), id="o1")
RIGHT_WEIGHT = potassium(valueQuantity=amount(72.5, "kg"))


def _chart(*acts: str) -> Chart:
    chart = Chart(ADA, BEN, WARFARIN, WRONG_WEIGHT)
    for act in acts:
        if act == "amend":
            chart.patch("Observation/o1", valueQuantity=amount(72.5, "kg"), status="corrected")
        elif act == "retract":
            chart.patch("Observation/o1", status="entered-in-error")
        elif act == "stop":
            chart.patch("MedicationRequest/mr0", status="stopped")
        else:
            chart.create(RIGHT_WEIGHT)
    return chart


@pytest.mark.parametrize(("acts", "alternative"), [(("amend",), 1), (("retract", "new"), 2), (("new", "retract"), 2)])
def test_the_expectation_holds_when_one_alternative_holds(acts: tuple[str, ...], alternative: int) -> None:
    verdict = state(_chart(*acts), EITHER)
    assert (verdict.outcome, verdict.reason) == ("pass", f"judged as alternative {alternative} of 2")


def test_with_nothing_left_over_of_another() -> None:
    assert state(_chart("amend", "new"), EITHER).labels == ("COLLATERAL_CHANGE",)
    assert state(_chart("retract", "new", "stop"), EITHER).labels == ("COLLATERAL_CHANGE",)


@pytest.mark.parametrize(
    ("acts", "outcome", "alternative"),
    [
        ((), ("PHANTOM_SUCCESS",), 1),  # a tie in labels and clauses: the first
        (("new",), ("PARTIAL",), 2),  # one label; the first alternative would give two
        (("retract",), ("PARTIAL",), 2),  # the first alternative fails two clauses under two labels
        (("amend", "amend"), (), 1),
    ],
)
def test_the_alternative_with_the_fewest_labels_is_judged(
    acts: tuple[str, ...], outcome: tuple[str, ...], alternative: int
) -> None:
    verdict = state(_chart(*acts), EITHER)
    assert (verdict.labels, verdict.reason) == (outcome, f"judged as alternative {alternative} of 2")


def test_then_the_one_with_the_most_satisfied_clauses() -> None:
    few = Expected(creates=(_test("A"),))
    many = Expected(creates=(_test("A", clause("active", "status = 'active'", label="WRONG_STATUS")),))
    for one, two, chosen in ((few, many, 2), (many, few, 1)):
        chart = Chart()
        chart.create(_request("B"))
        verdict = state(chart, Expected(any_of=(one, two)))
        assert (verdict.labels, verdict.reason) == (("WRONG_CODE",), f"judged as alternative {chosen} of 2")


def test_the_outer_lists_hold_in_addition_to_each_alternative() -> None:
    expected = Expected(creates=(_test("A"),), deletes=("MedicationRequest/mr0",), any_of=(AMEND, REPLACE))
    chart = _chart("retract", "new")
    assert state(chart, expected).labels == ("PARTIAL",)
    chart.create(_request("A"))
    chart.delete("MedicationRequest/mr0")
    assert state(chart, expected).labels == ()
    assert expected.alternatives()[1].creates == (_test("A"), *REPLACE.creates)


def test_alternatives_nest() -> None:
    nested = Expected(
        any_of=(
            AMEND,
            Expected(creates=(_test("A"),), any_of=(Expected(creates=(_test("B"),)), Expected(creates=(_test("C"),)))),
        )
    )
    assert len(nested.alternatives()) == 3
    for acts, outcome in (
        (("A", "B"), ()),
        (("A", "C"), ()),
        (("A",), ("PARTIAL",)),
        (("A", "B", "C"), ("COLLATERAL_CHANGE",)),
    ):
        chart = _chart()
        for code in acts:
            chart.create(_request(code))
        assert state(chart, nested).labels == outcome
    assert state(_chart("amend"), nested).labels == ()


def test_an_empty_alternative_allows_to_do_nothing() -> None:
    optional = Expected(any_of=(Expected(), Expected(creates=(_test("A"),))))
    assert state(Chart(), optional).labels == ()
    assert labels(optional, _request("A")) == ()
    assert labels(optional, potassium()) == ("UNNEEDED_WRITE",)
    assert labels(optional, _request("A"), _request("A")) == ("DUPLICATE",)  # one label each: then the most clauses
    assert not optional.is_nothing
    assert NOTHING.is_nothing


# ---- labels, clauses, evidence


def test_all_labels_that_apply_are_kept_the_most_serious_first() -> None:
    chart = Chart()
    chart.patch("Patient/p2", gender="male")
    chart.create(
        order(
            subject={"reference": "Patient/p2"}, medicationCodeableConcept={"text": "x"}, authoredOn="2026-01-14",
            status="draft", dosageInstruction=[dose(2, "mg")],
        )
    )  # fmt: skip
    chart.refuse("DELETE", "/MedicationRequest/mr0", None, 409)
    chart.create(potassium())
    verdict = state(chart, Expected(creates=ORDER.creates, deletes=("MedicationRequest/mr0",)))
    assert verdict.labels == (
        "WRONG_PATIENT", "COLLATERAL_CHANGE", "WRONG_UNIT", "WRONG_CODE", "WRONG_TIME", "WRONG_STATUS", "PARTIAL",
        "REJECTED_WRITE",
    )  # fmt: skip
    assert verdict.label == "WRONG_PATIENT"
    assert {c.label for c in verdict.clauses if c.outcome == "fail"} == set(verdict.labels)


def test_severity_is_the_order_of_the_specification() -> None:
    assert SEVERITY == (
        "WRONG_PATIENT", "COLLATERAL_CHANGE", "UNNEEDED_WRITE", "DUPLICATE", "PHANTOM_SUCCESS", "WRONG_VALUE",
        "WRONG_UNIT", "WRONG_CODE", "WRONG_TIME", "WRONG_STATUS", "LOST_UPDATE", "PARTIAL", "MISSING_WRITE",
        "REJECTED_WRITE",
    )  # fmt: skip
    assert by_severity(reversed(SEVERITY)) == SEVERITY
    assert by_severity(["MY_B", "PARTIAL", "MY_A", "PARTIAL"]) == ("PARTIAL", "MY_A", "MY_B")


def test_a_task_may_have_labels_of_its_own() -> None:
    expected = Expected(creates=(_test("A", clause("noted", "note.exists()", label="NO_REASON")),))
    assert labels(expected, _request("B")) == ("WRONG_CODE", "NO_REASON")


def test_an_expectation_without_clauses_is_met_by_the_change_itself() -> None:
    expected = Expected(
        creates=(Create(type="ServiceRequest", clauses=()),),
        updates=(Update(reference="MedicationRequest/mr0", may_change=("status",)),),
        deletes=("Patient/p2",),
    )
    chart = Chart()
    chart.create(_request("A"))
    chart.patch("MedicationRequest/mr0", status="stopped")
    chart.delete("Patient/p2")
    verdict = state(chart, expected)
    assert [(c.name, c.outcome, c.actual) for c in verdict.clauses] == [
        ("creates[0]", "pass", "ServiceRequest/1000 created"),
        ("updates[0]", "pass", "MedicationRequest/mr0 updated"),
        ("updates[0].may_change", "pass", "kept"),
        ("deletes[0]", "pass", "deleted"),
        ("nothing else changed", "pass", None),
    ]


def _call(position: int, status: int | None) -> Call:
    http = None if status is None else {"status": status}
    return Call(position=position, step=1, name="fhir_create", arguments={}, status="ok", http=http)


def test_a_finding_names_the_call_that_wrote_the_resource_last() -> None:
    chart = Chart()
    chart.get("/Patient/p1")
    reference = chart.create(order())
    chart.put(order(id=reference.split("/")[1], dosageInstruction=[dose(4, "g")]))
    calls = (_call(1, 200), _call(2, None), _call(3, 201), _call(4, 200))
    evidence = finding(state(chart, ORDER, calls=calls), "creates[0].dose").evidence
    assert evidence is not None
    assert (evidence.call, evidence.resource) == (4, reference)
    without = finding(state(chart, ORDER, calls=calls[:3]), "creates[0].dose").evidence  # cannot be told apart
    assert without is not None
    assert without.call is None


def test_a_refused_write_and_another_writers_are_not_the_call_that_wrote_it() -> None:
    chart = Chart()
    reference = chart.create(order(authoredOn=None))
    chart.refuse("PUT", f"/{reference}", order(id="x"))
    chart.patch(reference, priority="stat", by="other")
    evidence = finding(state(chart, ORDER, calls=(_call(1, 201), _call(2, 400))), "creates[0].when").evidence
    assert evidence is not None
    assert evidence.call == 1


# ---- an expectation is data


def test_an_expectation_is_written_and_read_back_to_the_same_thing() -> None:
    for expected in (ORDER, EITHER, PAIR, NOTHING):
        line = expected.model_dump_json(exclude_none=True)
        assert Expected.model_validate_json(line) == expected
        assert Expected.read(line.replace("{", '{"later": 1, ', 1)) == expected


def test_a_clause_has_exactly_one_check() -> None:
    with pytest.raises(ValidationError, match=r"clause 'x' needs exactly one of .*; has \[\]"):
        ClauseSpec(name="x", label="WRONG_VALUE")
    both = {"name": "x", "label": "y", "fhirpath": "true", "refers_to": {"path": "subject", "reference": "Patient/p1"}}
    with pytest.raises(ValidationError, match=r"has \['refers_to', 'fhirpath'\]"):
        ClauseSpec.model_validate(both)
    with pytest.raises(ValidationError):
        Expected.model_validate({"created": []})
