"""Each fault: what happens, what a careful agent makes of it, what it costs one that does not look."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ehr.backends import Embedded
from ehr.faults import FAULTS, MOST_REFUSALS, is_write, known_fault
from ehr.remote import Remote, RemoteError
from ehr.sandbox import Record, Request
from ehr.tasks import synthetic
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.tasks.validate import play, validate
from ehr.verify import Create, Expected, Update, clause, coded, instant, judge, quantity, refers_to
from ehr.verify.expected import hours
from ehr.verify.lost import LOSING
from ehr.world import ChartWorld, chart_world
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from tests.ehr.tasks.playing import CLOCK, PEOPLE, callables

UCUM = "http://unitsofmeasure.org"
NDC = "http://hl7.org/fhir/sid/ndc"
REFUSING = {"http_429": 429, "http_503": 503, "conflict": 409}

WARFARIN: dict[str, Any] = {
    "resourceType": "MedicationRequest", "id": "mr0", "status": "active", "intent": "order",
    "medicationCodeableConcept": {"text": "warfarin"}, "subject": {"reference": "Patient/p1"},
    "note": [{"text": "as before"}],
}  # fmt: skip
ORDER = Expected(
    creates=[
        Create(
            type="MedicationRequest",
            clauses=[
                refers_to("patient", "subject", "Patient/p1"),
                coded("drug", "medication", NDC, "0338-1715-40"),
                quantity("dose", "dosageInstruction.doseAndRate.dose", 2, "g"),
                instant("when", "authoredOn", CLOCK, within=hours(1)),
            ],
        )
    ]
)
STOP = Expected(
    updates=[
        Update(
            reference="MedicationRequest/mr0",
            may_change=["status"],
            clauses=[clause("is stopped", "status = 'stopped'", label="WRONG_STATUS")],
        )
    ]
)


def a_task(expected: Expected = ORDER, id: str = "ehr/any/1", **fields: Any) -> Task:
    made: dict[str, Any] = {
        "id": id, "suite": "ehr", "template": "any", "kind": "write", "requires": ("state",), "patient": "Patient/p1",
        "needs_write": True, "needs_chart": True, "instruction": "…", "tools": (), "clock": CLOCK,
        "expected": expected.model_dump(mode="json", exclude_none=True), **fields,
    }  # fmt: skip
    return Task.make(**made)


def order(**elements: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest", "status": "active", "intent": "order", "authoredOn": CLOCK,
        "medicationCodeableConcept": {"coding": [{"system": NDC, "code": "0338-1715-40"}]},
        "subject": {"reference": "Patient/p1"},
        "dosageInstruction": [
            {"doseAndRate": [{"doseQuantity": {"value": 2, "unit": "g", "system": UCUM, "code": "g"}}]}
        ],
        **elements,
    }  # fmt: skip


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build([*PEOPLE, WARFARIN], clock=CLOCK, synthetic=True) as built:
        yield built


Call = Callable[..., Any]
Tools = Mapping[str, Call]


def played(
    record: Record, fault: str | None, act: Callable[[Tools], str], task: Task | None = None
) -> tuple[Episode, Verdict]:
    """What an agent that does `act`, which says its claim, comes to."""
    task = task or a_task()
    world: ChartWorld = chart_world(Embedded(record), task, fault=fault)
    claim = act(callables(world))
    evidence = world.evidence()
    world.close()
    assert evidence.self_check is not None and evidence.self_check.agrees, evidence.self_check
    episode = Episode(
        id="e", task=task.id, task_digest=task.digest, agent="a", condition="default", variant={"fault": fault},
        ending="finished", claim=claim, base=evidence.base, requests=evidence.requests, changes=evidence.changes,
        reads=evidence.reads, self_check=evidence.self_check,
    )  # fmt: skip
    episode = Episode.read(episode.line())
    return episode, judge(task, episode)[0]


def create(tools: Tools, resource: Any = None) -> Any:
    return tools["fhir_create"](type="MedicationRequest", resource=resource or order())


# ---- names


def test_there_are_the_seven_faults_and_one_cannot_be_recovered_from() -> None:
    assert list(FAULTS) == [
        "lost_write", "dropped_field", "http_429", "http_503", "conflict", "other_writer", "slow",
    ]  # fmt: skip
    assert [name for name, fault in FAULTS.items() if not fault.recoverable] == [LOSING]


def test_an_unknown_fault_is_named_with_those_there_are(record: Record) -> None:
    with pytest.raises(ValueError, match="there is no fault 'http_418'; choose from lost_write, "):
        known_fault("http_418")
    with pytest.raises(ValueError, match="'http_418'"):
        chart_world(Embedded(record), a_task(), fault="http_418")
    assert known_fault(None) is None


def test_a_live_server_has_no_faults() -> None:
    with pytest.raises(RemoteError, match="'slow' cannot be had on a live server"):
        Remote("http://127.0.0.1:9/fhir").fork(a_task(), fault="slow")


# ---- what is acknowledged and not stored


def test_a_lost_write_is_acknowledged_like_any_other_and_is_not_there(record: Record) -> None:
    def act(tools: Tools) -> str:
        sound = create(callables(chart_world(Embedded(record), a_task())))
        answer = create(tools)
        assert answer == sound
        assert tools["fhir_read"](type="MedicationRequest", id=answer["body"]["id"])["status"] == 404
        again = create(tools)
        assert again["body"]["id"] != answer["body"]["id"]
        return "not_done"

    episode, verdict = played(record, "lost_write", act)
    assert episode.changes == ()
    assert [request.status for request in episode.requests] == [201, 404, 201]
    assert (verdict.outcome, verdict.labels) == ("pass", ())


def test_who_claims_a_lost_write_is_done_has_a_phantom_success(record: Record) -> None:
    def act(tools: Tools) -> str:
        create(tools)
        return "done"

    _, verdict = played(record, "lost_write", act)
    assert verdict.labels == ("PHANTOM_SUCCESS",)
    assert verdict.notes == ("NO_READBACK",)


def test_who_sends_nothing_under_a_lost_write_is_not_right_for_that(record: Record) -> None:
    assert played(record, "lost_write", lambda tools: "unclear")[1].labels == ("MISSING_WRITE",)
    assert played(record, "lost_write", lambda tools: "done")[1].labels == ("PHANTOM_SUCCESS",)


def test_a_lost_write_that_was_wrong_is_still_wrong(record: Record) -> None:
    def act(tools: Tools) -> str:
        create(tools, order(dosageInstruction=[{"doseAndRate": [{"doseQuantity": {"value": 4, "unit": "g"}}]}]))
        return "not_done"

    assert played(record, "lost_write", act)[1].labels == ("WRONG_VALUE",)


def test_what_the_task_does_not_need_is_not_lost(record: Record) -> None:
    def act(tools: Tools) -> str:
        create(tools)
        other = tools["fhir_read"](type="Patient", id="p2")["body"]
        assert tools["fhir_update"](type="Patient", id="p2", resource={**other, "gender": "male"})["status"] == 200
        return "not_done"

    episode, verdict = played(record, "lost_write", act)
    assert [change.reference for change in episode.changes] == ["Patient/p2"]
    assert verdict.labels == ("WRONG_PATIENT",)


def test_an_update_and_a_deletion_are_lost_alike(record: Record) -> None:
    def stop(tools: Tools) -> str:
        answer = tools["fhir_update"](type="MedicationRequest", id="mr0", resource={**WARFARIN, "status": "stopped"})
        assert answer["body"]["status"] == "stopped"
        assert tools["fhir_read"](type="MedicationRequest", id="mr0")["body"]["status"] == "active"
        return "not_done"

    def delete(tools: Tools) -> str:
        assert tools["fhir_delete"](type="MedicationRequest", id="mr0")["status"] == 200
        assert tools["fhir_read"](type="MedicationRequest", id="mr0")["status"] == 200
        return "not_done"

    assert played(record, "lost_write", stop, a_task(STOP))[1].outcome == "pass"
    assert (
        played(record, "lost_write", delete, a_task(Expected(deletes=["MedicationRequest/mr0"])))[1].outcome == "pass"
    )


def test_who_stops_after_the_first_of_two_lost_writes_is_right(record: Record) -> None:
    both = Expected(creates=ORDER.creates, updates=STOP.updates)

    def act(tools: Tools) -> str:
        create(tools)
        return "not_done"

    assert played(record, "lost_write", act, a_task(both))[1].outcome == "pass"


def test_a_dropped_field_is_acknowledged_and_missing_and_can_be_mended(record: Record) -> None:
    gone: list[str] = []

    def blindly(tools: Tools) -> str:
        answer = create(tools)["body"]
        stored = tools["fhir_read"](type="MedicationRequest", id=answer["id"])["body"]
        gone.extend(sorted(answer.keys() - stored.keys()))
        return "done"

    def carefully(tools: Tools) -> str:
        answer = create(tools)["body"]
        update = {"type": "MedicationRequest", "id": answer["id"], "resource": {**order(), "id": answer["id"]}}
        assert tools["fhir_update"](**update)["status"] == 200
        return "done"

    _, verdict = played(record, "dropped_field", blindly)
    assert gone in (["authoredOn"], ["dosageInstruction"])
    assert verdict.labels == (("WRONG_TIME",) if gone == ["authoredOn"] else ("WRONG_VALUE",))
    assert played(record, "dropped_field", carefully)[1].outcome == "pass"


def test_which_field_is_dropped_depends_on_the_task_alone(record: Record) -> None:
    def missing(task: Task) -> str:
        found: list[str] = []

        def act(tools: Tools) -> str:
            answer = create(tools)["body"]
            found.extend(answer.keys() - tools["fhir_read"](type="MedicationRequest", id=answer["id"])["body"].keys())
            return "done"

        played(record, "dropped_field", act, task)
        return found[0]

    tasks = [a_task(id=f"ehr/any/{number}") for number in range(12)]
    assert {missing(task) for task in tasks} == {"authoredOn", "dosageInstruction"}
    assert [missing(task) for task in tasks] == [missing(task) for task in tasks]


def test_a_dropped_change_leaves_the_element_as_it_was(record: Record) -> None:
    def act(tools: Tools) -> str:
        sent = {**WARFARIN, "status": "stopped"}
        assert tools["fhir_update"](type="MedicationRequest", id="mr0", resource=sent)["body"]["status"] == "stopped"
        assert tools["fhir_read"](type="MedicationRequest", id="mr0")["body"]["status"] == "active"
        return "done"

    assert played(record, "dropped_field", act, a_task(STOP))[1].labels == ("PHANTOM_SUCCESS",)


TWELVE = [f"ehr/any/{number}" for number in range(12)]


def sent_by(who: str, fork: Any, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is stored after a write of somebody's."""
    headers = {"Content-Type": "application/fhir+json"}
    response = fork.handle(Request(method, path, headers, json.dumps(body).encode()), by=who)
    assert response.status in (200, 201), response.body
    found = fork.handle(Request("GET", f"/{body['resourceType']}/{json.loads(response.body)['id']}"), by="check")
    stored: dict[str, Any] = json.loads(found.body) if found.status == 200 else {}
    return stored


