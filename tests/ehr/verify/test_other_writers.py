"""Rule 7, the second half: another writer on the same resource, and what of its changes the agent overwrote."""

from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import NOTHING, Create, Expected, Update, clause
from ehr.verify.difference import shown
from ehr.verify.otherwriters import Step, beside_others
from tests.ehr.verify.build import ADA, BEN, WARFARIN, Body, Chart, changed, finding, potassium, state

PHONE = {"system": "phone", "value": "555-0101", "use": "home"}
NEW_PHONE = {"system": "phone", "value": "555-0303", "use": "home"}
EMAIL = {"system": "email", "value": "ada@home.example"}
FAX = {"system": "fax", "value": "555-0909"}

NUMBER = Expected(
    updates=(
        Update(
            reference="Patient/p1",
            may_change=("telecom",),
            clauses=(clause("new number", "telecom.where(system = 'phone').value = '555-0303'", label="WRONG_VALUE"),),
        ),
    )
)


def _ada(*telecom: Body, **elements: Any) -> Body:
    return changed(ADA, telecom=list(telecom) or [PHONE], **elements)


def _after(theirs: Body, own: Body, expected: Expected = NUMBER, before: Body = ADA) -> tuple[str, ...]:
    """The labels where another writer wrote `theirs` and then the agent wrote `own`."""
    chart = Chart(before)
    chart.put(theirs, by="other")
    chart.put(own)
    return state(chart, expected).labels


# ---- overwritten


@pytest.mark.parametrize(
    "theirs",
    [
        _ada(PHONE, EMAIL),  # an item added to the list that the agent may change
        _ada(EMAIL, PHONE),  # in front of the agent's
        _ada(PHONE, gender="female"),  # an element added
        _ada(PHONE, birthDate="1961-04-03"),  # a scalar changed
        _ada(PHONE, birthDate=None),  # an element removed
        _ada(PHONE, address=None),
        _ada(PHONE, address=[{"line": ["1 High Street"], "city": "Leeds"}]),  # deep inside
        _ada(PHONE, address=[*ADA["address"], {"city": "York"}]),
        _ada(PHONE, address=[{"city": "York"}, *ADA["address"]]),
        _ada(PHONE, _birthDate={"extension": [{"url": "u", "valueString": "x"}]}),
        _ada({**PHONE, "rank": 1}),  # beside what the agent changes, in the same item
    ],
)
def test_what_another_wrote_and_the_agent_put_back_is_a_lost_update_alone(theirs: Body) -> None:
    assert _after(theirs, _ada(NEW_PHONE)) == ("LOST_UPDATE",)


def test_an_item_taken_from_a_list_and_put_back_is_lost() -> None:
    before = _ada(PHONE, EMAIL)
    for theirs in (_ada(PHONE), _ada(PHONE, FAX)):
        assert _after(theirs, _ada(NEW_PHONE, EMAIL), before=before) == ("LOST_UPDATE",)


def test_a_changed_item_that_the_agent_moved_and_put_back_is_lost() -> None:
    before = _ada(PHONE, EMAIL)
    theirs = _ada(PHONE, {**EMAIL, "value": "ada@work.example"})
    assert _after(theirs, _ada(EMAIL, NEW_PHONE), before=before) == ("LOST_UPDATE",)
    assert _after(theirs, _ada({**EMAIL, "value": "ada@work.example"}, NEW_PHONE), before=before) == ()


def test_a_deleted_resource_that_the_agent_brought_back_is_lost() -> None:
    chart = Chart(ADA)
    chart.delete("Patient/p1", by="other")
    chart.put(_ada(NEW_PHONE))
    verdict = state(chart, NUMBER)
    assert verdict.labels == ("LOST_UPDATE",)
    found = finding(verdict, "updates[0].may_change")
    assert (found.actual, found.evidence and found.evidence.path) == ("the whole resource overwritten", None)


def test_the_agent_may_overwrite_without_changing_anything_of_its_own() -> None:
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL), by="other")
    chart.put(ADA)
    assert state(chart, NUMBER).labels == ("WRONG_VALUE", "LOST_UPDATE")
    assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)


def test_what_is_lost_is_found_beside_what_else_is_wrong() -> None:
    assert _after(_ada(PHONE, EMAIL), _ada({**PHONE, "value": "555-0404"})) == ("WRONG_VALUE", "LOST_UPDATE")
    assert _after(_ada(PHONE, EMAIL), _ada(NEW_PHONE, address=None)) == ("COLLATERAL_CHANGE", "LOST_UPDATE")


