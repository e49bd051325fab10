"""Every recorded case of a real HAPI 8.8 against this server: the same, or listed with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from ehr.sandbox.http import Request
from ehr.sandbox.record import Record
from tests.ehr.sandbox.differences import DIFFERENCES
from tests.ehr.sandbox.replay import Answer, Replay, cases

BASE = "http://fhir.hospital.example/fhir"
BACKGROUND = [{"resourceType": "Patient", "id": "86420", "name": [{"family": "Background"}]}]
"""Something that is there already; ids of the server begin above its own, so that they are no numbers of a message."""
CASES = {case["id"]: case for case in cases()}


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(BACKGROUND, clock="2026-11-29T10:15:00+00:00", synthetic=True) as record:
        yield record


def differences(record: Record, id: str) -> list[str]:
    fork = record.fork(base=BASE)

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        response = fork.handle(Request(method, path, headers, body))
        return Answer(response.status, response.headers, response.body)

    return Replay(CASES[id], send, BASE).differences()


@pytest.mark.parametrize("id", sorted(CASES.keys() - DIFFERENCES.keys()))
def test_the_answer_is_the_one_that_hapi_gave(record: Record, id: str) -> None:
    assert differences(record, id) == []


@pytest.mark.parametrize("id", sorted(DIFFERENCES))
def test_a_listed_difference_is_one(record: Record, id: str) -> None:
    assert id in CASES, f"{id} is no recorded case"
    assert differences(record, id), f"{id} is listed ({DIFFERENCES[id].reason}) and does not differ"


def test_all_cases_are_there() -> None:
    assert len(CASES) == 1063
