"""Python's FHIR clients against a served record, unchanged: their own calls."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox import Record
from ehr.serve import record_app
from tests.ehr.tasks.playing import CLOCK, PEOPLE, result
from tests.ehr.test_serve import served


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    rows = [result(f"o{number:03d}", f"2026-01-{1 + number % 14:02d}T08:00:00+00:00", 4.0) for number in range(45)]
    with (
        Record.build([*PEOPLE, *rows], clock=CLOCK, synthetic=True) as record,
        served(lambda address: record_app(record, address)) as address,
    ):
        yield f"{address}/fhir"


def observation(**more: Any) -> dict[str, Any]:
    made = result("x", "2026-01-15T08:00:00+00:00", 4.4, **more)
    del made["id"]
    return made


def test_fhirpy(base: str) -> None:
    from fhirpy import SyncFHIRClient
    from fhirpy.base.exceptions import ResourceNotFound

    client = SyncFHIRClient(base)
    observations = client.resources("Observation").search(patient="p1").sort("-date")
    assert len(observations.fetch()) == 20
    assert len(observations.fetch_all()) == 45
    assert observations.count() == 45
    patient = client.resources("Patient").search(**{"family:exact": "Okafor"}, birthdate="1961-04-02").get()
    assert patient.id == "p1"
    with pytest.raises(ResourceNotFound):
        client.reference("Patient", "nobody").to_resource()
    created = client.resource("Observation", **{k: v for k, v in observation().items() if k != "resourceType"})
    created.save()
    assert created.id and created["meta"]["versionId"] == "1"
    created["status"] = "amended"
    created.save()
    assert client.reference("Observation", created.id).to_resource()["status"] == "amended"
    created.delete()
    with pytest.raises(Exception, match="deleted"):
        client.reference("Observation", created.id).to_resource()


def test_fhirclient(base: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fhirclient.client import FHIRClient
        from fhirclient.models.observation import Observation
        from fhirclient.models.patient import Patient

        smart = FHIRClient(settings={"app_id": "test", "api_base": base})
        smart.prepare()
        assert smart.ready
        patient = Patient.read("p1", smart.server)
        assert (patient.name[0].family, patient.birthDate.isostring) == ("Okafor", "1961-04-02")
        found = Observation.where({"patient": "p1", "_sort": "date"}).perform_resources(smart.server)
        assert len(found) >= 20
        everything = list(Observation.where({"patient": "p1"}).perform_resources_iter(smart.server))
        assert len(everything) == 45
        made = Observation(observation())
        assert made.create(smart.server)["id"]
        patient.gender = "female"
        assert patient.update(smart.server)["meta"]["versionId"] == "2"
        assert Patient.read("p1", smart.server).gender == "female"


def test_fhir_pyrate(base: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fhir_pyrate import Pirate

        search = Pirate(auth=None, base_url=base, print_request_url=False, num_processes=1)
        rows = search.steal_bundles_to_dataframe(
            resource_type="Observation", request_params={"patient": "p1", "_count": "10", "_sort": "date"}
        )
        assert len(rows) >= 45
        assert set(rows["resourceType"]) == {"Observation"}
        patients = search.steal_bundles_to_dataframe("Patient", {"family": "Okafor"})
        assert set(patients["id"]) == {"p1", "p2", "p3"}
        search.close()


@pytest.mark.parametrize("slash", ["", "/"])
def test_curl_and_its_like_get_json_whatever_they_accept(base: str, slash: str) -> None:
    import requests

    for accept in ("*/*", "application/json", "text/html,application/xhtml+xml"):
        answer = requests.get(f"{base}/Patient/p1{slash}", headers={"Accept": accept}, timeout=10)
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("application/fhir+json")