def test_every_lost_change_is_named() -> None:
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL, gender="female"), by="other")
    chart.put(_ada(NEW_PHONE))
    verdict = state(chart, NUMBER)
    assert [c.actual for c in verdict.clauses if c.label == "LOST_UPDATE"] == [
        "telecom[1] overwritten", "gender overwritten",
    ]  # fmt: skip
    assert finding(verdict, "updates[0].may_change").expected == "another writer's change kept"


# ---- surviving changes belong to "before"


@pytest.mark.parametrize(
    ("theirs", "own"),
    [
        (_ada(PHONE, EMAIL), _ada(NEW_PHONE, EMAIL)),
        (_ada(PHONE, EMAIL), _ada(EMAIL, NEW_PHONE)),  # wherever it stands now
        (_ada(PHONE, EMAIL), _ada(NEW_PHONE, FAX, EMAIL)),
        (_ada(EMAIL, PHONE), _ada(EMAIL, NEW_PHONE)),
        (_ada(PHONE, gender="female"), _ada(NEW_PHONE, gender="female")),
        (_ada(PHONE, birthDate=None), _ada(NEW_PHONE, birthDate=None)),
        (_ada(PHONE, address=None), _ada(NEW_PHONE, address=None)),
        (
            _ada(PHONE, address=[{"city": "York"}, *ADA["address"]]),
            _ada(NEW_PHONE, address=[{"city": "York"}, *ADA["address"]]),
        ),
        (_ada({**PHONE, "rank": 1}), _ada({**NEW_PHONE, "rank": 1})),
        (_ada(PHONE, maritalStatus={"text": "M"}), _ada(NEW_PHONE, maritalStatus={"text": "M"})),
    ],
)
def test_what_another_wrote_and_the_agent_kept_is_no_change_of_the_agents(theirs: Body, own: Body) -> None:
    assert _after(theirs, own) == ()


def test_the_first_of_two_items_taken_away_and_kept_away_is_not_lost() -> None:
    before = _ada(EMAIL, PHONE)
    assert _after(_ada(PHONE), _ada(NEW_PHONE), before=before) == ()
    assert _after(_ada(PHONE), _ada(EMAIL, NEW_PHONE), before=before) == ("LOST_UPDATE",)


def test_what_the_agent_adds_to_a_kept_change_is_its_own() -> None:
    theirs = _ada(PHONE, address=[*ADA["address"], {"city": "York"}])
    own = _ada(NEW_PHONE, address=[*ADA["address"], {"city": "York"}, {"city": "Hull"}])
    assert _after(theirs, own) == ("COLLATERAL_CHANGE",)


def test_the_same_place_written_anew_is_judged_as_the_agents_change() -> None:
    """Both changed the number: the last one stands, and it is the one that was asked for."""
    assert _after(_ada({**PHONE, "value": "555-0404"}), _ada(NEW_PHONE)) == ()
    assert _after(_ada(PHONE, birthDate="1961-04-03"), _ada(NEW_PHONE, birthDate="1961-04-04")) == (
        "COLLATERAL_CHANGE",
    )


# ---- one after the other


def test_writes_before_and_after_the_other_writer_are_taken_together() -> None:
    chart = Chart(ADA)
    chart.patch("Patient/p1", telecom=[NEW_PHONE])
    chart.patch("Patient/p1", gender="female", by="other")
    assert state(chart, NUMBER).labels == ()
    chart.patch("Patient/p1", telecom=[NEW_PHONE, FAX])
    assert state(chart, NUMBER).labels == ()
    chart.put(_ada(NEW_PHONE))
    assert state(chart, NUMBER).labels == ("LOST_UPDATE",)


def test_other_writers_between_several_writes_of_the_agent() -> None:
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL), by="nurse")
    chart.put(_ada(NEW_PHONE))  # overwrites the address
    chart.put(_ada(NEW_PHONE, gender="female"), by="clerk")
    assert state(chart, NUMBER).labels == ("LOST_UPDATE",)
    chart.put(_ada(NEW_PHONE, EMAIL, gender="female"))  # and puts it right
    assert state(chart, NUMBER).labels == ()
    chart.put(_ada(NEW_PHONE, EMAIL))
    assert state(chart, NUMBER).labels == ("LOST_UPDATE",)


def test_what_other_writers_undid_themselves_was_not_lost() -> None:
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL), by="nurse")
    chart.put(_ada(PHONE), by="clerk")
    chart.put(_ada(NEW_PHONE))
    assert state(chart, NUMBER).labels == ()
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL), by="nurse")
    chart.put(_ada(NEW_PHONE, EMAIL))
    chart.put(_ada(NEW_PHONE), by="nurse")
    assert state(chart, NUMBER).labels == ()


