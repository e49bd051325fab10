"""Writes over a record: private, undone without a trace, seen by every search."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ehr.sandbox.overlay import Overlay
from ehr.sandbox.record import Record
from ehr.sandbox.searching.search import search

CLOCK = "2026-01-15T10:15:00+00:00"


def body(type: str, id: str, **more: Any) -> bytes:
    return json.dumps({"resourceType": type, "id": id, **more}).encode()


def record() -> Record:
    base = [body("Patient", "1", gender="male"), body("Patient", "2", gender="female")]
    base += [body("Observation", "o", subject={"reference": "Patient/1"}, status="final")]
    return Record.build(base, clock=CLOCK, synthetic=True)


def ids(overlay: Overlay, type: str, **query: str) -> list[str]:
    found = search(overlay, type, list(query.items()))
    return sorted(id for _, id in found.matches[:])


def test_a_write_hides_what_was_there():
    overlay = Overlay(record())
    overlay.put("Patient", "1", body("Patient", "1", gender="other"))
    assert overlay.get("Patient", "1") == body("Patient", "1", gender="other")
    assert ids(overlay, "Patient", gender="male") == []
    assert ids(overlay, "Patient", gender="other") == ["1"]
    overlay.put("Patient", "1", body("Patient", "1", gender="female"))
    assert ids(overlay, "Patient", gender="female") == ["1", "2"]


def test_a_removed_resource_is_gone_and_may_come_back():
    overlay = Overlay(record())
    overlay.remove("Patient", "1")
    overlay.remove("Patient", "none")
    assert overlay.get("Patient", "1") is None and not overlay.exists("Patient", "1")
    assert ids(overlay, "Patient") == ["2"]
    overlay.put("Patient", "1", body("Patient", "1"))
    assert ids(overlay, "Patient") == ["1", "2"]
    overlay.remove("Patient", "1")
    assert ids(overlay, "Patient") == ["2"]


def test_two_overlays_of_one_record_do_not_see_each_other():
    shared = record()
    one, other = Overlay(shared), Overlay(shared)
    one.put("Patient", "3", body("Patient", "3"))
    one.remove("Patient", "1")
    assert ids(one, "Patient") == ["2", "3"]
    assert ids(other, "Patient") == ["1", "2"]


def test_restoring_a_snapshot_undoes_everything_since():
    overlay = Overlay(record())
    overlay.put("Patient", "3", body("Patient", "3", gender="male"))
    before = overlay.snapshot()
    overlay.put("Patient", "3", body("Patient", "3", gender="female"))
    overlay.put("Patient", "4", body("Patient", "4", gender="male"))
    overlay.remove("Patient", "1")
    assert ids(overlay, "Patient", gender="male") == ["4"]
    overlay.restore(before)
    assert ids(overlay, "Patient", gender="male") == ["1", "3"]
    assert overlay.get("Patient", "4") is None
    overlay.put("Patient", "4", body("Patient", "4", gender="male"))
    assert ids(overlay, "Patient", gender="male") == ["1", "3", "4"]


def test_referrers_are_told_with_their_path():
    overlay = Overlay(record())
    assert list(overlay.referrers("Patient", "1")) == [("Observation", "o", "Observation.subject")]
    encounter = body("Encounter", "e", subject={"reference": "Patient/1/_history/1"})
    overlay.put("Encounter", "e", encounter)
    overlay.put("Observation", "o", body("Observation", "o", performer=[{"reference": "Patient/1"}]))
    assert sorted(overlay.referrers("Patient", "1")) == [
        ("Encounter", "e", "Encounter.subject"),
        ("Observation", "o", "Observation.performer"),
    ]
    overlay.remove("Encounter", "e")
    overlay.remove("Observation", "o")
    assert list(overlay.referrers("Patient", "1")) == []


class Writes(RuleBasedStateMachine):
    """Any order of writes, against a dictionary."""

    names = st.sampled_from(["1", "2", "3", "4"])
    genders = st.sampled_from(["male", "female", "other"])

    def __init__(self) -> None:
        super().__init__()
        self.overlay = Overlay(BASE)
        self.model = {"1": "male", "2": "female"}
        self.kept: list[tuple[Any, dict[str, str]]] = []

    @rule(id=names, gender=genders)
    def put(self, id: str, gender: str) -> None:
        self.overlay.put("Patient", id, body("Patient", id, gender=gender))
        self.model[id] = gender

    @rule(id=names)
    def remove(self, id: str) -> None:
        self.overlay.remove("Patient", id)
        self.model.pop(id, None)

    @rule()
    def keep(self) -> None:
        self.kept.append((self.overlay.snapshot(), dict(self.model)))

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        if self.kept:
            place = data.draw(st.integers(0, len(self.kept) - 1))
            snapshot, model = self.kept[place]
            self.overlay.restore(snapshot)
            self.model = dict(model)

    @invariant()
    def searches_see_what_stands(self) -> None:
        for gender in ("male", "female", "other"):
            expected = sorted(id for id, g in self.model.items() if g == gender)
            assert ids(self.overlay, "Patient", gender=gender) == expected
            others = sorted(id for id, g in self.model.items() if g != gender)
            assert ids(self.overlay, "Patient", **{"gender:not": gender}) == others
        assert [id for _, id in search(self.overlay, "Patient", [("_sort", "_id")]).matches[:]] == sorted(self.model)


BASE = record()
TestWrites = Writes.TestCase
TestWrites.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
