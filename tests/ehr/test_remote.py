"""Episodes on a live server: a fork behind real HTTP stands in for it, with HAPI's history and refusals."""

from __future__ import annotations

import json
import runpy
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ehr.client import ClientError, FhirClient
from ehr.remote import Remote, RemoteError, RemoteFork, wait_until_ready
from ehr.sandbox import Fork, Record, Request, Response
from ehr.world import ChartWorld, chart_world
from harness.task import Task
from tests.ehr.loopback import Loopback, loopback
from tests.ehr.test_world import LITTLE, PLANTED, TASK, create_one, observation, tools_of, write_one_of_each
from tests.support import ROOT


@pytest.fixture
def server() -> Iterator[tuple[Loopback, Fork]]:
    with loopback() as listening, Record.build(LITTLE, clock="2026-01-15T10:15:00+00:00", synthetic=True) as record:
        live = record.fork(base=listening.base)
        listening.handler = live
        yield listening, live


Server = tuple[Loopback, Fork]


def state(live: Fork) -> dict[str, bytes | None]:
    return {change.reference: change.after for change in live.changes()}


def elsewhere(live: Fork, method: str, path: str, body: Any = None) -> None:
    """Somebody else writes to the live server."""
    sent = json.dumps(body).encode() if body is not None else b""
    live.handle(Request(method, path, {"Content-Type": "application/fhir+json"}, sent))


def test_the_world_works_on_a_live_server_and_puts_it_back(server: Server) -> None:
    listening, live = server
    world = chart_world(Remote(listening.base), TASK)
    assert tools_of(world)["fhir_read"].run({"type": "Observation", "id": "planted"}).status == "ok"
    write_one_of_each(world)
    evidence = world.evidence()
    assert [(change.verb, change.reference) for change in evidence.changes] == [
        ("create", "Observation/1000"),
        ("update", "Patient/p1"),
        ("delete", "Observation/planted"),
    ]
    assert "0100" in (evidence.changes[1].before or "") and "0199" in (evidence.changes[1].after or "")
    assert [request.method for request in evidence.requests] == ["GET", "POST", "PATCH", "DELETE"]
    assert [(read.reference, read.status) for read in evidence.reads][-1] == ("Observation/planted", 410)
    check = evidence.self_check
    assert check is not None and check.agrees and not check.foreign, check
    world.close()
    assert state(live) == {}


def test_the_setup_is_no_change_and_is_taken_away_again(server: Server) -> None:
    listening, live = server
    fork = Remote(listening.base).fork(TASK)
    assert fork.changes() == [] and "Observation/planted" in state(live)
    fork.close()
    assert state(live) == {}


def test_a_setup_that_replaces_something_is_undone_too(server: Server) -> None:
    listening, live = server
    resource = {**LITTLE[1], "active": False} if isinstance(LITTLE[1], dict) else {}
    task = TASK.model_copy(update={"setup": (resource,)})
    fork = Remote(listening.base).fork(task)
    fork.handle(Request("DELETE", "/Patient/p2"))
    (change,) = fork.changes()
    assert change.verb == "delete" and b'"active":false' in (change.before or b"")
    fork.close()
    assert state(live) == {}


def test_a_tag_that_was_added_is_taken_away_again(server: Server) -> None:
    listening, live = server
    world = chart_world(Remote(listening.base), TASK)
    tagged = {**_body(world, "p2"), "meta": {"tag": [{"system": "http://hospital.example/tags", "code": "seen"}]}}
    assert tools_of(world)["fhir_update"].run({"type": "Patient", "id": "p2", "resource": tagged}).status == "ok"
    assert [change.reference for change in world.evidence().changes] == ["Patient/p2"]
    world.close()
    assert state(live) == {}


def test_changes_are_net_and_in_the_order_of_the_first_writes(server: Server) -> None:
    listening, _ = server
    world = chart_world(Remote(listening.base), TASK)
    tools = tools_of(world)
    for value in ("1", "2"):
        patch = [{"op": "add", "path": "/language", "value": value}]
        tools["fhir_patch"].run({"type": "Patient", "id": "p2", "patch": patch})
    made = tools["fhir_create"].run({"type": "Observation", "resource": observation()}).result["body"]["id"]
    tools["fhir_delete"].run({"type": "Observation", "id": made})
    tools["fhir_update"].run({"type": "Patient", "id": "p1", "resource": {**_body(world, "p1"), "active": True}})
    tools["fhir_patch"].run({"type": "Patient", "id": "p2", "patch": [{"op": "add", "path": "/active", "value": True}]})
    evidence = world.evidence()
    assert [(change.verb, change.reference) for change in evidence.changes] == [
        ("update", "Patient/p2"),
        ("update", "Patient/p1"),
    ]
    assert evidence.self_check is not None and evidence.self_check.agrees and not evidence.self_check.foreign
    world.close()