def test_another_writer_that_puts_the_agents_change_back_leaves_nothing_of_it() -> None:
    chart = Chart(ADA)
    chart.put(_ada(NEW_PHONE))
    chart.put(ADA, by="other")
    assert state(chart, NUMBER).labels == ("PHANTOM_SUCCESS",)
    assert state(chart, NOTHING).labels == ()


def test_another_writer_between_the_agents_change_and_its_undoing() -> None:
    chart = Chart(ADA)
    chart.put(_ada(NEW_PHONE))
    chart.put(_ada(NEW_PHONE, gender="female"), by="other")
    chart.put(_ada(PHONE, gender="female"))
    verdict = state(chart, NOTHING)
    assert (verdict.labels, "UNDONE_WRITE" in verdict.notes) == ((), True)


# ---- alone, or on another resource


def test_what_only_another_writer_wrote_is_no_change_of_the_agents() -> None:
    chart = Chart(ADA, BEN, WARFARIN)
    chart.create(potassium(), by="other")
    chart.patch("Patient/p2", gender="male", by="other")
    chart.delete("MedicationRequest/mr0", by="other")
    assert state(chart, NOTHING).labels == ()
    chart.patch("Patient/p1", telecom=[NEW_PHONE])
    assert state(chart, NUMBER).labels == ()


def test_what_another_created_and_the_agent_changed_is_an_update() -> None:
    chart = Chart(ADA)
    reference = chart.create(potassium(), by="other")
    chart.patch(reference, status="amended")
    expected = Expected(updates=(Update(reference=reference, may_change=("status",)),))
    assert state(chart, expected).labels == ()
    create = Expected(creates=(Create(type="Observation", clauses=()),))
    assert state(chart, create).labels == ("COLLATERAL_CHANGE", "PHANTOM_SUCCESS")


def test_what_the_agent_created_and_another_changed_is_a_create() -> None:
    expected = Expected(
        creates=(Create(type="Observation", clauses=(clause("final", "status = 'final'", label="WRONG_STATUS"),)),)
    )
    chart = Chart(ADA)
    reference = chart.create(potassium())
    chart.patch(reference, note=[{"text": "seen"}], by="other")
    assert state(chart, expected).labels == ()
    chart.patch(reference, status="amended")
    assert state(chart, expected).labels == ("WRONG_STATUS",)
    chart.delete(reference, by="other")
    assert state(chart, expected).labels == ("PHANTOM_SUCCESS",)
    chart.put(potassium(id=reference.split("/")[1]))
    assert state(chart, expected).labels == ()


def test_what_another_changed_and_the_agent_deleted_is_a_delete() -> None:
    for by_query in (False, True):
        chart = Chart(ADA, WARFARIN)
        chart.patch("MedicationRequest/mr0", priority="stat", by="other")
        chart.delete("MedicationRequest/mr0")
        if by_query:  # a conditional delete names no id
            chart.requests[-1] = chart.requests[-1].model_copy(update={"path": "/MedicationRequest?status=active"})
        assert state(chart, Expected(deletes=("MedicationRequest/mr0",))).labels == ()
        assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)


def test_two_that_another_changed_and_the_agent_deleted_by_queries_are_its_deletes() -> None:
    """Nobody can tell which query hit which: both are gone, and only the agent deleted."""
    second = changed(WARFARIN, id="mr1")
    chart = Chart(ADA, WARFARIN, second)
    for number in range(2):
        chart.patch(f"MedicationRequest/mr{number}", priority="stat", by="other")
    for number in range(2):
        chart.delete(f"MedicationRequest/mr{number}")
        chart.requests[-1] = chart.requests[-1].model_copy(update={"path": f"/MedicationRequest?identifier={number}"})
    both = Expected(deletes=("MedicationRequest/mr0", "MedicationRequest/mr1"))
    assert state(chart, both).labels == ()
    assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)


@pytest.mark.parametrize("act", ["created", "refused", "another type"])
def test_another_writers_conditional_delete_is_not_the_agents(act: str) -> None:
    chart = Chart(ADA, WARFARIN, potassium(id="o1"))
    chart.patch("MedicationRequest/mr0", priority="stat", by="other")
    chart.delete("MedicationRequest/mr0", by="other")
    chart.requests[-1] = chart.requests[-1].model_copy(update={"path": "/MedicationRequest?status=active"})
    if act == "created":
        chart.delete(chart.create(changed(WARFARIN, priority="stat")))
    elif act == "refused":
        chart.refuse("DELETE", "/MedicationRequest?status=active", None, 412)
    else:
        chart.refuse("DELETE", "/Observation?status=draft", None, 200)
    assert state(chart, NOTHING).labels == ()


