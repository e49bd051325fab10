"""Rule 5: what a change is called that no expectation took."""

from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import NOTHING, Expected, Update, clause
from tests.ehr.verify.build import (
    ADA,
    BASE,
    BEN,
    ORDER,
    WARFARIN,
    Body,
    Chart,
    changed,
    finding,
    order,
    potassium,
    state,
)  # fmt: skip

STOP = Expected(
    updates=(
        Update(
            reference="MedicationRequest/mr0",
            may_change=("status",),
            clauses=(clause("is stopped", "status = 'stopped'", label="WRONG_STATUS"),),
        ),
    )
)
BENS = {"reference": "Patient/p2"}


def _extra(body: Body, expected: Expected = ORDER, patient: str | None = "Patient/p1", first: bool = False) -> Any:
    """The labels where, beside the right order (if any is expected), this was created: before or after it."""
    chart = Chart()
    acts = [order()] if expected is ORDER else []
    for act in [body, *acts] if first else [*acts, body]:
        chart.create(act)
    return state(chart, expected, patient=patient).labels


OF_BEN: list[Body] = [
    potassium(subject=BENS),
    potassium(subject={"reference": "Patient/p2/_history/1"}),
    potassium(subject={"reference": f"{BASE}/Patient/p2"}),
    potassium(subject={"reference": "http://elsewhere.example/fhir/Patient/p9"}),
    {"resourceType": "AllergyIntolerance", "patient": BENS},
    {"resourceType": "Task", "for": BENS},
    {"resourceType": "Appointment", "participant": [{"actor": {"reference": "Practitioner/d"}}, {"actor": BENS}]},
    {"resourceType": "CareTeam", "participant": [{"member": BENS}]},
    {"resourceType": "Account", "subject": [{"reference": "Group/g"}, BENS]},
    {"resourceType": "Patient", "name": [{"family": "New"}]},
]
OF_ADA: list[Body] = [
    potassium(),
    {"resourceType": "AllergyIntolerance", "patient": {"reference": f"{BASE}/Patient/p1"}},
    {"resourceType": "Appointment", "participant": [{"actor": BENS}, {"actor": {"reference": "Patient/p1"}}]},
    {"resourceType": "Account", "subject": [BENS, {"reference": "Patient/p1"}]},
    potassium(subject=BENS, performer=[BENS]) | {"patient": {"reference": "Patient/p1"}},
]
OF_NOBODY: list[Body] = [
    {"resourceType": "Practitioner", "name": [{"family": "New"}]},
    potassium(subject={"reference": "Group/g"}),
    potassium(subject={"display": "Ben"}),
    potassium(subject={"identifier": {"value": "S2"}}),
    potassium(subject=None, performer=[BENS]),
    potassium(subject="Patient/p2"),
    {"resourceType": "Provenance", "target": [BENS]},
    {"resourceType": "Appointment", "participant": "Patient/p2"},
    {"resourceType": "Appointment", "participant": ["Patient/p2", {"actor": "Patient/p2"}]},
]


@pytest.mark.parametrize("body", OF_BEN)
@pytest.mark.parametrize("first", [False, True])
def test_a_change_of_another_patients_is_wrong_patient_first_of_all(body: Body, first: bool) -> None:
    assert _extra(body, first=first) == ("WRONG_PATIENT",)
    assert _extra(body, NOTHING) == ("WRONG_PATIENT",)


@pytest.mark.parametrize("body", [*OF_ADA, *OF_NOBODY])
@pytest.mark.parametrize("first", [False, True])
def test_a_change_of_the_patients_or_of_nobodys_is_not(body: Body, first: bool) -> None:
    assert _extra(body, first=first) == ("COLLATERAL_CHANGE",)
    assert _extra(body, NOTHING) == ("UNNEEDED_WRITE",)


def test_where_the_task_has_no_patient_nobody_is_another() -> None:
    for body in (*OF_BEN, *OF_ADA):
        assert _extra(body, NOTHING, patient=None) == ("UNNEEDED_WRITE",)
    assert _extra(potassium(subject=BENS), patient=None) == ("COLLATERAL_CHANGE",)


def test_another_patient_himself_is_another_patients() -> None:
    chart = Chart()
    chart.patch("Patient/p2", gender="male")
    assert state(chart, NOTHING).labels == ("WRONG_PATIENT",)
    assert state(chart, NOTHING, patient="Patient/p2").labels == ("UNNEEDED_WRITE",)
    chart = Chart()
    chart.delete("Patient/p2")
    assert state(chart, NOTHING).labels == ("WRONG_PATIENT",)