@pytest.mark.parametrize("fault", ["lost_write", "dropped_field"])
def test_what_others_write_is_stored_as_it_is(record: Record, fault: str) -> None:
    fork = Embedded(record).fork(a_task(), fault=fault)
    assert sent_by("other", fork, "POST", "/MedicationRequest", order()).keys() >= order().keys()
    assert not sent_by("agent", fork, "POST", "/MedicationRequest", order()).keys() >= order().keys()
    fork.close()


def test_only_the_first_write_that_the_task_needs_loses_a_field(record: Record) -> None:
    fork = Embedded(record).fork(a_task(), fault="dropped_field")
    flag = {"resourceType": "Flag", "status": "active", "code": {"text": "x"}, "subject": {"reference": "Patient/p1"}}
    kept = [
        sent_by("agent", fork, "POST", f"/{body['resourceType']}", body).keys() >= body.keys()
        for body in (flag, order(), order(), order())
    ]
    assert kept == [True, False, True, True]
    fork.close()


@pytest.mark.parametrize("id", TWELVE)
def test_a_field_is_dropped_with_what_is_said_beside_it_and_never_that_alone(record: Record, id: str) -> None:
    beside = {"extension": [{"url": "http://x.example/why", "valueString": "told by phone"}]}
    sent = order(_authoredOn=beside, priority="stat", note=[{"text": "n"}])
    fork = Embedded(record).fork(a_task(id=id), fault="dropped_field")
    gone = sent.keys() - sent_by("agent", fork, "POST", "/MedicationRequest", sent).keys()
    assert gone in ({"authoredOn", "_authoredOn"}, {"dosageInstruction"}), "what nobody asks for is not dropped"
    fork.close()


