"""Rule 8: what nobody asked for and what turns the meaning of a created resource round."""

from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import Create, Expected, Update, clause, coded, quantity, refers_to
from tests.ehr.verify.build import (
    LOINC,
    ORDER,
    POTASSIUM,
    PRESSURE,
    Body,
    Chart,
    amount,
    changed,
    finding,
    labels,
    order,
    potassium,
    pressure,
    state,
)

PATIENT = refers_to("patient", "subject", "Patient/p1")


def _silent(type_name: str = "MedicationRequest", path: str = "subject") -> Expected:
    """An expectation that speaks of the patient and of nothing else."""
    return Expected(creates=(Create(type=type_name, clauses=(refers_to("patient", path, "Patient/p1"),)),))


def _speaking(expression: str, type_name: str = "MedicationRequest") -> Expected:
    return Expected(
        creates=(Create(type=type_name, clauses=(PATIENT, clause("says", expression, label="WRONG_CODE"))),)
    )


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("doNotPerform", True),
        *(("status", s) for s in ("entered-in-error", "not-done", "cancelled", "revoked", "stopped", "draft")),
        ("intent", "proposal"),
        ("intent", "plan"),
        ("modifierExtension", [{"url": "http://e.example/not", "valueBoolean": True}]),
    ],
)
def test_unmentioned_it_is_wrong_status(element: str, value: Any) -> None:
    assert labels(_silent(), order(**{element: value})) == ("WRONG_STATUS",)


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("doNotPerform", False),
        ("doNotPerform", None),
        *(("status", s) for s in ("active", "completed", "on-hold", "unknown", None)),
        *(("intent", i) for i in ("order", "original-order", "reflex-order", "option", None)),
        ("modifierExtension", []),
        ("extension", [{"url": "http://e.example/plain", "valueBoolean": True}]),
        ("priority", "stat"),
        ("note", [{"text": "cancelled, entered-in-error, draft"}]),
        ("text", {"status": "generated", "div": "<div>Do not give</div>"}),
        ("statusReason", {"text": "stopped"}),
        ("reportedBoolean", True),
    ],
)
def test_all_else_is_free(element: str, value: Any) -> None:
    assert labels(_silent(), order(**{element: value})) == ()


@pytest.mark.parametrize(
    ("expression", "element", "value"),
    [
        ("doNotPerform = true", "doNotPerform", True),
        ("status = 'draft'", "status", "draft"),
        ("status.exists()", "status", "cancelled"),
        ("MedicationRequest.status = 'stopped'", "status", "stopped"),
        ("where(status = 'stopped').exists()", "status", "stopped"),
        ("$this.status = 'stopped'", "status", "stopped"),
        ("%resource.status = 'stopped'", "status", "stopped"),
        ("(status | intent).exists()", "status", "stopped"),
        ("iif(status = 'stopped', true, false)", "status", "stopped"),
        ("`status` = 'stopped'", "status", "stopped"),
        ("intent = 'plan'", "intent", "plan"),
        ("modifierExtension.exists()", "modifierExtension", [{"url": "http://e.example/not", "valueBoolean": True}]),
    ],
)
def test_what_a_clause_speaks_of_is_the_clauses_business(expression: str, element: str, value: Any) -> None:
    assert labels(_speaking(expression), order(**{element: value})) == ()


@pytest.mark.parametrize(
    "expression",
    [
        "text.status = 'generated'",  # the status of something else
        "contained.where(status = 'active').exists()",
        "'status' = 'status'",  # only a text
        "subject.exists() // status",  # only a remark
        "subject.exists() /* status */",
    ],
)
def test_the_same_word_elsewhere_is_not_speaking_of_it(expression: str) -> None:
    extra = {"text": {"status": "generated"}, "contained": [{"resourceType": "Medication", "status": "active"}]}
    assert labels(_speaking(expression), order(status="active", **extra)) == ()
    assert labels(_speaking(expression), order(status="cancelled", **extra)) == ("WRONG_STATUS",)


