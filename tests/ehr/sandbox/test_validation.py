"""The validation variant `full`: what R4 does not allow is refused, and nothing else."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox.body import parse, parse_object
from ehr.sandbox.intake.models import objections
from ehr.sandbox.intake.validation import problems
from ehr.sandbox.record import Record
from tests.ehr.sandbox.talk import CLOCK, WARD, Talk
from tests.support import shared

SOUND = [
    '{"resourceType":"Patient","active":true,"birthDate":"1980","name":[{"given":["a",null],"_given":[null,{"id":"x"}]}]}',
    '{"resourceType":"Patient","_birthDate":{"extension":[{"url":"http://x","valueCode":"y"}]}}',
    '{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00},"effectiveDateTime":"2020-01-01T10:00:00+00:00"}',
    '{"resourceType":"Patient","contained":[{"resourceType":"Organization","id":"o","name":"x"}],"managingOrganization":{"reference":"#o"}}',
    '{"resourceType":"Observation","_status":{"extension":[{"url":"http://x","valueCode":"y"}]},"code":{"text":"x"}}',
    '{"resourceType":"MedicinalProduct","name":[{"productName":"x"}]}',
]
WRONG = [
    ('{"resourceType":"Observation","valueString":"x"}', ["Observation.status", "Observation.code"]),
    ('{"resourceType":"Patient","foo":1}', ["Patient"]),
    ('{"resourceType":"Patient","name":{"family":"x"}}', ["Patient.name"]),
    ('{"resourceType":"Patient","birthDate":["1980"]}', ["Patient.birthDate"]),
    ('{"resourceType":"Patient","active":"true"}', ["Patient.active"]),
    (
        '{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":"12"}}',
        ["Observation.value.value"],
    ),
    ('{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueInteger":1.5}', ["Observation.value"]),
    (
        '{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueString":"a","valueInteger":1}',
        ["Observation.value"],
    ),
    ('{"resourceType":"Patient","birthDate":"1980-02-30"}', ["Patient.birthDate"]),
    (
        '{"resourceType":"Observation","status":"final","code":{"text":"x"},"effectiveDateTime":"2020-01-01T10:00:00"}',
        ["Observation.effective"],
    ),
    ('{"resourceType":"Patient","gender":"banana"}', ["Patient.gender"]),
    ('{"resourceType":"Patient","birthDate":null}', ["Patient.birthDate"]),
    ('{"resourceType":"Patient","name":[]}', ["Patient.name"]),
    ('{"resourceType":"Patient","name":[{}]}', ["Patient.name[0]"]),
    ('{"resourceType":"Patient","name":[{"family":""}]}', ["Patient.name[0].family"]),
    ('{"resourceType":"Patient","id":"a b"}', ["Patient.id"]),
    ('{"resourceType":"Patient","managingOrganization":{"reference":"nobody"}}', ["Patient.managingOrganization"]),
    ('{"resourceType":"Patient","managingOrganization":{"reference":"Foo/1"}}', ["Patient.managingOrganization"]),
    ('{"resourceType":"Patient","managingOrganization":{"reference":"#o"}}', ["Patient.managingOrganization"]),
    ('{"resourceType":"Foo"}', [""]),
]


@pytest.mark.parametrize("body", SOUND)
def test_what_r4_allows_has_no_problems(body: str) -> None:
    assert problems(parse_object(body)) == []
    assert objections(parse_object(body)) == []


@pytest.mark.parametrize(("body", "paths"), WRONG)
def test_what_r4_does_not_allow_is_found_where_it_is(body: str, paths: list[str]) -> None:
    assert [problem.path for problem in problems(parse_object(body))] == paths


def test_a_real_record_has_no_problems() -> None:
    bundle = parse(gzip.decompress(shared("data", "synthea", "bundle-001.json.gz").read_bytes()))
    for number, entry in enumerate(bundle["entry"]):
        assert problems(entry["resource"]) == []
        assert number % 20 or objections(entry["resource"]) == []


# ---- the variant


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork(validation="full"))


ORDER: dict[str, Any] = {
    "resourceType": "MedicationRequest",
    "status": "active",
    "intent": "order",
    "medicationCodeableConcept": {"text": "x"},
    "subject": {"reference": "Patient/ada"},
}


def test_a_sound_write_is_carried_out(talk: Talk) -> None:
    assert talk.post("/MedicationRequest", ORDER).status == 201
    assert (
        talk.patch("/MedicationRequest/1000", [{"op": "replace", "path": "/status", "value": "stopped"}]).status == 200
    )
    entry = {"resource": ORDER, "request": {"method": "POST", "url": "MedicationRequest"}}
    assert talk.post("/", {"resourceType": "Bundle", "type": "transaction", "entry": [entry]}).status == 200


def test_what_a_default_hapi_would_mend_is_refused_with_everything_that_is_wrong(talk: Talk) -> None:
    said = talk.post(
        "/MedicationRequest",
        {"resourceType": "MedicationRequest", "subject": {"reference": "Patient/ada"}, "dose": "2 g"},
    )
    assert said.status == 422
    assert [issue["expression"] for issue in said.body["issue"]] == [
        ["MedicationRequest"],
        ["MedicationRequest.status"],
        ["MedicationRequest.intent"],
        ["MedicationRequest.medication"],
    ]
    assert talk.fork.changes() == []


def test_what_the_parser_refuses_is_refused_as_by_a_default_hapi(talk: Talk) -> None:
    assert talk.post("/Patient", {"resourceType": "Patient", "gender": "banana"}).status == 400


def test_updates_patches_and_transactions_are_held_to_it_too(talk: Talk) -> None:
    talk.post("/MedicationRequest", ORDER)
    assert talk.put("/MedicationRequest/1000", {"resourceType": "MedicationRequest", "id": "1000"}).status == 422
    assert talk.patch("/MedicationRequest/1000", [{"op": "remove", "path": "/subject"}]).status == 422
    bad = {"resource": {"resourceType": "MedicationRequest"}, "request": {"method": "POST", "url": "MedicationRequest"}}
    assert talk.post("/", {"resourceType": "Bundle", "type": "transaction", "entry": [bad]}).status == 422


def test_every_reference_must_name_something_of_an_allowed_type(talk: Talk) -> None:
    contact: dict[str, Any] = {
        "resourceType": "Patient",
        "contact": [{"organization": {"reference": "Organization/none"}}],
    }
    assert (
        talk.post("/Patient", contact).diagnostics
        == "HAPI-1094: Resource Organization/none not found, specified in path: Patient.contact.organization"
    )
    contact["contact"][0]["organization"]["reference"] = "Patient/ada"
    assert talk.post("/Patient", contact).status == 422


def test_the_default_variant_stores_what_is_incomplete(record: Record) -> None:
    talk = Talk(record.fork())
    assert talk.post("/MedicationRequest", {"resourceType": "MedicationRequest"}).status == 201