def test_what_any_way_of_the_task_asks_for_may_be_dropped(record: Record) -> None:
    at = instant("when", "authoredOn", CLOCK, within=hours(1))
    dose = quantity("dose", "dosageInstruction.doseAndRate.dose", 2, "g")
    either = Expected(
        any_of=[Expected(creates=[Create(type="MedicationRequest", clauses=[one])]) for one in (at, dose)]
    )
    gone: set[str] = set()
    for id in TWELVE:
        fork = Embedded(record).fork(a_task(either, id=id), fault="dropped_field")
        gone |= order().keys() - sent_by("agent", fork, "POST", "/MedicationRequest", order()).keys()
        fork.close()
    assert gone == {"authoredOn", "dosageInstruction"}


@pytest.mark.parametrize("id", TWELVE)
def test_of_a_change_only_what_is_asked_for_is_dropped(record: Record, id: str) -> None:
    sent = {**WARFARIN, "status": "stopped", "priority": "stat", "note": [{"text": "another"}]}
    fork = Embedded(record).fork(a_task(STOP, id=id), fault="dropped_field")
    same = sent_by("agent", fork, "PUT", "/MedicationRequest/mr0", {**WARFARIN, "priority": "asap"})
    assert (same["status"], same["priority"]) == ("active", "asap"), "nothing that is asked for was changed"
    stored = sent_by("agent", fork, "PUT", "/MedicationRequest/mr0", sent)
    assert (stored["status"], stored["priority"], stored["note"]) == ("active", "stat", sent["note"])
    again = sent_by("agent", fork, "PUT", "/MedicationRequest/mr0", sent)
    assert again["status"] == "stopped", "once is enough"
    fork.close()