def _body(world: ChartWorld, id: str) -> dict[str, Any]:
    body: dict[str, Any] = world.client.read("Patient", id).body
    return body


def test_deleted_and_created_again_is_one_update(server: Server) -> None:
    listening, live = server
    fork = Remote(listening.base).fork(TASK)
    client = FhirClient(listening.base)
    before = client.read("Observation", "o1").body
    client.close()
    fork.handle(Request("DELETE", "/Observation/o1"))
    body = json.dumps({**before, "status": "amended"}).encode()
    fork.handle(Request("PUT", "/Observation/o1", {"Content-Type": "application/fhir+json"}, body))
    (change,) = fork.changes()
    assert (change.verb, change.reference) == ("update", "Observation/o1") and not fork.foreign
    assert b'"value":1.00' in (change.before or b"")
    fork.close()
    assert state(live) == {} and b'"value":1.00' in (live.body("Observation", "o1") or b"")


def test_what_somebody_else_writes_is_named_foreign(server: Server) -> None:
    listening, live = server
    world = chart_world(Remote(listening.base), TASK)
    create_one(world)
    elsewhere(live, "POST", "/Observation", observation())
    elsewhere(live, "DELETE", "/Observation/o1")
    check = world.evidence().self_check
    assert check is not None and check.foreign == ("Observation/1001/_history/1", "Observation/o1/_history/2")
    world.close()
    assert state(live) == {}


def test_a_second_version_by_somebody_else_is_foreign_and_the_first_is_not(server: Server) -> None:
    listening, live = server
    world = chart_world(Remote(listening.base), TASK)
    patch = [{"op": "add", "path": "/language", "value": "en"}]
    tools_of(world)["fhir_patch"].run({"type": "Patient", "id": "p2", "patch": patch})
    elsewhere(live, "PUT", "/Patient/p2", {"resourceType": "Patient", "id": "p2", "name": [{"family": "Other"}]})
    check = world.evidence().self_check
    assert check is not None and check.foreign == ("Patient/p2/_history/3",)
    world.close()


def test_transactions_and_conditional_deletes_are_the_episodes_own(server: Server) -> None:
    listening, live = server
    fork = Remote(listening.base).fork(TASK)
    headers = {"Content-Type": "application/fhir+json"}
    entries = [
        {"resource": observation(), "request": {"method": "POST", "url": "Observation"}},
        {"request": {"method": "DELETE", "url": "Observation/o1"}},
        {
            "resource": {"resourceType": "Patient", "id": "p2", "active": True},
            "request": {"method": "PUT", "url": "Patient/p2"},
        },
    ]
    bundle = {"resourceType": "Bundle", "type": "transaction", "entry": entries}
    assert fork.handle(Request("POST", "/", headers, json.dumps(bundle).encode())).status == 200
    assert fork.handle(Request("DELETE", "/Observation?_id=planted")).status == 200
    assert {change.reference for change in fork.changes()} == {
        "Observation/1000",
        "Observation/o1",
        "Patient/p2",
        "Observation/planted",
    }
    assert fork.foreign == ()
    fork.close()
    assert state(live) == {}


def test_episodes_follow_each_other_on_one_server(server: Server) -> None:
    listening, live = server
    backend = Remote(listening.base)
    for _ in range(3):
        world = chart_world(backend, TASK)
        write_one_of_each(world)
        evidence = world.evidence()
        assert len(evidence.changes) == 3 and evidence.self_check is not None and not evidence.self_check.foreign
        world.close()
    assert state(live) == {}


def test_a_second_episode_waits_for_the_first(server: Server) -> None:
    listening, _ = server
    backend = Remote(listening.base)
    first, begun = backend.fork(TASK), threading.Event()

    def second() -> None:
        fork = backend.fork(TASK)
        begun.set()
        fork.close()

    thread = threading.Thread(target=second)
    thread.start()
    assert not begun.wait(0.2)
    first.close()
    assert begun.wait(10)
    thread.join()