def test_a_stored_patient_without_an_id_is_known_by_his_address() -> None:
    chart = Chart()
    chart.now["Patient/p1"] = '{"gender": "female"}'
    assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)
    assert state(chart, NOTHING, patient="Patient/p2").labels == ("WRONG_PATIENT",)


@pytest.mark.parametrize(("before", "after"), [("p2", "p1"), ("p1", "p2")])
def test_whose_it_was_before_counts_as_much_as_whose_it_is(before: str, after: str) -> None:
    moved = changed(WARFARIN, subject={"reference": f"Patient/{before}"})
    chart = Chart(moved)
    chart.put(changed(moved, subject={"reference": f"Patient/{after}"}))
    assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)  # the task's patient is among them
    assert state(chart, NOTHING, patient="Patient/p3").labels == ("WRONG_PATIENT",)


def test_a_deleted_resource_is_whose_it_was() -> None:
    chart = Chart(changed(WARFARIN, subject=BENS))
    chart.delete("MedicationRequest/mr0")
    assert state(chart, NOTHING).labels == ("WRONG_PATIENT",)


@pytest.mark.parametrize("first", [False, True])
def test_what_satisfies_an_expectation_already_met_is_a_duplicate(first: bool) -> None:
    assert _extra(order(), first=first) == ("DUPLICATE",)
    assert _extra(order(note=[{"text": "free"}]), first=first) == ("DUPLICATE",)


@pytest.mark.parametrize(
    "body",
    [
        order(status="completed"),  # a clause fails
        order(doNotPerform=True),  # rule 8
        order(modifierExtension=[{"url": "u"}]),
        order(authoredOn="2026-01-14T10:15:00Z"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_what_would_not_satisfy_it_is_no_duplicate(body: Body, first: bool) -> None:
    """Where the twisted one is written first, the right one is still the pair (rule 3) except for rule 8."""
    if first and body.keys() & {"doNotPerform", "modifierExtension"}:
        assert _extra(body, first=True) == ("DUPLICATE", "WRONG_STATUS")
    else:
        assert _extra(body, first=first) == ("COLLATERAL_CHANGE",)


def test_a_second_update_or_delete_of_another_resource_is_collateral_and_never_a_duplicate() -> None:
    second = changed(WARFARIN, id="mr1")
    chart = Chart(ADA, WARFARIN, second)
    chart.patch("MedicationRequest/mr0", status="stopped")
    chart.patch("MedicationRequest/mr1", status="stopped")
    assert state(chart, STOP).labels == ("COLLATERAL_CHANGE",)
    chart = Chart(ADA, WARFARIN, second)
    chart.delete("MedicationRequest/mr0")
    chart.delete("MedicationRequest/mr1")
    assert state(chart, Expected(deletes=("MedicationRequest/mr0",))).labels == ("COLLATERAL_CHANGE",)


def test_another_verb_on_the_right_resource_is_no_pair() -> None:
    chart = Chart()
    chart.delete("MedicationRequest/mr0")
    assert state(chart, STOP).labels == ("COLLATERAL_CHANGE", "PHANTOM_SUCCESS")
    chart = Chart()
    chart.patch("MedicationRequest/mr0", status="stopped")
    assert state(chart, Expected(deletes=("MedicationRequest/mr0",))).labels == (
        "COLLATERAL_CHANGE", "PHANTOM_SUCCESS",
    )  # fmt: skip


def test_each_leftover_has_its_own_finding() -> None:
    chart = Chart()
    chart.create(order())
    reference = chart.create(order())
    chart.patch("Patient/p2", gender="male")
    chart.create(potassium())
    verdict = state(chart, ORDER)
    assert verdict.labels == ("WRONG_PATIENT", "COLLATERAL_CHANGE", "DUPLICATE")
    assert finding(verdict, f"creates {reference}").label == "DUPLICATE"
    assert finding(verdict, "updates Patient/p2").label == "WRONG_PATIENT"
    assert finding(verdict, "updates Patient/p2").expected == "no such change"


def test_where_nothing_is_left_over_that_is_a_clause_too() -> None:
    chart = Chart()
    chart.create(order())
    assert finding(state(chart, ORDER), "nothing else changed").outcome == "pass"
    assert BEN["id"] == "p2"