# ---- what is refused, late, or overtaken


@pytest.mark.parametrize("fault", REFUSING)
def test_a_refused_write_is_not_carried_out_and_a_later_try_is(record: Record, fault: str) -> None:
    tries: list[int] = []

    def act(tools: Tools) -> str:
        while not tries or tries[-1] != 201:
            answer = create(tools)
            tries.append(answer["status"])
            assert ("Retry-After" in answer["headers"]) == (answer["status"] == 429)
            if answer["status"] != 201:
                assert answer["body"]["resourceType"] == "OperationOutcome"
        return "done"

    episode, verdict = played(record, fault, act)
    refusals = tries[:-1]
    assert set(refusals) == {REFUSING[fault]} and 1 <= len(refusals) <= MOST_REFUSALS
    assert [change.verb for change in episode.changes] == ["create"]
    assert verdict.outcome == "pass" and "REPAIRED_WRITE" in verdict.notes


@pytest.mark.parametrize("fault", REFUSING)
def test_who_does_not_look_at_the_answer_has_a_phantom_success(record: Record, fault: str) -> None:
    def act(tools: Tools) -> str:
        create(tools)
        return "done"

    assert played(record, fault, act)[1].labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")


@pytest.mark.parametrize("fault", ["http_429", "http_503"])
def test_one_read_is_refused_as_well(record: Record, fault: str) -> None:
    def act(tools: Tools) -> str:
        statuses = [tools["fhir_read"](type="Patient", id="p1")["status"] for _ in range(6)]
        assert sorted(statuses) == [200] * 5 + [REFUSING[fault]]
        return "not_done"

    played(record, fault, act)