def test_a_participants_status_is_not_the_appointments() -> None:
    """An appointment is cancelled while the patient's own participation stays accepted."""
    accepted = "participant.where(status = 'accepted').actor"
    expected = Expected(creates=(Create(type="Appointment", clauses=(refers_to("patient", accepted, "Patient/p1"),)),))
    booked = {
        "resourceType": "Appointment",
        "status": "booked",
        "participant": [{"actor": {"reference": "Patient/p1"}, "status": "accepted"}],
    }
    assert labels(expected, booked) == ()
    assert labels(expected, changed(booked, status="cancelled")) == ("WRONG_STATUS",)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ({"coding": [{"code": "refuted"}]}, ("WRONG_STATUS",)),
        ({"coding": [{"code": "entered-in-error"}]}, ("WRONG_STATUS",)),
        ({"coding": [{"code": "confirmed"}, {"code": "refuted"}]}, ("WRONG_STATUS",)),
        ({"coding": [{"code": "confirmed"}]}, ()),
        ({"coding": [{"code": "unconfirmed"}]}, ()),
        ({"coding": [7, {}]}, ()),
        ({"text": "refuted"}, ()),
        (None, ()),
    ],
)
def test_an_allergy_refuted_or_in_error_is_wrong_status(status: Body | None, outcome: tuple[str, ...]) -> None:
    allergy = {"resourceType": "AllergyIntolerance", "patient": {"reference": "Patient/p1"}}
    body = allergy if status is None else {**allergy, "verificationStatus": status}
    assert labels(_silent("AllergyIntolerance", "patient"), body) == outcome
    mentioned = Expected(
        creates=(
            Create(
                type="AllergyIntolerance",
                clauses=(clause("refuted", "verificationStatus.coding.exists() or true", label="WRONG_STATUS"),),
            ),
        )
    )
    assert labels(mentioned, body) == ()


MODIFIER = [{"url": "http://e.example/not", "valueBoolean": True}]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (order(modifierExtension=MODIFIER), "modifierExtension"),
        (order(dosageInstruction=[{"modifierExtension": MODIFIER}]), "dosageInstruction[0].modifierExtension"),
        (
            order(contained=[{"resourceType": "Practitioner", "id": "d", "modifierExtension": MODIFIER}]),
            "contained[0].modifierExtension",
        ),
        (order(extension=[{"url": "u", "modifierExtension": MODIFIER}]), "extension[0].modifierExtension"),
        (order(_status={"modifierExtension": MODIFIER}), "_status.modifierExtension"),
    ],
)
def test_a_modifier_extension_counts_at_any_depth(body: Body, path: str) -> None:
    chart = Chart()
    chart.create(body)
    verdict = state(chart, _silent())
    assert verdict.labels == ("WRONG_STATUS",)
    assert finding(verdict, f"creates[0].{path}").actual == "a modifierExtension"


def test_several_modifiers_are_several_findings_under_one_label() -> None:
    chart = Chart()
    chart.create(order(status="draft", intent="plan", doNotPerform=True))
    verdict = state(chart, _silent())
    assert verdict.labels == ("WRONG_STATUS",)
    found = {c.name: c.actual for c in verdict.clauses if c.label == "WRONG_STATUS"}
    assert found == {
        "creates[0].status": "draft",
        "creates[0].intent": "plan",
        "creates[0].doNotPerform": "true",
    }


def test_a_modifier_stands_beside_the_clauses_findings() -> None:
    assert labels(ORDER, order(doNotPerform=True)) == ("WRONG_STATUS",)
    assert labels(ORDER, order(doNotPerform=True, authoredOn="2026-01-14")) == ("WRONG_TIME", "WRONG_STATUS")


def test_an_update_is_held_to_what_it_may_change_and_not_to_this_rule() -> None:
    stop = Expected(updates=(Update(reference="MedicationRequest/mr0", may_change=("status",)),))
    chart = Chart()
    chart.patch("MedicationRequest/mr0", status="stopped")
    assert state(chart, stop).labels == ()


# ---- a reason why there is no value, beside a value

ABSENT = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/data-absent-reason", "code": "error"}]}


def test_a_reason_for_no_value_beside_the_expected_value_is_wrong_value() -> None:
    assert labels(POTASSIUM, potassium()) == ()
    assert labels(POTASSIUM, potassium(dataAbsentReason=ABSENT)) == ("WRONG_VALUE",)
    assert labels(POTASSIUM, potassium(valueQuantity=None, dataAbsentReason=ABSENT)) == ("WRONG_VALUE",)


