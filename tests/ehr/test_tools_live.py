"""The tools on a real fork of the synthetic record, once without a socket and once over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ehr.client import FhirClient, ForkAdapter
from ehr.sandbox import Fork, Record
from ehr.tasks import synthetic
from ehr.tasks.synthetic import codes
from ehr.tools import RESULT_LIMIT, ChartTools
from harness.tool import ToolResult
from tests.ehr.loopback import loopback


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(synthetic.generate(patients=40), clock=synthetic.CLOCK, synthetic=True) as built:
        yield built


class Chart:
    """The tools by name, and the fork behind them."""

    def __init__(self, client: FhirClient, fork: Fork) -> None:
        self.fork = fork
        self._tools = {tool.name: tool for tool in ChartTools(client).tools()}

    def __call__(self, name: str, **arguments: Any) -> ToolResult:
        return self._tools[name].run(arguments)

    def search(self, type: str, **parameters: str | list[str]) -> dict[str, Any]:
        result = self("fhir_search", type=type, parameters=parameters)
        assert result.status == "ok", result.result
        body: dict[str, Any] = result.result["body"]
        return body


@pytest.fixture(params=["embedded", "http"])
def chart(request: pytest.FixtureRequest, record: Record) -> Iterator[Chart]:
    if request.param == "embedded":
        fork = record.fork()
        yield Chart(FhirClient(fork.base, adapter=ForkAdapter(fork)), fork)
        return
    with loopback() as server:
        fork = record.fork(base=server.base)
        server.handler = fork
        client = FhirClient(server.base)
        yield Chart(client, fork)
        client.close()


def rows(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["resource"] for entry in bundle.get("entry", [])]


def link(bundle: dict[str, Any], relation: str) -> str | None:
    return next((link["url"] for link in bundle["link"] if link["relation"] == relation), None)


def busiest(chart: Chart) -> str:
    ids = chart.fork.record.ids("Patient")
    return max(ids, key=lambda id: len(chart.fork.record.of_patient(id, "Observation")))


def test_a_patient_is_found_by_record_number_and_by_name_with_birth_date(chart: Chart) -> None:
    (patient,) = rows(chart.search("Patient", family="García", given="Maria", birthdate="1975-03-14"))
    number = next(i["value"] for i in patient["identifier"] if i["system"] == codes.MRN)
    (again,) = rows(chart.search("Patient", identifier=number))
    assert again["id"] == patient["id"] != number
    assert len(rows(chart.search("Patient", family="garcia", given="maria"))) == 3


def test_paging_on_brings_every_match_once(chart: Chart) -> None:
    patient = busiest(chart)
    bundle = chart.search("Observation", patient=patient, category="laboratory")
    seen, pages = [row["id"] for row in rows(bundle)], 1
    assert len(seen) == 20 and bundle["total"] > 60
    while url := link(bundle, "next"):
        assert url.startswith(chart.fork.base + "?")
        bundle = chart("fhir_next_page", url=url).result["body"]
        seen, pages = seen + [row["id"] for row in rows(bundle)], pages + 1
    assert len(seen) == len(set(seen)) == chart.search("Observation", patient=patient, category="laboratory")["total"]
    assert pages == -(-len(seen) // 20)


def test_the_latest_comes_first_when_sorted_and_ties_or_not_by_time(chart: Chart) -> None:
    found = rows(chart.search("Observation", patient=busiest(chart), code="2823-3", _sort="-date", _count="5"))
    times = [row["effectiveDateTime"] for row in found]
    assert len(times) == 5 and times == sorted(times, reverse=True)


def test_digits_arrive_as_the_record_has_them(chart: Chart) -> None:
    found = rows(chart.search("Observation", code="2160-0", _count="50"))
    values = [row["valueQuantity"]["value"] for row in found if row["valueQuantity"]["code"] == "mg/dL"]
    assert any(value.digits.endswith("0") for value in values)
    assert all(len(value.digits.partition(".")[2]) == 2 for value in values)


def test_create_read_update_patch_delete(chart: Chart) -> None:
    patient = busiest(chart)
    resource = {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "subject": {"reference": f"Patient/{patient}"},
    }
    made = chart("fhir_create", type="ServiceRequest", resource=resource)
    assert (made.status, made.result["status"], made.result["headers"]["ETag"]) == ("ok", 201, 'W/"1"')
    id = made.result["body"]["id"]
    assert made.result["headers"]["Location"].endswith(f"/ServiceRequest/{id}/_history/1")
    read = chart("fhir_read", type="ServiceRequest", id=id).result["body"]
    assert read["status"] == "active" and read["meta"]["versionId"] == "1"

    updated = chart(
        "fhir_update", type="ServiceRequest", id=id, resource={**read, "priority": "urgent"}, if_match='W/"1"'
    )
    assert (updated.status, updated.result["headers"]["ETag"]) == ("ok", 'W/"2"')
    stale = chart("fhir_update", type="ServiceRequest", id=id, resource={**read, "priority": "stat"}, if_match='W/"1"')
    assert (stale.status, stale.result["status"]) == ("error", 409)
    assert stale.result["body"]["resourceType"] == "OperationOutcome"

    patched = chart(
        "fhir_patch", type="ServiceRequest", id=id, patch=[{"op": "replace", "path": "/status", "value": "revoked"}]
    )
    assert patched.status == "ok"
    after = chart("fhir_read", type="ServiceRequest", id=id).result["body"]
    assert (after["status"], after["priority"], after["meta"]["versionId"]) == ("revoked", "urgent", "3")

    assert chart("fhir_delete", type="ServiceRequest", id=id).status == "ok"
    gone = chart("fhir_read", type="ServiceRequest", id=id)
    assert (gone.status, gone.result["status"]) == ("error", 410)
    assert not chart.fork.changes()


def test_what_the_server_refuses_is_said_as_it_says_it(chart: Chart) -> None:
    def refused(name: str, **arguments: Any) -> tuple[int, str]:
        result = chart(name, **arguments)
        assert result.status == "error"
        return result.result["status"], result.result["body"]["issue"][0]["diagnostics"]

    patient = busiest(chart)
    assert refused("fhir_read", type="Patient", id="nobody") == (404, "HAPI-2001: Resource Patient/nobody is not known")
    assert refused("fhir_read", type="Patience", id="x")[0] == 404
    assert refused("fhir_search", type="Patient", parameters={"shoesize": "44"})[0] == 400
    assert refused("fhir_create", type="Observation", resource={"resourceType": "Patient"})[0] == 400
    assert refused("fhir_delete", type="Patient", id=patient)[0] == 409
    dangling = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": "Patient/nobody"},
    }
    status, said = refused("fhir_create", type="Observation", resource=dangling)
    assert status == 400 and "Patient/nobody" in said
    assert not chart.fork.changes()


def test_a_conditional_create_makes_no_second_one(chart: Chart) -> None:
    number = "http://hospital.example/orders|A-17"
    resource = {
        "resourceType": "ServiceRequest", "status": "active", "intent": "order",
        "identifier": [{"system": "http://hospital.example/orders", "value": "A-17"}],
        "subject": {"reference": f"Patient/{busiest(chart)}"},
    }  # fmt: skip
    statuses = [
        chart("fhir_create", type="ServiceRequest", resource=resource, if_none_exist=f"identifier={number}").result[
            "status"
        ]
        for _ in range(2)
    ]
    assert statuses == [201, 200] and len(chart.fork.changes()) == 1


def test_a_page_too_large_to_show_is_cut_between_entries(chart: Chart) -> None:
    result = chart("fhir_search", type="Observation", parameters={"_count": "500"})
    shown = rows(result.result["body"])
    assert result.cut_by == "tool" and 0 < len(shown) < 500
    assert f"the first {len(shown)} of the 500 entries" in result.result["cut"]
    whole = chart("fhir_search", type="Observation", parameters={"_count": "100"})
    assert whole.cut_by is None and len(rows(whole.result["body"])) == 100 and RESULT_LIMIT > 50_000


def test_each_request_reaches_the_server_as_it_was_made(chart: Chart) -> None:
    chart(
        "fhir_search",
        type="Observation",
        parameters={"date": ["ge2025-01-01T00:00:00+00:00", "lt2026-01-01"], "code": "a|b,c d"},
    )
    sent = chart.fork.requests[-1]
    assert (sent.by, sent.method, sent.body) == ("agent", "GET", b"")
    assert sent.path == "/Observation?date=ge2025-01-01T00%3A00%3A00%2B00%3A00&date=lt2026-01-01&code=a%7Cb%2Cc+d"
