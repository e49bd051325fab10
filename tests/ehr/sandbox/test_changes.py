"""What a fork says changed, against a plain replay of what was asked and acknowledged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ehr.sandbox.fork import Fork
from ehr.sandbox.record import Record
from tests.ehr.sandbox.talk import ADA, BEN, CLOCK, POTASSIUM, WARD, Said, Talk

SETUP = [{"resourceType": "Patient", "id": "laid", "birthDate": "1961-04-02"}]


@pytest.fixture
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork(SETUP))


def summary(fork: Fork) -> list[tuple[str, str]]:
    return [(change.verb, change.reference) for change in fork.changes()]


def test_nothing_written_is_no_change(talk: Talk) -> None:
    talk.get("/Patient/ada")
    talk.get("/Patient")
    assert talk.fork.changes() == []


def test_a_create_has_no_before(talk: Talk) -> None:
    made = talk.post("/Patient", {"resourceType": "Patient", "active": True}).body["id"]
    (change,) = talk.fork.changes()
    assert (change.verb, change.reference, change.before) == ("create", f"Patient/{made}", None)
    assert change.after is not None and json.loads(change.after)["active"] is True


def test_an_update_has_the_bytes_of_the_record_before(talk: Talk) -> None:
    talk.patch("/Observation/k1", [{"op": "replace", "path": "/status", "value": "amended"}])
    (change,) = talk.fork.changes()
    assert (change.verb, change.before) == ("update", POTASSIUM)
    assert change.after is not None and b'"status":"amended"' in change.after and b"4.10" in change.after


def test_a_delete_has_no_after(talk: Talk) -> None:
    talk.delete("/Patient/ben")
    (change,) = talk.fork.changes()
    assert (change.verb, change.reference, change.after) == ("delete", "Patient/ben", None)


def test_the_setup_is_no_change_and_stands_before(talk: Talk) -> None:
    talk.put("/Patient/laid", {"resourceType": "Patient", "id": "laid", "birthDate": "1961-04-03"})
    (change,) = talk.fork.changes()
    assert change.before is not None and json.loads(change.before) == SETUP[0]


def test_created_and_deleted_again_is_no_change(talk: Talk) -> None:
    made = talk.post("/Patient", {"resourceType": "Patient"}).body["id"]
    talk.delete(f"/Patient/{made}")
    assert talk.fork.changes() == []
    assert [write.verb for write in talk.fork.writes] == ["create", "delete"]


def test_a_write_undone_is_no_change(talk: Talk) -> None:
    talk.put("/Patient/ada", ADA | {"active": True})
    talk.put("/Patient/ada", ADA)
    assert talk.fork.changes() == []


def test_deleted_and_restored_is_no_change_and_restored_otherwise_an_update(talk: Talk) -> None:
    talk.delete("/Patient/ben")
    talk.put("/Patient/ben", BEN)
    assert talk.fork.changes() == []
    talk.put("/Patient/ben", BEN | {"active": False})
    assert summary(talk.fork) == [("update", "Patient/ben")]


def test_an_unchanged_put_is_no_write(talk: Talk) -> None:
    assert talk.put("/Patient/ada", ADA).body["meta"]["versionId"] == "1"
    assert talk.fork.writes == []


def test_decimals_of_equal_value_are_no_change_but_a_new_version(talk: Talk) -> None:
    body = talk.get("/Observation/k1", Accept="application/json").raw.replace(b"4.10", b"4.1")
    said = talk.put("/Observation/k1", body)
    assert said.headers["ETag"] == 'W/"2"'
    assert talk.fork.changes() == []


def test_another_value_of_a_decimal_is_a_change(talk: Talk) -> None:
    body = talk.get("/Observation/k1").raw.replace(b"4.10", b"4.11")
    talk.put("/Observation/k1", body)
    assert summary(talk.fork) == [("update", "Observation/k1")]


def test_only_version_and_last_updated_are_left_aside(talk: Talk) -> None:
    tagged = ADA | {"meta": {"versionId": "9", "lastUpdated": "2001-01-01T00:00:00Z"}}
    talk.put("/Patient/ada", tagged)
    assert talk.fork.changes() == []
    talk.put("/Patient/ada", ADA | {"meta": {"tag": [{"system": "http://t", "code": "a"}]}})
    assert summary(talk.fork) == [("update", "Patient/ada")]


def test_changes_come_in_the_order_of_first_writing(talk: Talk) -> None:
    talk.put("/Patient/ben", BEN | {"active": False})
    made = talk.post("/Patient", {"resourceType": "Patient"}).body["id"]
    talk.put("/Patient/ada", ADA | {"active": True})
    talk.put("/Patient/ben", BEN | {"gender": "male"})
    assert [change.reference for change in talk.fork.changes()] == ["Patient/ben", f"Patient/{made}", "Patient/ada"]


def test_every_write_names_its_writer_and_its_request(record: Record) -> None:
    fork = record.fork()
    Talk(fork).get("/Patient/ada")
    Talk(fork, by="other").patch("/Patient/ada", [{"op": "add", "path": "/active", "value": True}])
    Talk(fork).delete("/Patient/ben")
    assert [(w.verb, w.reference, w.by, w.request) for w in fork.writes] == [
        ("update", "Patient/ada", "other", 1),
        ("delete", "Patient/ben", "agent", 2),
    ]


ODD = b"""{"id": "odd", "resourceType": "Patient", "strange": {"x": [1.50]}, "birthDate": "", "active": "true",
  "name": {"family": "A"}, "meta": {"source": "s", "tag": [{"system": "z"}]},
  "text": {"div": "<div>a&nbsp;b</div>", "status": "generated"}}"""


@pytest.fixture
def odd() -> Iterator[Talk]:
    with Record.build([ODD], clock=CLOCK, synthetic=True) as record:
        yield Talk(record.fork())


def test_a_body_that_hapi_would_have_mended_can_be_sent_back_without_a_change(odd: Talk) -> None:
    read = odd.get("/Patient/odd")
    said = odd.put("/Patient/odd", read.raw)
    assert (said.status, said.headers["ETag"]) == (200, 'W/"1"')
    assert odd.fork.changes() == []


def test_a_write_of_one_element_leaves_the_others_as_they_stood(odd: Talk) -> None:
    read = odd.get("/Patient/odd").body
    odd.put("/Patient/odd", read | {"gender": "male"})
    odd.patch("/Patient/odd", [{"op": "replace", "path": "/gender", "value": "female"}])
    (change,) = odd.fork.changes()
    assert change.before == ODD and change.after is not None
    before, after = content(change.before), content(change.after)
    assert after == before | {"gender": "female"}
    assert odd.get("/Patient/odd").body["meta"]["versionId"] == "3"
    odd.put("/Patient/odd", read)
    assert odd.fork.changes() == []


# ---- against a replay


def content(body: bytes | dict[str, Any] | None) -> Any:
    """A body without its version, numbers by value."""
    if body is None:
        return None
    text = body.decode() if isinstance(body, bytes) else json.dumps(body)
    tree = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    meta = {k: v for k, v in tree.get("meta", {}).items() if k not in ("versionId", "lastUpdated")}
    return {k: v for k, v in tree.items() if k != "meta"} | ({"meta": meta} if meta else {})


ids = st.sampled_from(["ada", "ben", "laid", "new-1", "new-2", "nobody"])
flags = st.booleans()


class Episode(RuleBasedStateMachine):
    """An agent and another writer at work; beside them a dictionary that only believes what was acknowledged."""

    record: Record

    @initialize()
    def begin(self) -> None:
        self.fork = Episode.record.fork(SETUP)
        self.talk = Talk(self.fork)
        self.at_first = {f"{r['resourceType']}/{r['id']}": content(r) for r in map(self.plain, [*WARD, *SETUP])}
        self.now = dict(self.at_first)

    @staticmethod
    def plain(given: Any) -> dict[str, Any]:
        tree: dict[str, Any] = json.loads(given) if isinstance(given, bytes) else given
        return tree

    def believe(self, said: Said, reference: str, body: dict[str, Any] | None) -> None:
        if said.status < 300:
            if body is None:
                self.now.pop(reference, None)
            else:
                self.now[reference] = content(body | {"id": reference.partition("/")[2]})

    @rule(active=flags)
    def create(self, active: bool) -> None:
        body = {"resourceType": "Patient", "active": active}
        said = self.talk.post("/Patient", body)
        self.believe(said, f"Patient/{said.body['id']}", body)

    @rule(subject=ids, digits=st.sampled_from([b"4.10", b"4.1", b"5", b"5.0"]))
    def create_observation(self, subject: str, digits: bytes) -> None:
        body = POTASSIUM.replace(b"Patient/ada", b"Patient/" + subject.encode()).replace(b"4.10", digits)
        said = self.talk.post("/Observation", body)
        if said.status == 201:
            made = said.body["id"]
            self.now[f"Observation/{made}"] = content(body.replace(b'"id":"k1"', f'"id":"{made}"'.encode()))

    @rule(id=ids, active=flags, other=flags)
    def put(self, id: str, active: bool, other: bool) -> None:
        body = {"resourceType": "Patient", "id": id, "active": active}
        said = Talk(self.fork, by="other" if other else "agent").put(f"/Patient/{id}", body)
        self.believe(said, f"Patient/{id}", body)

    @rule(id=ids)
    def put_back(self, id: str) -> None:
        before = next((r for r in map(self.plain, [*WARD, *SETUP]) if r["id"] == id), None)
        if before is not None:
            said = self.talk.put(f"/Patient/{id}", before)
            self.believe(said, f"Patient/{id}", before)

    @rule(id=ids, gender=st.sampled_from(["male", "female", "banana"]))
    def patch(self, id: str, gender: str) -> None:
        said = self.talk.patch(f"/Patient/{id}", [{"op": "add", "path": "/gender", "value": gender}])
        if said.status == 200:
            self.now[f"Patient/{id}"] = self.now[f"Patient/{id}"] | {"gender": gender}

    @rule(id=ids)
    def delete(self, id: str) -> None:
        self.believe(self.talk.delete(f"/Patient/{id}"), f"Patient/{id}", None)

    @precondition(lambda self: any(key.startswith("Observation/") for key in self.now))
    @rule(data=st.data())
    def delete_observation(self, data: st.DataObject) -> None:
        reference = data.draw(st.sampled_from(sorted(key for key in self.now if key.startswith("Observation/"))))
        self.believe(self.talk.delete(f"/{reference}"), reference, None)

    @rule(puts=st.lists(ids, unique=True, max_size=3), deletes=st.lists(ids, unique=True, max_size=2), create=flags)
    def transaction(self, puts: list[str], deletes: list[str], create: bool) -> None:
        new = {"resourceType": "Patient", "active": True}
        entries: list[dict[str, Any]] = [
            {"resource": new | {"id": id}, "request": {"method": "PUT", "url": f"Patient/{id}"}} for id in puts
        ]
        entries += [{"request": {"method": "DELETE", "url": f"Patient/{id}"}} for id in deletes]
        if create:
            entries.append({"resource": new, "request": {"method": "POST", "url": "Patient"}})
        said = self.talk.post("/", {"resourceType": "Bundle", "type": "transaction", "entry": entries})
        if said.status != 200:
            return
        for id in deletes:
            self.now.pop(f"Patient/{id}", None)
        for id in puts:
            self.now[f"Patient/{id}"] = content(new | {"id": id})
        if create:
            made = said.body["entry"][-1]["response"]["location"].split("/")[1]
            self.now[f"Patient/{made}"] = content(new | {"id": made})

    @invariant()
    def changes_are_those_of_the_replay(self) -> None:
        references = self.at_first.keys() | self.now.keys()
        expected = {
            reference: (self.at_first.get(reference), self.now.get(reference))
            for reference in references
            if self.at_first.get(reference) != self.now.get(reference)
        }
        changes = self.fork.changes()
        assert {c.reference: (content(c.before), content(c.after)) for c in changes} == expected
        for change in changes:
            verbs = {(True, False): "create", (False, True): "delete", (False, False): "update"}
            assert change.verb == verbs[change.before is None, change.after is None]

    @invariant()
    def reads_and_searches_show_what_stands(self) -> None:
        stand = {reference for reference in self.now if reference.startswith("Patient/")}
        assert {f"Patient/{id}" for id in self.talk.ids("/Patient?_count=1000")} == stand

    def teardown(self) -> None:
        """History replays to the state, and the raw requests again on a fresh fork give the same bytes."""
        if not hasattr(self, "fork"):
            return
        told = dict(self.at_first)
        history = self.talk.get("/_history?_since=2026-01-15T10:15:00.001Z&_count=10000").body.get("entry", [])
        for entry in reversed(history):
            reference = entry["fullUrl"].removeprefix(self.fork.base + "/")
            told.pop(reference, None)
            if "resource" in entry:
                told[reference] = content(entry["resource"])
        assert told == self.now
        fresh = Episode.record.fork(SETUP)
        for exchange in self.fork.requests:
            if exchange.method != "GET":
                again = fresh.handle(exchange.request, by=exchange.by)
                assert again.status == exchange.status
        assert fresh.changes() == self.fork.changes()
        assert [w.after for w in fresh.writes] == [w.after for w in self.fork.writes]


def test_changes_equal_those_of_a_replay_and_of_the_requests_sent_again() -> None:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        Episode.record = record
        run_state_machine_as_test(Episode, settings=settings(max_examples=60, stateful_step_count=20, deadline=None))
