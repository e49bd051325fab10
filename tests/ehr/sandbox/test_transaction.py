# ruff: noqa: E501 - one case a line
"""Transactions and batches on a fork."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox.record import Record
from ehr.sandbox.rest.transaction import MOST_READ
from tests.ehr.sandbox.talk import ADA, BEN, CLOCK, WARD, Said, Talk

URN = "urn:uuid:0dbd1b4f-9c0a-4b6f-8a3b-0d1b2c3d4e5f"


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork())


def entry(method: str, url: str, resource: Any = None, full_url: str | None = None, **more: str) -> dict[str, Any]:
    result: dict[str, Any] = {"request": {"method": method, "url": url} | more}
    if resource is not None:
        result["resource"] = resource
    if full_url is not None:
        result["fullUrl"] = full_url
    return result


def sent(talk: Talk, *entries: Any, type: str = "transaction", **headers: str) -> Said:
    return talk.post("/", {"resourceType": "Bundle", "type": type, "entry": list(entries)}, **headers)


def statuses(said: Said) -> list[str]:
    return [e["response"]["status"] for e in said.body["entry"]]


def observation(subject: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": subject},
    } | more


PATIENT = {"resourceType": "Patient", "active": True}


def test_placeholders_become_the_ids_that_were_given_wherever_they_stand(talk: Talk) -> None:
    extension = [{"url": "http://x", "valueReference": {"reference": URN}}, {"url": "http://y", "valueUri": URN}]
    said = sent(
        talk,
        entry("POST", "Observation", observation(URN, extension=extension)),
        entry("POST", "Patient", PATIENT, URN),
    )
    assert statuses(said) == ["201 Created", "201 Created"]
    made, patient = (e["response"]["location"].removesuffix("/_history/1") for e in said.body["entry"])
    body = talk.get(f"/{made}").body
    assert body["subject"] == {"reference": patient}
    assert body["extension"] == [
        {"url": "http://x", "valueReference": {"reference": patient}},
        {"url": "http://y", "valueUri": patient},
    ]


@pytest.mark.parametrize("full_url", ["http://other.example/fhir/Patient/abc", "Patient/abc", None])
def test_an_entry_is_known_by_the_id_it_came_with(talk: Talk, full_url: str | None) -> None:
    said = sent(
        talk,
        entry("POST", "Patient", PATIENT | {"id": "abc"}, full_url),
        entry("POST", "Observation", observation("Patient/abc")),
    )
    patient, made = (e["response"]["location"].removesuffix("/_history/1") for e in said.body["entry"])
    assert talk.get(f"/{made}").body["subject"] == {"reference": patient} != {"reference": "Patient/abc"}


def test_a_conditional_create_that_matches_stands_for_what_is_there(talk: Talk) -> None:
    condition = "identifier=http://hospital.example/mrn|S17"
    said = sent(
        talk,
        entry("POST", "Patient", {k: v for k, v in ADA.items() if k != "id"}, URN, ifNoneExist=condition),
        entry("POST", "Observation", observation(URN)),
    )
    assert statuses(said) == ["200 OK", "201 Created"]
    assert [c.reference for c in talk.fork.changes()] == ["Observation/1000"]
    assert talk.get("/Observation/1000").body["subject"] == {"reference": "Patient/ada"}


def test_entries_under_one_condition_are_one(talk: Talk) -> None:
    new = {"resourceType": "Patient", "identifier": [{"system": "urn:z", "value": "1"}]}
    other = URN.replace("0dbd", "1dbd")
    said = sent(
        talk,
        entry("POST", "Patient", new, URN, ifNoneExist="identifier=urn:z|1"),
        entry("POST", "Patient", new, other, ifNoneExist="identifier=urn:z|1"),
        entry("POST", "Observation", observation(other)),
    )
    assert statuses(said) == ["201 Created", "201 Created"]
    assert [c.reference for c in talk.fork.changes()] == ["Patient/1000", "Observation/1001"]
    assert talk.get("/Observation/1001").body["subject"] == {"reference": "Patient/1000"}
    assert sent(talk, *[entry("POST", "Patient", new, ifNoneExist="identifier=urn:z|2")] * 2).diagnostics.startswith(
        "HAPI-2008: "
    )


def test_deletes_come_first_then_creates_then_updates_then_reads(talk: Talk) -> None:
    said = sent(
        talk,
        entry("GET", "Patient?_sort=_id"),
        entry("PUT", "Patient/ben", BEN | {"gender": "male"}),
        entry("POST", "Patient", PATIENT),
        entry("DELETE", "Observation/k1"),
        entry("DELETE", "Patient/ada"),
    )
    assert statuses(said) == ["200 OK", "200 OK", "201 Created", "204 No Content", "204 No Content"]
    found = said.body["entry"][0]["resource"]
    assert [(e["resource"]["id"], e["resource"].get("gender")) for e in found["entry"]] == [
        ("1000", None),
        ("ben", "male"),
    ]


def test_what_is_deleted_and_put_in_one_transaction_stands(talk: Talk) -> None:
    said = sent(talk, entry("PUT", "Patient/ben", BEN | {"gender": "male"}), entry("DELETE", "Patient/ben"))
    assert statuses(said) == ["201 Created", "204 No Content"]
    assert talk.get("/Patient/ben").body["meta"]["versionId"] == "3"
    assert [(c.verb, c.reference) for c in talk.fork.changes()] == [("update", "Patient/ben")]


def test_a_put_and_a_patch_of_one_resource_are_one_version(talk: Talk) -> None:
    patch = base64.b64encode(json.dumps([{"op": "add", "path": "/gender", "value": "male"}]).encode()).decode()
    binary = {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": patch}
    said = sent(talk, entry("PATCH", "Patient/ben", binary), entry("PUT", "Patient/ben", BEN | {"birthDate": "1970"}))
    assert statuses(said) == ["200 OK", "200 OK"]
    body = talk.get("/Patient/ben").body
    assert (body["meta"]["versionId"], body["gender"], body["birthDate"]) == ("2", "male", "1970")


def test_all_writes_share_one_instant_and_the_next_write_has_another(talk: Talk) -> None:
    sent(talk, entry("POST", "Patient", PATIENT), entry("POST", "Patient", PATIENT))
    made = talk.post("/Patient", PATIENT).body["id"]
    times = [talk.get(f"/Patient/{id}").body["meta"]["lastUpdated"] for id in ("1000", "1001", made)]
    assert times[0] == times[1] < times[2]


REFUSED = [
    ([entry("POST", "Observation", observation("Patient/none"))], 400, "HAPI-1094: "),
    ([entry("POST", "Observation", observation(URN))], 400, "HAPI-0541: "),
    ([entry("POST", "Observation", observation("Patient?identifier=none"))], 404, "HAPI-1091: "),
    ([entry("POST", "Patient", PATIENT, URN), entry("POST", "Patient", PATIENT, URN)], 400, "HAPI-0534: "),
    ([entry("PUT", "Patient/x1", PATIENT | {"id": "x1"})] * 2, 400, "HAPI-0535: "),
    ([entry("PUT", "Patient/77777", PATIENT | {"id": "77777"})], 400, "HAPI-0960: "),
    ([entry("PUT", "Patient", PATIENT | {"id": "x1"})], 400, "HAPI-0518: "),
    ([entry("PUT", "http://fhir.hospital.example/fhir/Patient/ben", BEN)], 400, "HAPI-2006: "),
    ([entry("PUT", "Patient/ada", ADA, ifMatch='W/"9"')], 409, "HAPI-0550: HAPI-0989: "),
    ([entry("POST", "Patient")], 400, "HAPI-0543: "),
    ([{"resource": PATIENT}], 400, "HAPI-0529: "),
    ([entry("HEAD", "Patient/ada")], 400, "HAPI-0538: "),
    ([entry("DELETE", "Patient/ada")], 409, "Unable to delete Patient/ada because at least one resource has a reference"),
    ([entry("GET", "Foo/1")], 404, "HAPI-0302: "),
    ([entry("PATCH", "Patient/none", {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": "W10="})], 404, "HAPI-1997: "),
    ([entry("POST", "Patient", PATIENT | {"gender": "banana"})], 400, "HAPI-0450: "),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "status", "words"), REFUSED)
def test_one_refusal_is_the_refusal_of_all_and_leaves_no_trace(
    talk: Talk, entries: Any, status: int, words: str
) -> None:
    said = sent(talk, entry("POST", "Patient", PATIENT), *entries)
    assert said.status == status and said.diagnostics.startswith(words)
    assert talk.fork.changes() == [] and talk.fork.writes == []
    assert talk.get("/_history?_since=2026-01-15T10:15:00.001Z").body.get("entry") is None
    assert talk.ids("/Patient?active=true") == ["ben"]


def test_a_delete_may_go_with_what_refers_to_it(talk: Talk) -> None:
    assert (
        statuses(sent(talk, entry("DELETE", "Patient/ada"), entry("DELETE", "Observation/k1")))
        == ["204 No Content"] * 2
    )


def test_a_delete_may_go_where_the_reference_is_taken_away_beside_it(talk: Talk) -> None:
    moved = talk.get("/Observation/k1").body | {"subject": {"reference": "Patient/ben"}}
    assert statuses(sent(talk, entry("DELETE", "Patient/ada"), entry("PUT", "Observation/k1", moved))) == [
        "204 No Content",
        "200 OK",
    ]


def test_a_batch_answers_each_entry_for_itself(talk: Talk) -> None:
    said = sent(
        talk,
        entry("POST", "Patient", PATIENT),
        entry("PUT", "Patient/88888", PATIENT | {"id": "88888"}),
        entry("GET", "Patient/none"),
        entry("POST", "Observation", observation("Patient/none")),
        entry("GET", "Patient/ada"),
        type="batch",
    )
    assert said.body["type"] == "batch-response"
    assert statuses(said) == ["201 Created", "400 Bad Request", "404 Not Found", "400 Bad Request", "200 OK"]
    assert (
        said.body["entry"][2]["response"]["outcome"]["issue"][0]["diagnostics"]
        == "HAPI-2001: Resource Patient/none is not known"
    )
    assert [c.reference for c in talk.fork.changes()] == ["Patient/1000"]


@pytest.mark.parametrize("type", ["batch", "transaction"])
def test_what_the_reads_of_a_bundle_bring_is_bounded(talk: Talk, type: str) -> None:
    long = {"resourceType": "Basic", "code": {"text": "x" * (MOST_READ // 2)}}
    reference = f"Basic/{talk.post('/Basic', long).body['id']}"
    said = sent(
        talk, *[entry("GET", reference) for _ in range(4)], entry("PUT", "Basic/new", long | {"id": "new"}), type=type
    )
    statuses = [e["response"]["status"] for e in said.body["entry"]]
    assert statuses == [
        "200 OK",
        "200 OK",
        "413 Request Entity Too Large",
        "413 Request Entity Too Large",
        "201 Created",
    ]
    assert "ask for the rest in another" in said.body["entry"][2]["response"]["outcome"]["issue"][0]["diagnostics"]


def test_the_answer_holds_resources_only_where_they_are_asked_for(talk: Talk) -> None:
    assert "resource" not in sent(talk, entry("POST", "Patient", PATIENT)).body["entry"][0]
    said = sent(talk, entry("POST", "Patient", PATIENT), Prefer="return=representation")
    assert said.body["entry"][0]["resource"]["active"] is True


def test_an_empty_transaction_is_answered(talk: Talk) -> None:
    said = talk.post("/", {"resourceType": "Bundle", "type": "transaction"})
    assert said.status == 200 and "entry" not in said.body