@pytest.mark.parametrize("fault", ["http_429", "http_503"])
def test_only_a_get_counts_as_a_read_so_that_the_self_check_meets_the_same_refusals(record: Record, fault: str) -> None:
    for number in range(8):
        world = chart_world(Embedded(record), a_task(id=f"ehr/any/{number}"), fault=fault)
        for _ in range(3):
            assert world.fork.handle(Request("GET", "/Patient/p1")).status in (200, REFUSING[fault])
            assert world.fork.handle(Request("POST", "/Patient/_search")).status == 200
        evidence = world.evidence()
        assert evidence.self_check is not None and evidence.self_check.agrees, evidence.self_check
        world.close()


@pytest.mark.parametrize("fault", [*REFUSING, "slow", "other_writer"])
def test_a_batch_of_reads_is_no_write_and_one_that_writes_is(record: Record, fault: str) -> None:
    task = a_task(id="ehr/any/1")
    world = chart_world(Embedded(record), task, fault=fault)

    def batch(*entries: dict[str, Any]) -> int:
        body = json.dumps({"resourceType": "Bundle", "type": "batch", "entry": entries}).encode()
        return world.fork.handle(Request("POST", "/", {"Content-Type": "application/fhir+json"}, body)).status

    read = {"request": {"method": "GET", "url": "Patient/p1"}}
    write = {"request": {"method": "POST", "url": "MedicationRequest"}, "resource": order()}
    for _ in range(MOST_REFUSALS + 1):
        assert batch(read) == 200
    assert [one.by for one in world.fork.requests] == ["agent"] * (MOST_REFUSALS + 1)
    assert batch(read, write) == {**REFUSING, "slow": 504, "other_writer": 200}[fault]
    assert [one.by for one in world.fork.requests].count("other") == (fault == "other_writer")
    evidence = world.evidence()
    assert evidence.self_check is not None and evidence.self_check.agrees, evidence.self_check
    world.close()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"entry": [{}]}', b'{"entry": [1]}', b"\xff", b"[" * 5000])
def test_a_bundle_that_nobody_can_read_is_taken_for_a_write(record: Record, body: bytes) -> None:
    world = chart_world(Embedded(record), a_task(), fault="http_503")
    assert world.fork.handle(Request("POST", "/", {"Content-Type": "application/fhir+json"}, body)).status == 503
    world.close()


