"""Operations on a fork: $meta and its sisters, $diff, $expunge, $lastn, counts, $validate, the CapabilityStatement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.record import Record
from tests.ehr.sandbox.talk import ADA, BEN, CLOCK, JSON_PATCH, WARD, Talk

TAG, OTHER = {"system": "http://t", "code": "a"}, {"system": "http://t", "code": "b"}


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork())


def parameters_of(**meta: Any) -> Any:
    return {"resourceType": "Parameters", "parameter": [{"name": "meta", "valueMeta": meta}]}


# ---- labels


def test_labels_are_added_and_taken_away_without_a_new_version(talk: Talk) -> None:
    said = talk.post("/Patient/ada/$meta-add", parameters_of(tag=[TAG, OTHER], profile=["http://p"]))
    stamp = {"versionId": "1", "lastUpdated": "2026-01-15T10:15:00.000+00:00"}
    assert said.body["parameter"][0]["valueMeta"] == stamp | {"profile": ["http://p"], "tag": [TAG, OTHER]}
    assert talk.ids("/Patient?_tag=http://t|a") == ["ada"]
    talk.post("/Patient/ada/$meta-delete", parameters_of(tag=[TAG], profile=["http://p"]))
    assert talk.get("/Patient/ada").body["meta"] == stamp | {"tag": [OTHER]}
    assert len(talk.get("/Patient/ada/_history").body["entry"]) == 1
    assert [(c.verb, c.reference) for c in talk.fork.changes()] == [("update", "Patient/ada")]


def test_a_label_added_and_taken_away_again_is_no_change(talk: Talk) -> None:
    talk.post("/Patient/ada/$meta-add", parameters_of(tag=[TAG]))
    talk.post("/Patient/ada/$meta-delete", parameters_of(tag=[TAG]))
    assert talk.fork.changes() == []


def test_what_is_logged_of_labels_is_what_a_read_shows(talk: Talk) -> None:
    talk.post("/Patient/ada/$meta-add", parameters_of(tag=[TAG]))
    (change,) = talk.fork.changes()
    assert json.loads(change.after or b"") == talk.get("/Patient/ada").body


def test_labels_in_use_are_listed(talk: Talk) -> None:
    talk.post("/Patient/ada/$meta-add", parameters_of(tag=[TAG]))
    for level in ("/Patient/$meta", "/$meta"):
        assert talk.get(level).body["parameter"][0]["valueMeta"] == {"tag": [TAG]}
    assert talk.get("/Patient/ada/$meta").body["parameter"][0]["valueMeta"]["tag"] == [TAG]
    assert talk.get("/Patient/ben/_history/1/$meta").body["parameter"][0]["valueMeta"]["versionId"] == "1"


def test_label_operations_refuse_what_they_cannot_do(talk: Talk) -> None:
    assert talk.get("/Patient/ada/$meta-add").status == 405
    assert talk.post("/Patient/none/$meta-add", parameters_of(tag=[TAG])).status == 404
    assert (
        talk.post("/Patient/ada/$meta-add", {"resourceType": "Parameters"}).diagnostics
        == "HAPI-0554: Input contains no parameter with name 'meta'"
    )


# ---- $expunge


def expunge(talk: Talk, where: str, **asked: bool) -> int:
    parts = [{"name": name, "valueBoolean": value} for name, value in asked.items()]
    said = talk.post(f"{where}/$expunge", {"resourceType": "Parameters", "parameter": parts})
    return int(said.body["parameter"][0]["valueInteger"])


def test_past_versions_are_removed_and_what_stands_stays(talk: Talk) -> None:
    talk.put("/Patient/ben", BEN | {"gender": "male"})
    assert expunge(talk, "/Patient/ben", expungePreviousVersions=True) == 1
    assert [e["request"]["url"] for e in talk.get("/Patient/ben/_history").body["entry"]] == ["Patient/ben/_history/2"]
    assert talk.get("/Patient/ben/_history/1").status == 404
    assert [c.verb for c in talk.fork.changes()] == ["update"]


def test_where_nothing_was_written_there_is_no_past_version_to_remove(talk: Talk) -> None:
    assert expunge(talk, "/Patient/ben", expungePreviousVersions=True) == 0
    assert talk.get("/Patient/ben").status == 200
    assert (
        talk.send("PATCH", "/Patient?_id=ben", [{"op": "test", "path": "/active", "value": True}], JSON_PATCH).status
        == 200
    )


def test_a_deleted_resource_is_forgotten_and_still_a_change(talk: Talk) -> None:
    talk.delete("/Patient/ben")
    assert expunge(talk, "/Patient", expungeDeletedResources=True) == 2
    assert talk.get("/Patient/ben").status == 404
    assert [(c.verb, c.reference) for c in talk.fork.changes()] == [("delete", "Patient/ben")]
    assert talk.put("/Patient/ben", BEN).body["meta"]["versionId"] == "1"
    assert talk.fork.changes() == []


def test_nothing_is_expunged_unless_it_is_asked_for(talk: Talk) -> None:
    talk.delete("/Patient/ben")
    assert expunge(talk, "") == 0
    parts = [{"name": "expungeEverything", "valueBoolean": True}]
    assert talk.post("/$expunge", {"resourceType": "Parameters", "parameter": parts}).status == 405
    assert talk.get("/Patient/ben").status == 410


# ---- $diff, counts


def test_differences_are_told_as_a_patch_that_makes_them(talk: Talk) -> None:
    after = {
        "resourceType": "Patient",
        "id": "ada",
        "active": False,
        "name": [{"family": "Okafor", "given": ["Ada", "M"]}, {"family": "z"}],
        "gender": "female",
        "identifier": ADA["identifier"],
    }
    talk.put("/Patient/ada", after)
    patch = talk.get("/Patient/ada/$diff?fromVersion=1").body
    told = [
        tuple(next(iter({k: v for k, v in part.items() if k != "name"}.values())) for part in op["part"])
        for op in patch["parameter"]
    ]
    assert told == [
        ("insert", "Patient.active", 0, False),
        ("insert", "Patient.name[0].given", 1, "M"),
        ("insert", "Patient.name", 1, {"family": "z"}),
        ("delete", "Patient.telecom[0]"),
        ("insert", "Patient.gender", 0, "female"),
    ]
    talk.put("/Patient/ada", ADA)
    assert talk.send("PATCH", "/Patient/ada", patch).status == 200
    assert {k: v for k, v in talk.get("/Patient/ada").body.items() if k != "meta"} == after


def test_counts_follow_what_stands(talk: Talk) -> None:
    talk.post("/Patient", {"resourceType": "Patient"})
    talk.delete("/Observation/k1")
    told = {p["name"]: p["valueInteger"] for p in talk.get("/$get-resource-counts").body["parameter"]}
    assert told == {"Patient": 3}


# ---- $lastn


def test_lastn_gives_the_latest_of_each_code_of_one_patient(talk: Talk) -> None:
    for subject, code, day in [("ada", "a", 3), ("ada", "a", 5), ("ada", "b", 4), ("ben", "a", 9)]:
        body = {
            "resourceType": "Observation",
            "status": "final",
            "code": {"coding": [{"code": code}]},
            "subject": {"reference": f"Patient/{subject}"},
            "effectiveDateTime": f"2026-01-{day:02}",
        }
        talk.post("/Observation", body)
    assert talk.ids("/Observation/$lastn?patient=ada") == ["k1", "1001", "1002"]
    assert talk.ids("/Observation/$lastn?patient=ada&code=a&max=2") == ["1001", "1000"]
    assert talk.get("/Observation/$lastn").status == 400


# ---- $everything


def test_everything_of_a_patient_comes_in_pages(talk: Talk) -> None:
    for _ in range(3):
        talk.post("/Observation", {"resourceType": "Observation", "subject": {"reference": "Patient/ada"}})
    page = talk.get("/Patient/ada/$everything?_count=3").body
    seen = [e["resource"]["id"] for e in page["entry"]]
    page = talk.get(page["link"][1]["url"].removeprefix(talk.fork.base)).body
    seen += [e["resource"]["id"] for e in page["entry"]]
    assert sorted(seen) == ["1000", "1001", "1002", "ada", "k1"] and page["total"] == 5
    assert talk.get("/Patient/$everything?_id=ada,ben").body["total"] == 6
    assert talk.get("/Patient/$everything").status == 400
    assert talk.get("/Patient/ada/$everything?_type=Encounter").body["total"] == 1
    refused = talk.get("/Patient/ada/$everything?_type=Encounter,Nope")
    assert (refused.status, refused.diagnostics) == (404, "HAPI-2197: Unknown resource type 'Nope' in _type parameter.")
    assert (
        talk.get("/Patient/none/$everything").diagnostics
        == "HAPI-2841: Resource [[TokenParam[system=,value=none]]] is not known."
    )


# ---- $validate


def issues(said: Any) -> list[tuple[str, str]]:
    return [(issue["severity"], issue["diagnostics"]) for issue in said.body["issue"]]


def test_a_resource_is_validated_without_being_stored(talk: Talk) -> None:
    said = talk.post("/Patient/$validate", b'{"resourceType":"Patient",\n "link":[{"type":"refer"}],\n "foo":1}')
    first, second, third = said.body["issue"]
    assert (first["diagnostics"], first["location"]) == ("Unrecognized property 'foo'", ["Patient", "Line[3] Col[9]"])
    assert second["location"] == ["Patient.link[0]", "Line[2] Col[26]"]
    assert second["diagnostics"].startswith("Patient.link.other: minimum required = 1")
    assert third["severity"] == "warning"
    assert talk.fork.changes() == []


def test_a_sound_resource_has_no_issues(talk: Talk) -> None:
    text = {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">x</div>'}
    assert issues(talk.post("/Patient/$validate", BEN | {"text": text})) == [
        ("information", "No issues detected during validation")
    ]


def test_what_is_stored_can_be_validated_and_a_deletion_tried(talk: Talk) -> None:
    assert issues(talk.get("/Patient/ada/$validate"))[0][0] == "warning"
    assert talk.post("/Patient/ada/$validate?mode=delete", {"resourceType": "Patient"}).status == 409
    assert talk.post("/Patient/ben/$validate?mode=delete", {"resourceType": "Patient"}).status == 200
    assert talk.get("/Patient/none/$validate").status == 404
    assert talk.fork.changes() == []


# ---- CapabilityStatement


def test_every_type_and_parameter_is_told_with_its_documentation(talk: Talk) -> None:
    body = talk.get("/metadata").body
    assert (body["fhirVersion"], body["kind"], body["date"]) == ("4.0.1", "instance", "2026-01-15T10:15:00.000+00:00")
    assert body["implementation"]["url"] == "http://fhir.hospital.example/fhir"
    told = {resource["type"]: resource for resource in body["rest"][0]["resource"]}
    assert list(told) == list(resource_types())
    patient = {p["name"]: p for p in told["Patient"]["searchParam"]}
    assert patient["birthdate"] == {
        "name": "birthdate",
        "definition": "http://hl7.org/fhir/SearchParameter/individual-birthdate",
        "type": "date",
        "documentation": "The patient's date of birth",
    }
    assert parameters("Patient").keys() - patient.keys() <= {
        "_text",
        "_content",
        "_query",
        "_list",
        "_has",
        "_type",
        "_filter",
    }
    assert "Observation:encounter" in told["Observation"]["searchInclude"]
    assert "Observation:subject" in told["Patient"]["searchRevInclude"]
    assert talk.send("OPTIONS", "/").body["resourceType"] == "CapabilityStatement"


def test_a_standard_client_takes_the_capability_statement(talk: Talk) -> None:
    from fhir.resources.R4B.capabilitystatement import CapabilityStatement

    CapabilityStatement.model_validate_json(talk.get("/metadata").raw)
