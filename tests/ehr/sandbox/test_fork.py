"""A fork is private: its own writes, ids and clock, and nothing of another's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ehr.sandbox.http import Request
from ehr.sandbox.record import Record
from tests.ehr.sandbox.talk import ADA, CLOCK, FHIR, POTASSIUM, WARD, Talk


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


def test_two_forks_never_see_each_other(record: Record) -> None:
    one, other = Talk(record.fork()), Talk(record.fork())
    one.patch("/Patient/ada", [{"op": "add", "path": "/active", "value": False}])
    one.delete("/Patient/ben")
    assert "active" not in other.get("/Patient/ada").body
    assert other.get("/Patient/ben").status == 200
    assert other.fork.changes() == []
    assert record.body("Observation", "k1") == POTASSIUM


def test_64_forks_side_by_side_have_each_exactly_their_own_writes(record: Record) -> None:
    def episode(number: int) -> list[tuple[str, str, bool]]:
        talk = Talk(record.fork())
        for step in range(number % 7 + 1):
            talk.post("/Observation", {"resourceType": "Observation", "status": "final", "code": {"text": f"{number}"}})
            assert (
                talk.get(f"/Observation?_count=0&subject=Patient/ada&x={step}".replace("&x", "&_x")).body["total"] == 1
            )
        talk.patch("/Patient/ben", [{"op": "add", "path": "/birthDate", "value": f"19{number + 10}"}])
        found = talk.get("/Observation?_count=100").body["entry"]
        assert len(found) == number % 7 + 2
        return [
            (c.verb, c.reference, c.after is not None and str(number) in c.after.decode()) for c in talk.fork.changes()
        ]

    with ThreadPoolExecutor(16) as pool:
        for number, changes in enumerate(pool.map(episode, range(64))):
            created = [("create", f"Observation/{1000 + i}", True) for i in range(number % 7 + 1)]
            assert changes[:-1] == created
            assert changes[-1][:2] == ("update", "Patient/ben")


def test_requests_from_several_threads_wait_for_each_other(record: Record) -> None:
    fork = record.fork()
    body = b'{"resourceType":"Patient","active":true}'
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fork.handle(Request("POST", "/Patient", FHIR, body)), range(40)))
    ids = sorted(int(json.loads(answer.body)["id"]) for answer in answers)
    assert ids == list(range(1000, 1040))
    assert len(fork.requests) == 40


def test_ids_are_one_sequence_over_all_types(record: Record) -> None:
    talk = Talk(record.fork())
    assert talk.post("/Patient", {"resourceType": "Patient"}).body["id"] == "1000"
    assert talk.post("/Organization", {"resourceType": "Organization", "name": "x"}).body["id"] == "1001"


def test_ids_begin_above_those_of_record_and_setup() -> None:
    with Record.build([ADA | {"id": "4711"}], clock=CLOCK, synthetic=True) as record:
        assert Talk(record.fork()).post("/Patient", {"resourceType": "Patient"}).body["id"] == "4712"
        setup = [{"resourceType": "Organization", "id": "9000"}]
        assert Talk(record.fork(setup)).post("/Patient", {"resourceType": "Patient"}).body["id"] == "9001"


def test_a_refused_write_takes_no_id_and_no_time(record: Record) -> None:
    talk = Talk(record.fork())
    assert talk.post("/Patient", {"resourceType": "Patient", "gender": "banana"}).status == 400
    bundle = {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [
            {"resource": {"resourceType": "Patient"}, "request": {"method": "POST", "url": "Patient"}},
            {
                "resource": {"resourceType": "Observation", "subject": {"reference": "Patient/none"}},
                "request": {"method": "POST", "url": "Observation"},
            },
        ],
    }
    assert talk.post("/", bundle).status == 400
    made = talk.post("/Patient", {"resourceType": "Patient"}).body
    assert (made["id"], made["meta"]["lastUpdated"]) == ("1000", "2026-01-15T10:15:00.001+00:00")


def test_time_is_the_clock_and_a_millisecond_for_each_write(record: Record) -> None:
    talk = Talk(record.fork(clock="2026-03-01T23:59:59.999-05:00"))
    made = [talk.post("/Patient", {"resourceType": "Patient"}).body["meta"]["lastUpdated"] for _ in range(2)]
    assert made == ["2026-03-02T00:00:00.000-05:00", "2026-03-02T00:00:00.001-05:00"]


def test_what_the_record_holds_is_version_1_of_its_clock(record: Record) -> None:
    said = Talk(record.fork()).get("/Observation/k1")
    assert said.body["meta"] == {"versionId": "1", "lastUpdated": "2026-01-15T10:15:00.000+00:00"}
    assert said.headers["ETag"] == 'W/"1"'
    assert b'"value": 4.10,' in said.raw


def test_version_and_time_that_a_record_states_are_kept() -> None:
    stated = ADA | {"meta": {"versionId": "7", "lastUpdated": "2020-02-02T02:02:02Z"}}
    with Record.build([stated], clock=CLOCK, synthetic=True) as record:
        talk = Talk(record.fork())
        assert talk.get("/Patient/ada").body["meta"] == stated["meta"]
        assert talk.put("/Patient/ada", ADA | {"active": True}, If_Match='W/"7"').headers["ETag"] == 'W/"8"'


def test_the_setup_lies_over_the_record(record: Record) -> None:
    setup = [ADA | {"birthDate": "1961-04-02"}, b'{"resourceType":"Patient","id":"new","birthDate":"1970-01-01"}']
    talk = Talk(record.fork(setup))
    assert talk.get("/Patient/ada").body["birthDate"] == "1961-04-02"
    assert talk.ids("/Patient?birthdate=1961-04-02") == ["ada"]
    assert sorted(talk.ids("/Patient")) == ["ada", "ben", "new"]
    assert talk.fork.changes() == []


def test_every_request_is_kept_as_it_was_sent(record: Record) -> None:
    fork = record.fork()
    request = Request(
        "POST", "/Patient?x=1", {"Content-Type": "application/json", "X-Mine": "y"}, b'{"resourceType":"Patient"}'
    )
    response = fork.handle(request, by="other")
    (kept,) = fork.requests
    assert kept.by == "other" and kept.request == request
    assert (kept.status, kept.response, kept.response_headers) == (201, response.body, response.headers)


def test_what_is_forgotten_of_the_log_gives_no_two_searches_one_id() -> None:
    rows = [{"resourceType": "Patient", "id": f"p{n}"} for n in range(30)]
    with Record.build(rows, clock=CLOCK, synthetic=True) as record:
        fork = record.fork()
        talk, ids = Talk(fork), []
        for number in range(30):
            ids.append(talk.get(f"/Patient?_count={number % 9 + 1}").body["id"])
            fork.forget_requests(4)
            assert len(fork.requests) <= 4
        assert len(set(ids)) == 30


def test_a_fork_wants_a_clock_with_a_zone_and_a_known_validation(record: Record) -> None:
    with pytest.raises(ValueError, match="no zone"):
        record.fork(clock="2026-01-15T10:15:00")
    with pytest.raises(ValueError, match="'strict' is not known"):
        record.fork(validation="strict")


def test_closing_a_fork_leaves_the_record_open(record: Record) -> None:
    with record.fork() as fork:
        Talk(fork).delete("/Patient/ben")
    assert Talk(record.fork()).get("/Patient/ben").status == 200
