"""What was written, as the server's answers tell it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.verify.writes import segments_of, writes
from harness.trace import HttpRequest
from tests.ehr.verify.build import BASE, WARFARIN, Body, Chart, order, potassium


def _told(chart: Chart) -> list[tuple[Any, ...]]:
    return [(w.method, w.verbs, w.reference or w.type, w.status, w.accepted) for w in writes(chart.episode())]


def test_each_request_that_writes_is_one_write() -> None:
    chart = Chart()
    chart.create(order())
    chart.put(order(id="own"))
    chart.put(order(id="own", priority="stat"))
    chart.patch("MedicationRequest/mr0", status="stopped")
    chart.delete("MedicationRequest/mr0")
    assert _told(chart) == [
        ("POST", ("create",), "MedicationRequest/1000", 201, True),
        ("PUT", ("create",), "MedicationRequest/own", 201, True),
        ("PUT", ("update",), "MedicationRequest/own", 200, True),
        ("PATCH", ("update",), "MedicationRequest/mr0", 200, True),
        ("DELETE", ("delete",), "MedicationRequest/mr0", 200, True),
    ]


def test_what_writes_nothing_is_no_write() -> None:
    chart = Chart()
    chart.get("/Patient/p1")
    for address in (
        "HEAD /Patient/p1",
        "POST /Patient/_search",
        "POST /Patient/$validate",
        "POST /Patient/p1/$meta-add",
        "DELETE /Patient/p1/_history/1",
        "OPTIONS /Patient",
        "PUT /",
        "POST /_search",
    ):
        method, path = address.split(" ")
        chart.refuse(method, path, order(), 200)
    chart.refuse("POST", "/", order(), 400)  # no Bundle
    bundle = {"entry": [{"request": {"method": "POST", "url": "Patient"}, "resource": order()}]}
    chart.refuse("POST", "/", {"resourceType": "Parameters", **bundle}, 200)
    chart.refuse("PUT", "/", {"resourceType": "Bundle", **bundle}, 200)
    chart.refuse("POST", "/", "[]", 200)
    assert writes(chart.episode()) == []


def _bundle(*entries: Any, answers: Any = (), status: int = 200) -> list[tuple[Any, ...]]:
    chart = Chart()
    chart.requests.append(
        HttpRequest(
            method="POST", path="/", status=status, body=json.dumps({"resourceType": "Bundle", "entry": list(entries)}),
            response=json.dumps({"resourceType": "Bundle", "entry": list(answers)}),
        )
    )  # fmt: skip
    return _told(chart)


def test_a_bundle_is_a_write_for_each_entry_that_writes() -> None:
    def entry(method: str, url: str, resource: Body | None = None) -> Body:
        return {"request": {"method": method, "url": url}} | ({"resource": resource} if resource else {})

    told = _bundle(
        entry("GET", "Patient/p1"),
        entry("POST", "", order()),  # the url's type is not looked at
        entry("POST", "Patient", potassium()),
        entry("PUT", "MedicationRequest/mr0", WARFARIN),
        entry("PUT", f"{BASE}/MedicationRequest?identifier=x", order(id="x")),
        entry("PATCH", "MedicationRequest/mr0"),
        entry("DELETE", "MedicationRequest/mr0"),
        entry("DELETE", ""),
        {"resource": order()},  # no request
        {"request": 7},
        "nonsense",
        answers=[
            {"response": {"status": "200 OK"}, "resource": {"resourceType": "Patient", "id": "p1"}},
            {"response": {"status": "201 Created", "location": "MedicationRequest/1000/_history/1"}},
            {"response": {"status": "201 Created"}, "resource": potassium(id="1001")},
            {"response": {"status": "200 OK", "location": "MedicationRequest/mr0/_history/2"}},
            {"response": {"status": "201 Created", "location": f"{BASE}/MedicationRequest/1002/_history/1"}},
            {"response": {"status": "409 Conflict"}},
            {"response": {}},
        ],
    )
    assert told == [
        ("POST", ("create",), "MedicationRequest/1000", 201, True),
        ("POST", ("create",), "Observation/1001", 201, True),
        ("PUT", ("update",), "MedicationRequest/mr0", 200, True),
        ("PUT", ("create",), "MedicationRequest/1002", 201, True),
        ("PATCH", ("update",), "MedicationRequest/mr0", 409, False),
        ("DELETE", ("delete",), "MedicationRequest/mr0", 200, True),
    ]


def test_a_refused_bundle_refuses_every_entry_whatever_its_answer_says() -> None:
    entry = {"request": {"method": "POST", "url": "MedicationRequest"}, "resource": order()}
    answer = {"response": {"status": "201 Created", "location": "MedicationRequest/1000"}}
    assert _bundle(entry, answers=[answer], status=400) == [("POST", ("create",), "MedicationRequest", 400, False)]


@pytest.mark.parametrize(
    ("headers", "response", "reference"),
    [
        ({"Location": f"{BASE}/MedicationRequest/7/_history/1"}, None, "MedicationRequest/7"),
        ({"location": "MedicationRequest/7/_history/1"}, None, "MedicationRequest/7"),
        ({"Content-Location": f"{BASE}/MedicationRequest/7/_history/1"}, None, "MedicationRequest/7"),
        ({}, order(id="7"), "MedicationRequest/7"),
        ({}, potassium(id="7"), None),  # an answer of another type shows nothing of it
        ({}, {"resourceType": "OperationOutcome", "id": "7"}, None),
        ({"Location": ""}, None, None),
    ],
)
def test_the_id_is_the_one_that_the_server_gave(
    headers: dict[str, str], response: Body | None, reference: str | None
) -> None:
    chart = Chart()
    chart.requests.append(
        HttpRequest(
            method="POST", path="/MedicationRequest", status=201, body=json.dumps(order()),
            response=None if response is None else json.dumps(response), response_headers=headers,
        )
    )  # fmt: skip
    assert [w.reference for w in writes(chart.episode())] == [reference]


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("/Patient/p1", ["Patient", "p1"]),
        ("Patient?name=a/b", ["Patient"]),
        ("/Patient/p%31", ["Patient", "p1"]),
        ("//Patient//p1/", ["Patient", "p1"]),
        ("/Patient#x/y", ["Patient"]),
        ("?x", []),
        ("", []),
        ("//[", ["["]),
    ],
)
def test_an_address_is_split_without_its_query(address: str, parts: list[str]) -> None:
    assert segments_of(address) == parts