@pytest.mark.parametrize(
    "expression", ["value = 'high'", "value.exists()", "Observation.value = 'high'", "value.ofType(string) = 'high'"]
)
def test_a_value_may_be_expected_in_fhirpath(expression: str) -> None:
    expected = _speaking(expression, "Observation")
    body = potassium(valueQuantity=None, valueString="high")
    assert labels(expected, body) == ()
    assert labels(expected, changed(body, dataAbsentReason=ABSENT)) == ("WRONG_VALUE",)


def test_where_no_value_is_expected_its_absence_is_free() -> None:
    assert labels(_silent("Observation"), potassium(dataAbsentReason=ABSENT)) == ()


def test_where_its_absence_is_expected_it_is_the_clauses_business() -> None:
    absent = clause("not measured", "value.empty() and dataAbsentReason.exists()", label="WRONG_VALUE")
    expected = Expected(creates=(Create(type="Observation", clauses=(absent,)),))
    assert labels(expected, potassium(valueQuantity=None, dataAbsentReason=ABSENT)) == ()
    assert labels(expected, potassium()) == ("WRONG_VALUE",)


def _panel(**at: int) -> Body:
    """A panel in which the named component says why it has no value; `extra` is a third one."""
    body = pressure()
    third = {"code": {"coding": [{"system": LOINC, "code": "8478-0"}]}, "valueQuantity": amount(91, "mm[Hg]")}
    body["component"].append(third)
    for position in at.values():
        body["component"][position]["dataAbsentReason"] = ABSENT
    return body


def test_in_a_component_the_reason_counts_beside_the_value_that_was_asked_for() -> None:
    assert labels(PRESSURE, _panel()) == ()
    assert labels(PRESSURE, _panel(systolic=0)) == ("WRONG_VALUE",)
    assert labels(PRESSURE, _panel(diastolic=1)) == ("WRONG_VALUE",)


def test_beside_a_value_that_nobody_asked_for_it_is_free() -> None:
    assert labels(PRESSURE, _panel(mean=2)) == ()
    assert labels(PRESSURE, pressure(dataAbsentReason=ABSENT)) == ()  # the panel itself is asked for no value


def test_a_value_and_components_may_be_expected_at_once() -> None:
    both = Expected(
        creates=(
            Create(
                type="Observation",
                clauses=(
                    quantity("value", "value", 3, "1"),
                    coded("part", "component.where(value.exists()).code", LOINC, "8480-6"),
                    quantity("systolic", "component.value", 118, "mm[Hg]"),
                ),
            ),
        )
    )
    body = potassium(valueQuantity=amount(3, "1"), component=pressure()["component"][:1])
    assert labels(both, body) == ()
    assert labels(both, changed(body, dataAbsentReason=ABSENT)) == ("WRONG_VALUE",)
    body["component"][0]["dataAbsentReason"] = ABSENT
    assert labels(both, body) == ("WRONG_VALUE",)


def test_a_value_may_be_asked_for_inside_of_a_condition() -> None:
    """The component that meets it is the one that has the value; the others are free."""
    asked = f"component.where(code.coding.where(system = '{LOINC}' and code = '8480-6').exists() and value.value = 118)"
    for expression in (f"{asked}.exists()", asked.replace("where", "exists", 1)):
        clauses = (PATIENT, clause("systolic", expression, label="WRONG_VALUE"))
        expected = Expected(creates=(Create(type="Observation", clauses=clauses),))
        assert labels(expected, _panel()) == ()
        assert labels(expected, _panel(systolic=0)) == ("WRONG_VALUE",)
        assert labels(expected, _panel(diastolic=1)) == ()


def test_the_finding_names_the_component() -> None:
    chart = Chart()
    chart.create(_panel(diastolic=1))
    found = finding(state(chart, PRESSURE), "creates[0].component[1].dataAbsentReason")
    assert (found.outcome, found.label) == ("fail", "WRONG_VALUE")


def test_a_path_that_breaks_on_the_resource_is_only_the_clauses_failure() -> None:
    single = Expected(
        creates=(
            Create(
                type="Observation",
                clauses=(quantity("value", "component.single().value", 118, "mm[Hg]"),),
            ),
        )
    )
    assert labels(single, _panel(systolic=0)) == ("WRONG_VALUE",)