def test_many_changes_are_read_page_by_page(server: Server) -> None:
    listening, live = server
    world = chart_world(Remote(listening.base), TASK)
    for _ in range(230):
        create_one(world)
    assert len(world.evidence().changes) == 230
    world.close()
    assert state(live) == {}


def test_a_server_that_cannot_be_put_back_is_said(server: Server) -> None:
    listening, live = server

    class Stubborn:
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            is_restoring = request.method == "POST" and b'"DELETE"' in request.body
            return Response(200, {}, b"{}") if is_restoring else live.handle(request)

    fork = RemoteFork(listening.base, (PLANTED,))
    listening.handler = Stubborn()
    with pytest.raises(RemoteError, match="could not be put back: Observation/planted differ"):
        fork.close()


def test_a_setup_that_is_refused_leaves_nothing_and_lets_the_next_one_in(server: Server) -> None:
    listening, live = server
    backend = Remote(listening.base)
    wrong: Task = TASK.model_copy(update={"setup": ({**PLANTED, "subject": {"reference": "Patient/nobody"}},)})
    with pytest.raises(RemoteError, match="setup was refused"):
        backend.fork(wrong)
    backend.fork(TASK).close()
    assert state(live) == {}


class Failing:
    """A server that does not do what `when` says, and does all else."""

    def __init__(self, live: Fork, when: Callable[[Request], bool]) -> None:
        self.live, self.when, self.failed = live, when, 0

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        if self.when(request):
            self.failed += 1
            return Response(503, {}, b"{}")
        return self.live.handle(request)


def test_a_setup_that_was_laid_is_taken_away_where_the_episode_cannot_begin(server: Server) -> None:
    listening, live = server
    failing = Failing(live, lambda request: "_history" in request.path and bool(state(live)) and not failing.failed)
    listening.handler = failing
    backend = Remote(listening.base)
    with pytest.raises(RemoteError, match="was answered 503"):
        backend.fork(TASK)
    assert failing.failed == 1 and state(live) == {}
    backend.fork(TASK).close()
    assert state(live) == {}


def test_no_other_episode_begins_before_one_that_was_left_is_undone(server: Server) -> None:
    listening, live = server
    backend = Remote(listening.base)
    fork = backend.fork(TASK)
    fork.handle(Request("DELETE", "/Patient/p2"))
    down = Failing(live, lambda request: request.method == "POST")
    listening.handler = down
    for attempt in (fork.close, lambda: backend.fork(TASK), lambda: backend.fork(TASK)):
        with pytest.raises(RemoteError, match="putting the server back was refused"):
            attempt()
    assert set(state(live)) == {"Observation/planted", "Patient/p2"}
    listening.handler = live
    again = backend.fork(TASK)
    assert set(state(live)) == {"Observation/planted"} and again.changes() == []
    again.close()
    assert state(live) == {}


def test_a_validation_that_a_live_server_cannot_be_told_is_refused() -> None:
    with pytest.raises(RemoteError, match="'full'"):
        Remote("http://127.0.0.1:1/fhir").fork(TASK, validation="full")


def test_a_server_without_history_is_refused() -> None:
    class Plain:
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(404, {}, b"{}")

    with loopback(Plain()) as listening, pytest.raises(RemoteError, match="needs the server's history"):
        Remote(listening.base).fork(TASK)


def test_a_server_that_is_not_there_is_a_client_error_and_frees_the_turn() -> None:
    backend = Remote("http://127.0.0.1:1/fhir")
    for _ in range(2):
        with pytest.raises(ClientError):
            backend.fork(TASK)


def test_waiting_for_a_server_ends(server: Server) -> None:
    class Ready:
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(200, {}, b"{}")

    with loopback(Ready()) as listening:
        wait_until_ready(listening.base, seconds=5)
    with pytest.raises(RemoteError, match=r"did not answer as a FHIR server within 0\.1 s; is the server up\?"):
        wait_until_ready("http://127.0.0.1:1/fhir", seconds=0.1)


