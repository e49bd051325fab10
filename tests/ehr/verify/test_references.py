from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import Create, Expected, refers_to
from ehr.verify.writes import normal_reference
from tests.ehr.verify.build import BASE, ORDER, Body, Chart, finding, labels, order, state


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "Patient/p1"},
        {"reference": f"{BASE}/Patient/p1"},
        {"reference": "Patient/p1/_history/3"},
        {"reference": f"{BASE}/Patient/p1/_history/3"},
        {"reference": "Patient/p1", "display": "Ben Okafor", "type": "Patient", "identifier": {"value": "S2"}},
    ],
)
def test_relative_absolute_and_versioned_references_name_the_resource(subject: Body) -> None:
    assert labels(ORDER, order(subject=subject)) == ()


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "Patient/p2"},
        {"reference": "Patient/p11"},
        {"reference": "Patient/P1"},
        {"reference": "Group/p1"},
        {"reference": "p1"},
        {"reference": "/Patient/p1"},
        {"reference": "http://elsewhere.example/fhir/Patient/p1"},  # of another server
        {"reference": f"{BASE}X/Patient/p1"},
        {"reference": "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"},
        {"reference": "Patient?identifier=S1"},
        {"reference": "#p1"},  # contained
        {"reference": 1},
        {"reference": None},
        {"identifier": {"system": "http://hospital.example/mrn", "value": "S1"}},  # refers to nobody
        {"display": "Ada Okafor"},
        "Patient/p1",
        None,
    ],
)
def test_anything_else_is_no_reference_to_the_patient(subject: Any) -> None:
    assert labels(ORDER, order(subject=subject)) == ("WRONG_PATIENT",)


def test_a_contained_copy_of_the_patient_is_nobody() -> None:
    copy = {"resourceType": "Patient", "id": "p1", "name": [{"family": "Okafor"}]}
    assert labels(ORDER, order(subject={"reference": "#p1"}, contained=[copy])) == ("WRONG_PATIENT",)


BOOKED = Expected(
    creates=(Create(type="Appointment", clauses=(refers_to("patient", "participant.actor", "Patient/p1"),)),)
)


def _appointment(*actors: Any) -> Body:
    return {
        "resourceType": "Appointment",
        "status": "booked",
        "participant": [{"actor": {"reference": actor} if isinstance(actor, str) else actor} for actor in actors],
    }


def test_among_several_references_one_must_name_the_patient() -> None:
    assert labels(BOOKED, _appointment("Practitioner/dr1", "Patient/p1", "Location/l1")) == ()
    assert labels(BOOKED, _appointment("Patient/p1", f"{BASE}/Patient/p1/_history/2")) == ()
    assert labels(BOOKED, _appointment("Practitioner/dr1", "Location/l1")) == ("WRONG_PATIENT",)
    assert labels(BOOKED, _appointment()) == ("WRONG_PATIENT",)


@pytest.mark.parametrize(
    "other", ["Patient/p2", "Patient/p2/_history/1", f"{BASE}/Patient/p2", "http://elsewhere.example/fhir/Patient/p9"]
)
def test_another_patient_among_them_is_the_wrong_patient(other: str) -> None:
    assert labels(BOOKED, _appointment("Patient/p1", other)) == ("WRONG_PATIENT",)
    assert labels(BOOKED, _appointment(other, "Patient/p1")) == ("WRONG_PATIENT",)


def test_what_names_nobody_is_no_other_patient() -> None:
    assert labels(BOOKED, _appointment("Patient/p1", {"display": "Ben"}, {"identifier": {"value": "S2"}}, "#x")) == ()


def test_a_reference_to_something_else_has_the_label_it_is_given() -> None:
    requester = refers_to("requester", "requester", "Practitioner/dr1", label="WRONG_VALUE")
    expected = Expected(creates=(Create(type="MedicationRequest", clauses=(*ORDER.creates[0].clauses, requester)),))
    assert labels(expected, order(requester={"reference": "Practitioner/dr1"})) == ()
    assert labels(expected, order(requester={"reference": "Practitioner/dr2"})) == ("WRONG_VALUE",)
    assert labels(expected, order()) == ("WRONG_VALUE",)


@pytest.mark.parametrize(
    ("reference", "base", "normal"),
    [
        ("Patient/p1", BASE, "Patient/p1"),
        (f"{BASE}/Patient/p1", BASE, "Patient/p1"),
        (f"{BASE}/Patient/p1", BASE + "/", "Patient/p1"),
        (f"{BASE}/Patient/p1/_history/1", BASE, "Patient/p1"),
        (f"{BASE}/Patient/p1", None, f"{BASE}/Patient/p1"),
        ("https://elsewhere.example/Patient/p1", BASE, "https://elsewhere.example/Patient/p1"),
        ("#p1", BASE, "#p1"),
        (None, BASE, None),
        ({"reference": "Patient/p1"}, BASE, None),
    ],
)
def test_a_reference_is_brought_to_one_form(reference: object, base: str | None, normal: str | None) -> None:
    assert normal_reference(reference, base) == normal


@pytest.mark.parametrize(
    ("subject", "actual"),
    [({"reference": "Patient/p2"}, "Patient/p2"), ({"display": "Ada"}, "no reference"), (None, "nothing")],
)
def test_the_finding_says_whom_it_names(subject: Any, actual: str) -> None:
    chart = Chart()
    chart.create(order(subject=subject))
    found = finding(state(chart, ORDER), "creates[0].patient")
    assert (found.label, found.expected, found.actual) == ("WRONG_PATIENT", "Patient/p1", actual)
