"""Against a real HAPI FHIR (`make test-hapi`, which sets `READBACK_HAPI` to its address): skipped where there is none.

The recorded cases hold there, so where the sandbox differs from them it differs from this HAPI; every difference stands
in `tests.ehr.sandbox.differences` with its reason. And the suite's oracle succeeds on it, and leaves it as it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from ehr.client import FhirClient
from ehr.remote import Remote
from ehr.remote_record import put_on
from ehr.sandbox import Record
from ehr.tasks import synthetic
from ehr.tasks.suite import draw_suite
from ehr.tasks.validate import play
from tests.ehr.sandbox.differences import DIFFERENCES
from tests.ehr.sandbox.replay import Answer, Replay, cases
from tests.readback.command import readback

BASE = os.environ.get("READBACK_HAPI", "")
pytestmark = pytest.mark.skipif(not BASE, reason="no HAPI FHIR is running (make test-hapi starts one)")

NOT_AS_RECORDED: Mapping[str, str] = {
    "fp-replace-choice-wrong": "the message lists the types that may stand there, in an order that differs by start",
}
"""Cases in which this HAPI need not answer as the recorded one did, with the reason."""


class Raw(HTTPConnection):
    """Sends an address as it is, whatever stands in it."""

    def _validate_path(self, url: str) -> None: ...

    def _encode_request(self, request: str) -> bytes:
        return request.encode()


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    rows = synthetic.generate(patients=4, seed=3)
    with Record.build(rows, clock=synthetic.CLOCK, synthetic=True) as built:
        put_on(built, BASE)
        yield built


def snapshot(record: Record) -> dict[str, Any]:
    """How many there are of each type, and everything of one patient."""
    client = FhirClient(BASE)
    try:
        counts = {type: client.get(f"/{type}?_summary=count").body["total"] for type in record.counts}
        patient = client.read("Patient", record.ids("Patient")[0]).body
        return {"counts": counts, "patient": {key: value for key, value in patient.items() if key != "meta"}}
    finally:
        client.close()


def test_the_oracle_succeeds_on_the_live_server_and_leaves_it_as_it_was(record: Record) -> None:
    before = snapshot(record)
    suite = draw_suite(record, seed=1, limit=6)
    suite.backend = Remote(BASE)
    kinds = set()
    for task in suite.tasks:
        result = play(suite, task, "oracle")
        assert result.succeeds, (task.id, result.shown)
        kinds.add(task.kind)
    assert {"read", "write"} <= kinds
    assert snapshot(record) == before


def test_a_run_on_the_address_works_from_the_command_line(record: Record, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = readback("run", "ehr", "--record", BASE, "--agent", "oracle", "--limit", "3", "--out", run, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["rows"][0]["agent"] == "oracle"
    assert ended.document["rows"][0]["success"]["rate"] == 1.0
    assert "copying what" in ended.err


# Last, because some cases leave behind what a HAPI stores and then cannot read any more.


@pytest.fixture(scope="module")
def connection() -> Iterator[Raw]:
    address = urlsplit(BASE)
    connection = Raw(address.hostname or "", address.port, timeout=60)
    yield connection
    connection.close()


def test_every_recorded_case_holds_and_every_difference_of_the_sandbox_is_listed(
    connection: Raw, capsys: pytest.CaptureFixture[str]
) -> None:
    root = urlsplit(BASE).path

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        connection.request(method, root + path, body or None, dict(headers))
        response = connection.getresponse()
        headers_given: dict[str, str] = {}
        for name, value in response.getheaders():
            headers_given[name] = f"{headers_given[name]}, {value}" if name in headers_given else value
        return Answer(response.status, headers_given, response.read())

    unlike: dict[str, list[str]] = {}
    # Its $lastn reads what all patients have, so first: later cases leave behind what it cannot read any more.
    for case in sorted(cases(), key=lambda case: not case["id"].startswith("lastn")):
        replay = Replay(case, send, BASE)
        replay.saved["run"] = f"r{uuid4().hex[:10]}"  # all cases share the server
        found = replay.differences()
        if found and case["id"] not in NOT_AS_RECORDED:
            unlike[case["id"]] = found
    assert not unlike, unlike
    with capsys.disabled():
        sys.stdout.write("\nWhere the sandbox answers otherwise than this HAPI:\n")
        for id, difference in sorted(DIFFERENCES.items()):
            sys.stdout.write(f"{id:<24} {difference.kind:<12} {difference.reason}\n")