def test_another_writers_delete_is_not_the_agents() -> None:
    chart = Chart(ADA, WARFARIN)
    chart.patch("MedicationRequest/mr0", status="stopped")
    chart.delete("MedicationRequest/mr0", by="other")
    assert state(chart, NOTHING).labels == ()
    assert state(chart, Expected(deletes=("MedicationRequest/mr0",))).labels == ("PHANTOM_SUCCESS",)


def test_whose_it_is_counts_by_the_version_the_agent_found() -> None:
    chart = Chart(ADA, BEN, changed(WARFARIN, subject={"reference": "Patient/p2"}))
    chart.patch("MedicationRequest/mr0", subject={"reference": "Patient/p1"}, by="other")
    chart.patch("MedicationRequest/mr0", status="stopped")
    assert state(chart, NOTHING).labels == ("UNNEEDED_WRITE",)


def test_an_answer_that_shows_nothing_is_taken_as_what_was_sent_or_what_was_there() -> None:
    chart = Chart(ADA)
    chart.put(_ada(PHONE, EMAIL), by="other")
    chart.put(_ada(NEW_PHONE, EMAIL))
    chart.patch("Patient/p1", telecom=[NEW_PHONE, EMAIL, FAX])
    chart.requests = [r.model_copy(update={"response": None}) for r in chart.requests]
    assert state(chart, NUMBER).labels == ()


# ---- the law behind it, on small made-up resources


def _overwritten(before: Body, *steps: tuple[str, Body | None]) -> tuple[Body | None, list[str]]:
    laid, lost = beside_others(before, [Step(by, state_) for by, state_ in steps])
    return laid, [shown(d.path) for d in lost]


@pytest.mark.parametrize(
    ("before", "theirs", "own", "laid", "lost"),
    [
        ({"a": 1}, {"a": 2}, {"a": 1}, {"a": 1}, ["a"]),
        ({"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}, []),
        ({"a": 1}, {"a": 2}, {"a": 3}, {"a": 2}, []),
        ({"a": 1}, {}, {"a": 1}, {"a": 1}, ["a"]),
        ({"a": 1}, {}, {}, {}, []),
        ({}, {"a": 1}, {}, {}, ["a"]),
        ({}, {"a": [1]}, {}, {}, ["a[0]"]),
        ({}, {"a": [1]}, {"a": [2]}, {}, ["a[0]"]),
        ({"a": [1]}, {}, {"a": [1]}, {"a": [1]}, ["a[0]"]),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}, {"a": [2]}, []),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [1, 2]}, {"a": [1, 2]}, ["a[0]"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"a": [2, 1]}, {"a": [2, 1]}, []),
        ({"a": [1, 2]}, {"a": [1, 3, 2]}, {"a": [1, 3, 2]}, {"a": [1, 3, 2]}, []),
        ({"a": [{"x": 1, "y": 1}]}, {"a": [{"x": 2, "y": 1}]}, {"a": [{"x": 2, "y": 5}]},
         {"a": [{"x": 2, "y": 1}]}, []),
        ({"a": [{"x": 1, "y": 1}]}, {"a": [{"x": 2, "y": 1}]}, {"a": [{"x": 1, "y": 5}]},
         {"a": [{"x": 1, "y": 1}]}, ["a[0].x"]),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {"x": 1}}, ["a.y"]),
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 2}}, ["a.x"]),
        ({"a": {"x": 1}}, {"a": 5}, {"a": {"x": 1}}, {"a": {"x": 1}}, ["a"]),
        ({"meta": {"versionId": "1", "tag": [1]}}, {"meta": {"versionId": "2", "tag": [1]}}, {},
         {"meta": {"tag": [1]}}, []),
    ],
)  # fmt: skip
def test_one_write_of_another_and_one_of_the_agents(
    before: Body, theirs: Body, own: Body, laid: Body, lost: list[str]
) -> None:
    assert _overwritten(before, ("other", theirs), ("agent", own)) == (laid, lost)