def test_a_server_with_its_fhir_elsewhere_is_told_from_one_that_is_down() -> None:
    class Elsewhere:
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(404, {}, b"{}")

    with loopback(Elsewhere()) as listening, pytest.raises(RemoteError, match=r"/metadata is 404; name the address"):
        wait_until_ready(listening.base, seconds=0.1)


def test_a_servers_content_is_a_record_and_a_records_content_is_put_on_a_server() -> None:
    from ehr.remote_record import fetched, put_on
    from ehr.tasks import synthetic

    rows = synthetic.generate(patients=3, seed=3)
    with (
        Record.build(rows, clock=synthetic.CLOCK, synthetic=True) as record,
        Record.build([], clock=synthetic.CLOCK, synthetic=True) as nothing,
        loopback() as listening,
    ):
        live = nothing.fork(base=listening.base)
        listening.handler = live
        with pytest.raises(RemoteError, match="holds no resources; load a record first"), fetched(listening.base):
            pass
        told: list[tuple[str, int, int | None]] = []
        total = sum(record.counts.values())
        assert put_on(record, listening.base, lambda *said: told.append(said)) == total
        assert told[-1] == ("loading", total, total)
        with fetched(listening.base) as copy:
            assert dict(copy.counts) == dict(record.counts)
            assert copy.synthetic is False and copy.clock.startswith("2026-01-15T")
            id = record.ids("Patient")[0]
            before, after = (json.loads(one.body("Patient", id) or b"") for one in (record, copy))
            assert {**before, "meta": None} == {**after, "meta": None}


def test_the_script_beside_the_compose_file_puts_a_record_on_a_server(tmp_path: Path, capfd: Any) -> None:
    from ehr.tasks import synthetic

    script = runpy.run_path(str(ROOT / "docker/load.py"))["main"]
    path = tmp_path / "ward.record"
    with (
        Record.build(synthetic.generate(patients=2, seed=3), path, clock=synthetic.CLOCK, synthetic=True) as record,
        Record.build([], clock=synthetic.CLOCK, synthetic=True) as nothing,
        loopback() as listening,
    ):
        live = nothing.fork(base=listening.base)
        listening.handler = live
        assert script([listening.base, str(path)]) == 0
        assert len(live.changes()) == sum(record.counts.values())
        assert script([listening.base, str(tmp_path / "none.record")]) == 1
        assert "none.record" in capfd.readouterr().err
        assert script([]) == 2


def test_a_server_that_refuses_a_record_is_named_with_its_reason() -> None:
    from ehr.remote_record import put_on

    with (
        Record.build([{"resourceType": "Patient", "id": "77"}], clock="2026-01-15T10:15:00Z", synthetic=True) as record,
        Record.build([], clock="2026-01-15T10:15:00Z", synthetic=True) as nothing,
        loopback() as listening,
    ):
        listening.handler = nothing.fork(base=listening.base)
        with pytest.raises(RemoteError, match=r"refused resources of the record \(400\): HAPI-0960"):
            put_on(record, listening.base)


PAGE = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Account", "id": "a"}}]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "what is no FHIR Bundle; name the address below which FHIR is"),
        (b"<html>please log in</html>", "what is no FHIR Bundle"),
        (b"[1]", "what is no FHIR Bundle"),
        (b"\xff", "what is no FHIR Bundle"),
        (b"[" * 100_000, "what is no FHIR Bundle"),
        (b'{"resourceType": "OperationOutcome"}', "what is no FHIR Bundle"),
        (b'{"resourceType": "Bundle", "entry": [5]}', "what is no FHIR Bundle"),
        (b'{"resourceType": "Bundle", "entry": [{"resource": null}]}', "what is no FHIR Bundle"),
        ({**PAGE, "link": [{"relation": "next", "url": "BASE/Account?page=2"}]}, "go round in circles"),
        ({**PAGE, "link": [{"relation": "next", "url": "http://other.example/2"}]}, "'http://other.example/2'"),
    ],
)
def test_what_answers_like_no_fhir_server_is_said_to_be_none(body: Any, said: str) -> None:
    from ehr.remote_record import fetched

    class Odd:
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            sent = body if isinstance(body, bytes) else json.dumps(body).replace("BASE", listening.base).encode()
            return Response(200, {"Content-Type": "application/fhir+json"}, sent)

    with loopback(Odd()) as listening, pytest.raises(RemoteError) as raised, fetched(listening.base):
        pass
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