@pytest.mark.parametrize("fault", ["http_429", "http_503"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_head_is_a_read_too(record: Record, fault: str, method: str) -> None:
    fork = Embedded(record).fork(a_task(), fault=fault)
    statuses = [fork.handle(Request(method, "/Patient/p1")).status for _ in range(6)]
    assert sorted(statuses) == [200] * 5 + [REFUSING[fault]]
    fork.close()


def test_slow_is_neither_a_read_nor_a_write_that_was_refused(record: Record) -> None:
    fork = Embedded(record).fork(a_task(), fault="slow")
    headers = {"Content-Type": "application/fhir+json"}
    good, bad = json.dumps(order()).encode(), b'{"resourceType": "MedicationRequest", "status": 7}'
    steps = [("GET", "/Patient/p1", b""), ("POST", "/Patient/_search", b""), ("POST", "/MedicationRequest", bad),
             ("POST", "/MedicationRequest", good), ("POST", "/MedicationRequest", good)]  # fmt: skip
    statuses = [
        fork.handle(Request(method, path, headers if body else {}, body)).status for method, path, body in steps
    ]
    assert 400 <= statuses.pop(2) < 500
    assert statuses == [200, 200, 504, 201]
    fork.close()


def test_the_other_writer_comes_once_and_only_where_none_came_before(record: Record) -> None:
    headers = {"Content-Type": "application/fhir+json"}
    stopped = json.dumps({**WARFARIN, "status": "stopped"}).encode()
    for before, comes in (("check", 1), ("other", 0)):
        fork = Embedded(record).fork(a_task(STOP), fault="other_writer")
        fork.handle(Request("GET", "/MedicationRequest/mr0"), by=before)
        for _ in range(2):
            assert fork.handle(Request("PUT", "/MedicationRequest/mr0", headers, stopped)).status == 200
        assert sum(one.by == "other" and one.method == "PATCH" for one in fork.requests) == comes
        fork.close()


@pytest.mark.parametrize(
    ("method", "path", "comes"),
    [
        ("PUT", "/MedicationRequest/mr0", True),
        ("PATCH", "/MedicationRequest/mr0?x=y", True),
        ("DELETE", "/MedicationRequest?status=active", True),
        ("POST", "/", True),
        ("PUT", "/Patient/p1", False),
        ("PUT", "/MedicationRequest/mr1", False),
        ("GET", "/MedicationRequest/mr0", False),
        ("POST", "/MedicationRequest/_search", False),
        ("POST", "/MedicationRequest/mr0/$validate", False),
    ],
)
def test_the_other_writer_comes_before_a_write_that_may_be_about_the_resource(
    record: Record, method: str, path: str, comes: bool
) -> None:
    fork = Embedded(record).fork(a_task(STOP), fault="other_writer")
    fork.handle(Request(method, path, {"Content-Type": "application/fhir+json"}, b""))
    assert any(one.by == "other" for one in fork.requests) is comes
    fork.close()


def test_where_nothing_is_to_be_written_the_other_writer_does_not_come(record: Record) -> None:
    for needs_write in (True, False):
        fork = Embedded(record).fork(a_task(Expected(), needs_write=needs_write), fault="other_writer")
        create_request = Request("POST", "/Basic", {"Content-Type": "application/fhir+json"}, b"{}")
        fork.handle(create_request)
        assert any(one.by == "other" for one in fork.requests) is needs_write
        fork.close()


@pytest.mark.parametrize(
    ("method", "path", "write"),
    [
        ("POST", "/Patient", True), ("PUT", "/Patient/1", True), ("PATCH", "/Patient/1", True),
        ("DELETE", "/Patient/1", True), ("POST", "/", True), ("POST", "", True),
        ("POST", "/Patient?name=_search", True),
        ("GET", "/Patient/1", False), ("HEAD", "/Patient/1", False), ("POST", "/Patient/_search", False),
        ("POST", "/_search?x=y", False), ("POST", "/Observation/$lastn", False), ("POST", "/$meta", False),
    ],
)  # fmt: skip
def test_what_means_to_write(method: str, path: str, write: bool) -> None:
    assert is_write(Request(method, path)) is write


def test_slow_carries_the_write_out_and_does_not_say_so_in_time(record: Record) -> None:
    def once(tools: Tools) -> str:
        answer = create(tools)
        assert answer["status"] == 504
        assert len(tools["fhir_search"](type="MedicationRequest", parameters={"patient": "p1"})["body"]["entry"]) == 2
        return "done"

    def twice(tools: Tools) -> str:
        assert [create(tools)["status"] for _ in range(2)] == [504, 201]
        return "done"

    assert played(record, "slow", once)[1].outcome == "pass"
    assert played(record, "slow", twice)[1].labels == ("DUPLICATE",)


def test_another_writer_comes_just_before_the_agent(record: Record) -> None:
    def careless(tools: Tools) -> str:
        resource = tools["fhir_read"](type="MedicationRequest", id="mr0")["body"]
        sent = {**resource, "status": "stopped"}
        assert tools["fhir_update"](type="MedicationRequest", id="mr0", resource=sent)["status"] == 200
        return "done"

    def careful(tools: Tools) -> str:
        resource = tools["fhir_read"](type="MedicationRequest", id="mr0")["body"]
        sent = {**resource, "status": "stopped"}
        write = {"type": "MedicationRequest", "id": "mr0", "if_match": 'W/"1"'}
        assert tools["fhir_update"](**write, resource=sent)["status"] == 409
        resource = tools["fhir_read"](type="MedicationRequest", id="mr0")["body"]
        assert [note["text"] for note in resource["note"]] == ["as before", "Talked over on the ward round."]
        sent = {**resource, "status": "stopped"}
        assert tools["fhir_update"](**write | {"if_match": 'W/"2"'}, resource=sent)["status"] == 200
        return "done"

    episode, verdict = played(record, "other_writer", careless, a_task(STOP))
    assert [request.by for request in episode.requests] == ["agent", "other", "agent"]
    assert verdict.labels == ("LOST_UPDATE",)
    verdict = played(record, "other_writer", careful, a_task(STOP))[1]
    assert verdict.outcome == "pass" and "REPAIRED_WRITE" in verdict.notes


def test_where_something_new_is_asked_for_the_other_writer_sees_to_the_patient(record: Record) -> None:
    def act(tools: Tools) -> str:
        create(tools)
        return "done"

    episode, verdict = played(record, "other_writer", act)
    assert [change.reference for change in episode.changes] == ["Patient/p1", "MedicationRequest/1000"]
    assert verdict.outcome == "pass"


# ---- the whole suite under each


@pytest.fixture(scope="module")
def suite() -> Iterator[EhrSuite]:
    rows = synthetic.generate(patients=40, seed=5)
    with Record.build(rows, clock=synthetic.CLOCK, synthetic=True) as built:
        yield draw_suite(built, seed=1, per_template=2, limit=16)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_succeeds_under_each_fault_and_idle_never_does(suite: EhrSuite, fault: str) -> None:
    for task in suite.tasks:
        oracle, idle = (play(suite, task, name, fault) for name in ("oracle", "idle"))
        assert oracle.succeeds, (task.id, oracle.shown)
        assert not idle.succeeds, (task.id, idle.shown)
        if fault == "lost_write" and task.needs_write:
            assert oracle.episode.claim == "not_done"


def test_a_suite_is_validated_under_a_fault(suite: EhrSuite) -> None:
    few = EhrSuite(suite.record, [task for task in suite.tasks if task.needs_write][:3], seed=1, undrawn={})
    report = validate(few, fault="slow")
    assert report.is_sound, [str(problem) for problem in report.problems]
    assert report.successes["oracle"] == report.successes["trusting"] == 3
    with pytest.raises(ValueError, match="there is no fault"):
        validate(few, fault="fast")


COSTS = {
    "lost_write": {"PHANTOM_SUCCESS"},
    "http_429": {"PHANTOM_SUCCESS", "REJECTED_WRITE"},
    "http_503": {"PHANTOM_SUCCESS", "REJECTED_WRITE"},
    "conflict": {"PHANTOM_SUCCESS", "REJECTED_WRITE"},
}


@pytest.mark.parametrize("fault", COSTS)
def test_trusting_fails_wherever_a_write_is_needed(suite: EhrSuite, fault: str) -> None:
    for task in suite.tasks:
        result = play(suite, task, "trusting", fault)
        assert result.succeeds != task.needs_write, (task.id, result.shown)
        if task.needs_write:
            assert set(result.verdicts["state"].labels) == COSTS[fault]
            assert result.episode.claim == "done"


def test_the_log_of_a_faulty_episode_is_what_the_agent_saw(record: Record) -> None:
    def act(tools: Tools) -> str:
        create(tools)
        return "unclear"

    episode, _ = played(record, "slow", act)
    assert episode.requests[0].status == 504
    assert json.loads(episode.requests[0].response or "")["resourceType"] == "OperationOutcome"
