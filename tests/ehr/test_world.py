"""The world of an EHR episode: tools over a real fork, its evidence, and a self-check that catches a fork that lies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.backends import Embedded, Fork
from ehr.sandbox import Change, Exchange, Record, Request, Response
from ehr.world import LONGEST_READ, ChartWorld, chart_world
from harness.agent import Briefing
from harness.scripted import ScriptedAgent
from harness.task import Task
from harness.tool import Tool
from harness.trace import Episode

CLOCK = "2026-01-15T10:15:00+00:00"
LITTLE: list[bytes | dict[str, Any]] = [
    {"resourceType": "Patient", "id": "p1", "birthDate": "1957-03-14", "name": [{"family": "García"}],
     "telecom": [{"system": "phone", "value": "+1-201-555-0100"}]},
    {"resourceType": "Patient", "id": "p2", "name": [{"family": "Miller"}]},
    b'{"resourceType":"Observation","id":"o1","status":"final","code":{"text":"Creatinine"},'
    b'"subject":{"reference":"Patient/p1"},"valueQuantity":{"value":1.00,"unit":"mg/dL"}}',
]  # fmt: skip
PLANTED = {
    "resourceType": "Observation",
    "id": "planted",
    "status": "final",
    "code": {"text": "K"},
    "subject": {"reference": "Patient/p1"},
}


TASK = Task.make(
    id="ehr/any/1", suite="ehr", template="any", kind="write", requires=("state",), needs_write=True,
    needs_chart=True, instruction="…", tools=("finish",), clock=CLOCK, setup=(PLANTED,),
)  # fmt: skip


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(LITTLE, clock=CLOCK, synthetic=True) as built:
        yield built


@pytest.fixture
def task() -> Task:
    return TASK


def tools_of(world: ChartWorld) -> dict[str, Tool]:
    return {tool.name: tool for tool in world.tools}


def observation(**more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "K"},
        "subject": {"reference": "Patient/p1"},
        **more,
    }


def create_one(world: ChartWorld) -> None:
    tools_of(world)["fhir_create"].run({"type": "Observation", "resource": observation()})


def write_one_of_each(world: ChartWorld) -> None:
    tools = tools_of(world)
    made = tools["fhir_create"].run({"type": "Observation", "resource": observation()})
    assert made.result["status"] == 201
    patch = [{"op": "replace", "path": "/telecom/0/value", "value": "+1-201-555-0199"}]
    assert tools["fhir_patch"].run({"type": "Patient", "id": "p1", "patch": patch}).result["status"] == 200
    assert tools["fhir_delete"].run({"type": "Observation", "id": "planted"}).result["status"] == 200


def test_tools_work_on_the_record_with_the_tasks_setup_laid_over_it(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    found = tools_of(world)["fhir_search"].run({"type": "Observation", "parameters": {"patient": "p1"}}).result["body"]
    assert {entry["resource"]["id"] for entry in found["entry"]} == {"o1", "planted"}
    assert list(tools_of(world))[-1] == "finish"
    world.close()


def test_the_evidence_holds_requests_changes_reads_and_an_agreeing_self_check(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    write_one_of_each(world)
    evidence = world.evidence()
    assert evidence.base == "http://fhir.hospital.example/fhir"
    assert [(request.by, request.method, request.path, request.status) for request in evidence.requests] == [
        ("agent", "POST", "/Observation", 201),
        ("agent", "PATCH", "/Patient/p1", 200),
        ("agent", "DELETE", "/Observation/planted", 200),
    ]
    assert json.loads(evidence.requests[0].body or "") == observation()
    assert evidence.requests[0].response_headers["Location"].endswith("/Observation/1000/_history/1")
    assert [(change.verb, change.reference) for change in evidence.changes] == [
        ("create", "Observation/1000"), ("update", "Patient/p1"), ("delete", "Observation/planted"),
    ]  # fmt: skip
    created, updated, deleted = evidence.changes
    assert created.before is None and "1000" in (created.after or "")
    assert "0100" in (updated.before or "") and "0199" in (updated.after or "")
    assert deleted.after is None and "planted" in (deleted.before or "")
    assert [(read.reference, read.status) for read in evidence.reads] == [
        ("Observation/1000", 200), ("Patient/p1", 200), ("Observation/planted", 410),
    ]  # fmt: skip
    assert evidence.self_check is not None and evidence.self_check.agrees and not evidence.self_check.differences
    world.close()


def test_an_episode_without_writes_has_nothing_to_show(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    tools_of(world)["fhir_read"].run({"type": "Patient", "id": "p1"})
    evidence = world.evidence()
    assert not evidence.changes and not evidence.reads and len(evidence.requests) == 1
    assert evidence.self_check is not None and evidence.self_check.agrees


def test_a_write_that_was_undone_or_refused_is_among_the_requests_and_no_change(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    tools = tools_of(world)
    made = tools["fhir_create"].run({"type": "Observation", "resource": observation()}).result["body"]["id"]
    tools["fhir_delete"].run({"type": "Observation", "id": made})
    refused = tools["fhir_create"].run({"type": "Observation", "resource": observation(status="bogus")})
    assert refused.status == "error" and refused.result["body"]["resourceType"] == "OperationOutcome"
    evidence = world.evidence()
    assert not evidence.changes and [request.status for request in evidence.requests] == [201, 200, 400]
    assert evidence.self_check is not None and evidence.self_check.agrees


def test_evidence_may_be_asked_for_twice(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    write_one_of_each(world)
    assert world.evidence() == world.evidence()


def test_two_worlds_of_one_task_never_see_each_other(record: Record, task: Task) -> None:
    one, other = (chart_world(Embedded(record), task) for _ in range(2))
    write_one_of_each(one)
    assert not other.evidence().changes
    assert tools_of(other)["fhir_read"].run({"type": "Observation", "id": "planted"}).status == "ok"


def test_long_answers_of_reads_are_left_out_and_those_of_writes_kept(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    tools = tools_of(world)
    note = "x" * (LONGEST_READ + 1)
    made = (
        tools["fhir_create"]
        .run({"type": "Observation", "resource": observation(note=[{"text": note}])})
        .result["body"]["id"]
    )
    tools["fhir_read"].run({"type": "Observation", "id": made})
    tools["fhir_read"].run({"type": "Patient", "id": "p1"})
    write, long, short = world.evidence().requests
    assert note in (write.response or "") and long.response is None and long.status == 200
    assert "García" in (short.response or "")


def test_digits_are_kept_in_what_the_agent_sees_and_in_the_evidence(record: Record, task: Task) -> None:
    world = chart_world(Embedded(record), task)
    seen = (
        tools_of(world)["fhir_read"].run({"type": "Observation", "id": "o1"}).result["body"]["valueQuantity"]["value"]
    )
    assert seen == 1 and seen.digits == "1.00"
    tools_of(world)["fhir_delete"].run({"type": "Observation", "id": "o1"})
    assert '"value":1.00' in (world.evidence().changes[0].before or "")


def test_a_number_that_an_agent_passes_on_is_not_changed_on_the_way(task: Task) -> None:
    """More digits than a float has: without them, who writes back what it read would have changed the value."""
    exact = '"value":4.1234567890123456789'
    row = LITTLE[2].replace(b'"value":1.00', exact.encode())  # type: ignore[union-attr,arg-type]

    def play(tools: Any) -> dict[str, Any]:
        body = tools["fhir_read"](type="Observation", id="o1")["body"]
        body["status"] = "amended"
        tools["fhir_update"](type="Observation", id="o1", resource=body)
        return {"outcome": "done"}

    with Record.build([*LITTLE[:2], row], clock=CLOCK, synthetic=True) as precise:
        world = chart_world(Embedded(precise), task)
        played = ScriptedAgent("amender", play).play(Briefing("Amend it.", "", CLOCK), world.tools, repeat=0)
        assert [call.status for call in played.calls] == ["ok", "ok"]
        assert exact in (world.evidence().changes[0].after or "")
        world.close()


def test_digits_are_kept_in_the_file_that_the_trace_is_written_to(record: Record, task: Task) -> None:
    def play(tools: Any) -> dict[str, Any]:
        tools["fhir_read"](type="Observation", id="o1")
        return {"outcome": "done"}

    world = chart_world(Embedded(record), task)
    played = ScriptedAgent("reader", play).play(Briefing("Read it.", "", CLOCK), world.tools, repeat=0)
    episode = Episode(
        id="sha256:1", task=task.id, task_digest=task.digest, agent="reader", condition="default", variant={},
        ending=played.ending, calls=played.calls,
    )  # fmt: skip
    assert '"value":1.00,' in episode.line()


def test_an_agent_plays_in_the_world(record: Record, task: Task) -> None:
    def play(tools: Any) -> dict[str, Any]:
        found = tools["fhir_search"](type="Patient", parameters={"family": "garcia"})
        return {"outcome": "done", "answer": [found["body"]["entry"][0]["resource"]["birthDate"]]}

    world = chart_world(Embedded(record), task)
    played = ScriptedAgent("reader", play).play(Briefing("When was she born?", "", CLOCK), world.tools, repeat=0)
    assert (played.ending, played.answer, [call.name for call in played.calls]) == (
        "finished",
        ("1957-03-14",),
        ["fhir_search"],
    )


# a fork that lies


class Lying:
    """A fork that tells the truth but for one lie."""

    def __init__(self, fork: Fork) -> None:
        self._fork = fork

    @property
    def base(self) -> str:
        return self._fork.base

    @property
    def requests(self) -> Sequence[Exchange]:
        return self._fork.requests

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        return self._fork.handle(request, by=by)

    def changes(self) -> Sequence[Change]:
        return self._fork.changes()

    def close(self) -> None:
        self._fork.close()


class ForgetsAChange(Lying):
    def changes(self) -> Sequence[Change]:
        return self._fork.changes()[1:]


class InventsAChange(Lying):
    def changes(self) -> Sequence[Change]:
        ghost = Change("create", "Observation/ghost", None, b'{"resourceType":"Observation","id":"ghost"}')
        return [*self._fork.changes(), ghost]


class AltersAChange(Lying):
    def changes(self) -> Sequence[Change]:
        return [
            replace(change, after=(change.after or b"").replace(b'"final"', b'"amended"') or None)
            for change in self._fork.changes()
        ]


class ReadsWrongly(Lying):
    def handle(self, request: Request, *, by: str = "agent") -> Response:
        response = self._fork.handle(request, by=by)
        if by == "check" and response.status == 200:
            return replace(response, body=response.body.replace(b'"final"', b'"amended"').replace(b"0199", b"0100"))
        return response


class ReadsTheDeleted(Lying):
    def handle(self, request: Request, *, by: str = "agent") -> Response:
        if by == "check" and request.path == "/Observation/planted":
            return Response(200, {}, json.dumps(PLANTED).encode())
        return self._fork.handle(request, by=by)


class LosesOnRead(Lying):
    def handle(self, request: Request, *, by: str = "agent") -> Response:
        return Response(404) if by == "check" else self._fork.handle(request, by=by)


class Acknowledges(Lying):
    """Says 201 to the first write, whatever was sent, and stores nothing: what a re-execution brings to light."""

    def __init__(self, fork: Fork, others: list[Lying]) -> None:
        super().__init__(fork)
        self._first = not others
        others.append(self)
        self._said: list[Exchange] = []

    @property
    def requests(self) -> Sequence[Exchange]:
        return [*self._said, *self._fork.requests]

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        if self._first and request.method == "POST":
            self._said.append(Exchange(by, request.method, request.path, request.headers, request.body, 201, {}, b""))
            return Response(201)
        return self._fork.handle(request, by=by)


def differences(
    record: Record, task: Task, lie: Callable[[Fork], Fork], act: Callable[[ChartWorld], object] = write_one_of_each
) -> tuple[str, ...]:
    world = ChartWorld(lambda: lie(Embedded(record).fork(task)))
    act(world)
    check = world.evidence().self_check
    assert check is not None and check.agrees == (not check.differences)
    return check.differences


def test_a_truthful_wrapper_is_believed(record: Record, task: Task) -> None:
    assert differences(record, task, Lying) == ()


@pytest.mark.parametrize(("lie", "said"), [
    (ReadsWrongly, (
        "read: Observation/1000 reads otherwise than the log says",
        "read: Patient/p1 reads otherwise than the log says",
    )),
    (ReadsTheDeleted, ("read: Observation/planted is deleted by the log, but a read is answered 200",)),
    (LosesOnRead, (
        "read: Observation/1000 is stored by the log, but a read is answered 404",
        "read: Patient/p1 is stored by the log, but a read is answered 404",
    )),
])  # fmt: skip
def test_reads_that_do_not_agree_with_the_log_are_caught(
    record: Record, task: Task, lie: Callable[[Fork], Fork], said: tuple[str, ...]
) -> None:
    assert differences(record, task, lie) == said


def once(lie: Callable[[Fork], Fork]) -> Callable[[Fork], Fork]:
    """Only the first fork lies; the one that re-executes does not."""
    made: list[Fork] = []

    def wrap(fork: Fork) -> Fork:
        made.append(fork)
        return lie(fork) if len(made) == 1 else fork

    return wrap


def test_a_change_log_that_forgets_is_caught_by_the_re_execution(record: Record, task: Task) -> None:
    assert differences(record, task, once(ForgetsAChange)) == ("re-execution: Observation/1000 changed only then",)


def test_a_change_log_that_invents_is_caught_by_the_read_and_by_the_re_execution(record: Record, task: Task) -> None:
    assert differences(record, task, once(InventsAChange)) == (
        "read: Observation/ghost is stored by the log, but a read is answered 404",
        "re-execution: Observation/ghost changed the first time only",
    )


def test_a_change_log_that_invents_without_any_write_is_caught(record: Record, task: Task) -> None:
    assert len(differences(record, task, once(InventsAChange), lambda world: None)) == 2


def test_a_change_log_with_another_content_is_caught_twice(record: Record, task: Task) -> None:
    said = differences(record, task, once(AltersAChange))
    assert "read: Observation/1000 reads otherwise than the log says" in said
    assert "re-execution: Observation/1000 came out differently" in said


def test_a_write_that_was_acknowledged_and_not_carried_out_is_caught_by_the_re_execution(
    record: Record, task: Task
) -> None:
    made: list[Lying] = []
    said = differences(record, task, lambda fork: Acknowledges(fork, made), create_one)
    assert said == ("re-execution: Observation/1000 changed only then",)


def test_another_verb_for_the_same_resource_is_caught(record: Record, task: Task) -> None:
    class CallsItACreate(Lying):
        def changes(self) -> Sequence[Change]:
            return [replace(c, verb="create") if c.verb == "update" else c for c in self._fork.changes()]

    assert differences(record, task, once(CallsItACreate)) == (
        "re-execution: Patient/p1 is create in the log, and update when done again",
    )


def test_a_read_that_is_no_json_is_caught(record: Record, task: Task) -> None:
    class Garbles(Lying):
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(200, {}, b"<html>") if by == "check" else self._fork.handle(request, by=by)

    assert "read: Patient/p1 reads otherwise than the log says" in differences(record, task, Garbles)


def test_an_answer_that_is_another_the_second_time_is_caught(record: Record, task: Task) -> None:
    class Refuses(Lying):
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(503) if request.method == "POST" else self._fork.handle(request, by=by)

    made: list[Fork] = []

    def wrap(fork: Fork) -> Fork:
        made.append(fork)
        return fork if len(made) == 1 else Refuses(fork)

    assert differences(record, task, wrap)[0] == "re-execution: POST /Observation was answered 201, and again 503"


def test_an_answer_that_was_told_as_an_error_and_is_none_the_second_time_is_caught(record: Record, task: Task) -> None:
    class TellsAnError(Lying):
        @property
        def requests(self) -> Sequence[Exchange]:
            return [replace(one, status=503) if one.method == "POST" else one for one in self._fork.requests]

    said = differences(record, task, once(TellsAnError))
    assert said == ("re-execution: POST /Observation was answered 503, and again 201",)


def test_a_read_with_other_digits_is_caught(record: Record, task: Task) -> None:
    class Rounds(Lying):
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            response = self._fork.handle(request, by=by)
            return replace(response, body=response.body.replace(b"1.50", b"1.5")) if by == "check" else response

    def act(world: ChartWorld) -> None:
        extension = b'[{"url": "http://x.example", "valueDecimal": 1.50}]'
        body = b'{"resourceType": "Basic", "code": {"text": "x"}, "extension": ' + extension + b"}"
        sent = Request("POST", "/Basic", {"Content-Type": "application/fhir+json"}, body)
        assert world.fork.handle(sent).status == 201

    assert differences(record, task, Lying, act) == ()
    assert differences(record, task, Rounds, act) == ("read: Basic/1000 reads otherwise than the log says",)


def test_a_read_that_succeeds_without_the_resource_is_caught(record: Record, task: Task) -> None:
    class SaysNothing(Lying):
        def handle(self, request: Request, *, by: str = "agent") -> Response:
            return Response(204) if by == "check" else self._fork.handle(request, by=by)

    assert "read: Patient/p1 is stored by the log, but a read is answered 204" in differences(record, task, SaysNothing)


def test_a_change_log_with_another_before_is_caught(record: Record, task: Task) -> None:
    class AltersTheBefore(Lying):
        def changes(self) -> Sequence[Change]:
            return [replace(c, before=b"{}") if c.verb == "update" else c for c in self._fork.changes()]

    assert differences(record, task, once(AltersTheBefore)) == ("re-execution: Patient/p1 came out differently",)


def test_everybodys_writes_are_executed_again_as_theirs(record: Record, task: Task) -> None:
    seen: list[list[str]] = []

    class Listens(Lying):
        def __init__(self, fork: Fork) -> None:
            super().__init__(fork)
            seen.append([])
            self._heard = seen[-1]

        def handle(self, request: Request, *, by: str = "agent") -> Response:
            if request.method == "PUT":
                self._heard.append(by)
            return self._fork.handle(request, by=by)

    def act(world: ChartWorld) -> None:
        body = json.dumps({"resourceType": "Patient", "id": "p2", "gender": "male"}).encode()
        for by in ("agent", "other", "agent"):
            request = Request("PUT", "/Patient/p2", {"Content-Type": "application/fhir+json"}, body)
            assert world.fork.handle(request, by=by).status == 200

    assert differences(record, task, Listens, act) == ()
    assert seen == [["agent", "other", "agent"]] * 2


def test_a_fault_that_every_fork_has_is_injected_again_and_is_no_difference(record: Record, task: Task) -> None:
    class LosesWrites(Lying):
        """Acknowledges creates, and stores nothing: an injected fault, the same on every fork."""

        def __init__(self, fork: Fork) -> None:
            super().__init__(fork)
            self._said: list[Exchange] = []

        @property
        def requests(self) -> Sequence[Exchange]:
            return [*self._said, *self._fork.requests]

        def handle(self, request: Request, *, by: str = "agent") -> Response:
            if request.method == "POST":
                self._said.append(Exchange(by, "POST", request.path, request.headers, request.body, 201, {}, b""))
                return Response(201)
            return self._fork.handle(request, by=by)

    assert differences(record, task, LosesWrites, create_one) == ()


# whatever is written


references = st.sampled_from(
    ["Observation/planted", "Observation/o1", "Patient/p1", "Patient/p2", "Observation/1000", "Observation/1001"]
)
writes = st.one_of(
    st.tuples(
        st.just("fhir_create"), st.fixed_dictionaries({"text": st.text(st.characters(codec="utf-8"), max_size=6)})
    ),
    st.tuples(st.just("fhir_delete"), references),
    st.tuples(st.just("fhir_patch"), references),
    st.tuples(st.just("fhir_update"), references),
)


@given(st.lists(writes, max_size=8))
@settings(max_examples=60, deadline=None)
def test_whatever_is_written_the_three_ways_agree_and_replaying_the_log_gives_the_state(
    record: Record, acts: list[tuple[str, Any]]
) -> None:
    world = chart_world(Embedded(record), TASK)
    tools = tools_of(world)
    for name, what in acts:
        if name == "fhir_create":
            tools[name].run({"type": "Observation", "resource": observation(code=what)})
            continue
        type_name, _, id = what.partition("/")
        arguments: dict[str, Any] = {"type": type_name, "id": id}
        if name == "fhir_patch":
            arguments["patch"] = [{"op": "add", "path": "/language", "value": "en"}]
        if name == "fhir_update":
            arguments["resource"] = {
                **(observation() if type_name == "Observation" else {"resourceType": "Patient"}),
                "id": id,
            }
        tools[name].run(arguments)
    evidence = world.evidence()
    assert evidence.self_check is not None and evidence.self_check.differences == ()
    fork = record.fork(TASK.setup, clock=CLOCK)
    for change in evidence.changes:
        type_name, _, id = change.reference.partition("/")
        assert (fork.body(type_name, id) is None) == (change.before is None)
        assert (world.fork.body(type_name, id) is None) == (change.after is None)  # type: ignore[attr-defined]
    world.close()