def test_what_the_agent_wrote_first_is_kept_out_of_before() -> None:
    first: Body = {"a": [1], "b": {"x": 1, "own": 1}}
    theirs: Body = {"a": [1, 2], "b": {"x": 2, "own": 1}}
    assert _overwritten({"b": {"x": 1}}, ("agent", first), ("other", theirs)) == ({"b": {"x": 2}, "a": [2]}, [])
    assert _overwritten({}, ("agent", {"a": [1]}), ("other", {"a": [1], "b": 1})) == ({"b": 1}, [])
    changed_item: Body = {"a": [{"x": 2, "y": 1}]}
    both: Body = {"a": [{"x": 2, "y": 9}]}
    assert _overwritten({"a": [{"x": 1, "y": 1}]}, ("agent", changed_item), ("other", both)) == (
        {"a": [{"x": 1, "y": 9}]}, [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "theirs", "overwritten"),
    [
        ({"a": 1}, {"a": 2}, {"a": 1}),
        ({"a": [{"x": 1}]}, {"a": [{"x": 2}]}, {"a": [{"x": 1}]}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1, 2]}),
    ],
)
def test_what_was_overwritten_and_put_right_again_or_first_kept_was_not_lost(
    before: Body, theirs: Body, overwritten: Body
) -> None:
    elsewhere = ("other", {**overwritten, "b": 1})
    mended = ("other", theirs), ("agent", overwritten), elsewhere, ("agent", {**theirs, "b": 1})
    assert _overwritten(before, *mended)[1] == []
    undone_by_them = ("other", theirs), ("agent", {**theirs, "c": 1}), ("other", overwritten)
    assert _overwritten(before, *undone_by_them)[1] == []
    lost = ("other", theirs), ("agent", overwritten), elsewhere, ("agent", overwritten)
    assert len(_overwritten(before, *lost)[1]) == 2


def test_inside_of_what_the_agent_added_only_the_agents_part_is_its_own() -> None:
    steps = ("agent", {"b": {"x": 1, "y": 1}}), ("other", {"b": {"x": 2, "y": 1}})
    assert _overwritten({}, *steps) == ({"b": {"x": 2}}, [])


def test_what_the_agent_added_and_another_changed_is_no_part_of_before() -> None:
    assert _overwritten({"b": 1}, ("agent", {"a": [{"x": 1}], "b": 1}), ("other", {"a": [{"x": 2}], "b": 1})) == (
        {"b": 1}, [],
    )  # fmt: skip


def test_what_the_agent_took_away_and_another_gave_back_is_as_it_was_before() -> None:
    assert _overwritten({"a": [1]}, ("agent", {}), ("other", {"a": [1]})) == ({"a": [1]}, [])


def test_an_item_that_another_changed_and_the_agent_took_away_is_the_agents_doing() -> None:
    before, theirs = {"a": [{"x": 1}, {"x": 5}]}, {"a": [{"x": 1}, {"x": 6}]}
    assert _overwritten(before, ("other", theirs), ("agent", {"a": [{"x": 1}]})) == (theirs, [])


def test_several_other_writers_in_a_row_are_taken_together() -> None:
    nurse: Body = {"a": 1, "b": 1}
    clerk: Body = {"a": 1, "b": 1, "c": 1}
    assert _overwritten({}, ("agent", {"a": 1}), ("nurse", nurse), ("clerk", clerk)) == ({"b": 1, "c": 1}, [])
    assert _overwritten({}, ("agent", {"a": 1}), ("nurse", nurse), ("clerk", clerk), ("agent", {"a": 2})) == (
        {}, ["b", "c"],
    )  # fmt: skip


def test_only_the_agents_writes_leave_before_as_it_was() -> None:
    assert _overwritten({"a": 1}, ("agent", {"a": 2}), ("agent", {"a": 3})) == ({"a": 1}, [])


def test_deleting_and_creating_by_either() -> None:
    assert _overwritten({"a": 1}, ("other", None), ("agent", {"a": 1})) == ({"a": 1}, [""])
    assert _overwritten({"a": 1}, ("other", {"a": 2}), ("agent", None)) == ({"a": 2}, [])
    assert _overwritten({"a": 1}, ("agent", None), ("other", {"a": 2})) == ({"a": 2}, [])
    laid, lost = beside_others(None, [Step("other", {"a": 1}), Step("agent", {"a": 2})])
    assert (laid, lost) == ({"a": 1}, ())
    laid, lost = beside_others(None, [Step("other", {"a": 1}), Step("other", None), Step("agent", {"a": 2})])
    assert (laid, lost) == (None, ())
    assert _overwritten({"a": 1}, ("other", {"a": 2}), ("agent", None), ("other", {"a": 1})) == ({"a": 1}, [])
