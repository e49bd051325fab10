"""Rule 7: an update may change only what it may, and everything below; anything else is a collateral change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.sandbox import Record, Request
from ehr.verify import Expected, Update
from ehr.verify.difference import differences, parse
from tests.ehr.verify.build import ADA, CLOCK, Body, Chart, amount, changed, finding, potassium, state

WEIGHT = changed(
    potassium(),
    id="o1",
    valueQuantity=amount(72.5, "kg"),
    interpretation=[{"text": "high"}, {"text": "checked"}],
    note=[{"text": "a", "authorString": "A"}],
    component=[{"code": {"text": "x"}, "valueQuantity": amount(1, "kg")}],
    contained=[{"resourceType": "Practitioner", "id": "d", "name": [{"family": "L"}], "meta": {"versionId": "1"}}],
    meta={"versionId": "1", "lastUpdated": "2026-01-01T00:00:00Z", "tag": [{"code": "t"}]},
    extension=[{"url": "http://e.example/a", "valueDecimal": 1.5}],
    _status={"extension": [{"url": "http://e.example/s", "valueString": "x"}]},
    issued="2026-01-15T09:00:00Z",
)


def _labels(after: Body | str, *may_change: str, before: Body = WEIGHT) -> tuple[str, ...]:
    chart = Chart(before)
    chart.put(after)
    expected = Expected(updates=(Update(reference=f"{before['resourceType']}/{before['id']}", may_change=may_change),))
    return state(chart, expected).labels


@pytest.mark.parametrize(
    ("elements", "may_change"),
    [
        ({"status": "amended"}, "status"),
        ({"valueQuantity": amount(73, "kg")}, "value"),  # a choice by its stem
        ({"valueQuantity": None, "valueString": "73 kg"}, "value"),
        ({"valueQuantity": None}, "value"),
        ({"valueQuantity": {**amount(72.5, "kg"), "comparator": "<"}}, "value"),
        ({"valueQuantity": {**amount(73, "kg")}}, "value.value"),
        ({"component": [{"code": {"text": "x"}, "valueQuantity": amount(2, "kg")}]}, "component.value"),
        ({"component": [{"code": {"text": "x"}, "valueString": "2"}]}, "component.value"),
        ({"component": [*WEIGHT["component"], {"code": {"text": "y"}}]}, "component"),
        ({"note": [{"text": "b", "authorString": "A"}]}, "note.text"),
        ({"note": [{"text": "a", "authorReference": {"reference": "#d"}}]}, "note.author"),
        ({"note": None}, "note"),
        ({"bodySite": {"text": "arm", "coding": [{"code": "1"}]}}, "bodySite"),
        ({"bodySite": {"text": "arm"}}, "bodySite.text"),  # nothing else is in it
        ({"referenceRange": [{"text": "60-80"}]}, "referenceRange.text"),
        ({"interpretation": list(reversed(WEIGHT["interpretation"]))}, "interpretation"),
        ({"_status": {"extension": [{"url": "http://e.example/s", "valueString": "y"}]}}, "status"),
        ({"_status": None}, "status"),
        ({"_issued": {"extension": [{"url": "http://e.example/s"}]}}, "issued.extension"),
        ({"extension": None}, "extension"),
        ({"meta": {"tag": []}}, "meta.tag"),
        ({"contained": None}, "contained"),
        ({"contained": [{"resourceType": "Practitioner", "id": "d"}]}, "contained"),
    ],
)
def test_what_it_may_change_it_may_and_everything_below(elements: Body, may_change: str) -> None:
    assert _labels(changed(WEIGHT, **elements), may_change) == ()
    assert _labels(changed(WEIGHT, **elements), "dataAbsentReason") == ("COLLATERAL_CHANGE",)
    assert _labels(changed(WEIGHT, **elements)) == ("COLLATERAL_CHANGE",)


@pytest.mark.parametrize(
    ("elements", "may_change"),
    [
        ({"component": [{"code": {"text": "y"}, "valueQuantity": amount(1, "kg")}]}, "component.value"),
        ({"component": [*WEIGHT["component"], {"code": {"text": "y"}}]}, "component.value"),
        ({"component": None}, "component.value"),
        ({"component": [*WEIGHT["component"], {}]}, "component.value"),
        ({"valueQuantity": {**amount(72.5, "kg"), "comparator": "<"}}, "value.value"),
        ({"note": [{"text": "b", "authorString": "B"}]}, "note.text"),
        ({"bodySite": {"text": "arm", "coding": [{"code": "1"}]}}, "bodySite.text"),
        ({"status": "amended", "valueQuantity": amount(73, "kg")}, "value"),
        ({"valueQuantity": None, "dataAbsentReason": {"text": "x"}}, "value"),
        ({"statusReason": "x"}, "status"),
        ({"meta": {"tag": [{"code": "u"}]}}, "meta.profile"),
        ({"extension": []}, "modifierExtension"),
    ],
)
def test_what_stands_beside_it_it_may_not(elements: Body, may_change: str) -> None:
    assert _labels(changed(WEIGHT, **elements), may_change) == ("COLLATERAL_CHANGE",)


def test_what_a_careless_put_drops_is_a_collateral_change() -> None:
    number = [{"system": "phone", "value": "555-0303", "use": "home"}]
    assert _labels(changed(ADA, telecom=number), "telecom", before=ADA) == ()
    assert _labels(changed(ADA, telecom=number, address=None), "telecom", before=ADA) == ("COLLATERAL_CHANGE",)


@pytest.mark.parametrize(
    ("elements", "differs"),
    [
        ({"issued": "2026-01-15T10:00:00+01:00"}, False),  # equal instants
        ({"issued": "2026-01-15T09:00:00.000Z"}, False),
        ({"issued": "2026-01-15T09:00:01Z"}, True),
        ({"issued": "2026-01-15"}, True),
        ({"effectiveDateTime": "2026-01-15T10:15:00"}, True),  # without a zone it is no instant
        ({"meta": {**WEIGHT["meta"], "versionId": "9", "lastUpdated": "2027-01-01T00:00:00Z"}}, False),  # the server's
        ({"meta": {"tag": [{"code": "t"}]}}, False),
        ({"meta": {"tag": [{"code": "t"}, {"code": "u"}]}}, True),
        ({"meta": {"tag": [{"code": "t"}], "profile": ["http://p.example"]}}, True),
        ({"meta": None}, True),
        ({"interpretation": list(reversed(WEIGHT["interpretation"]))}, True),  # the order of a list counts
        ({"text": {"status": "generated", "div": "<div>72.5 kg</div>"}}, True),  # the narrative too
        ({"contained": [{**WEIGHT["contained"][0], "meta": {"versionId": "2"}}]}, True),  # not the resource's own meta
        ({"_issued": {"extension": [{"url": "http://e.example/s", "valueString": "y"}]}}, True),
        ({"extension": [{"url": "http://e.example/a", "valueDecimal": 1.50}]}, False),
        ({"extension": [{"url": "http://e.example/a", "valueDecimal": "1.5"}]}, True),
        ({"extension": [{"url": "http://e.example/a", "valueDecimal": 1.51}]}, True),
        ({"note": [{"text": "a", "authorString": "A", "time": None}]}, True),
        ({"unknown": False}, True),
    ],
)
def test_what_is_a_difference_and_what_is_none(elements: Body, differs: bool) -> None:
    after = changed(WEIGHT, status="amended") | elements
    assert _labels({k: v for k, v in after.items() if v is not None}, "status") == (
        ("COLLATERAL_CHANGE",) if differs else ()
    )


def test_equal_decimals_of_other_length_are_no_difference() -> None:
    body = json.dumps(changed(WEIGHT, status="amended"))
    assert _labels(body.replace("72.5", "72.50"), "status") == ()
    assert _labels(body.replace("72.5", "7.25e1"), "status") == ()
    assert _labels(body.replace("72.5", "72.500000000000000001"), "status") == ("COLLATERAL_CHANGE",)


@pytest.mark.parametrize(("before", "after", "differs"), [(True, 1, True), (False, 0, True), (1, 1.0, False)])
def test_a_boolean_is_no_number(before: Any, after: Any, differs: bool) -> None:
    old = changed(WEIGHT, extension=[{"url": "u", "valueX": before}])
    new = changed(WEIGHT, status="amended", extension=[{"url": "u", "valueX": after}])
    assert _labels(new, "status", before=old) == (("COLLATERAL_CHANGE",) if differs else ())


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ("Patient/p1/_history/3", "Patient/p1", False),  # the server dropped it
        ("Patient/p1/_history/3", "Patient/p2", True),
        ("Patient/p1", "Patient/p1/_history/3", True),  # no server adds one of itself
        ("Patient/p1/_history/3", "Patient/p1/_history/4", True),
    ],
)
def test_a_version_that_the_server_drops_of_a_reference_is_no_difference(
    before: str, after: str, differs: bool
) -> None:
    old = changed(WEIGHT, subject={"reference": before})
    new = changed(WEIGHT, status="amended", subject={"reference": after})
    assert _labels(new, "status", before=old) == (("COLLATERAL_CHANGE",) if differs else ())


def test_who_writes_back_what_an_imported_record_holds_has_changed_nothing_else() -> None:
    """On a real fork: what a server makes of a body that it takes is not the agent's doing."""
    held = changed(
        WEIGHT, contained=None, subject={"reference": "Patient/p1/_history/3"}, note=[], unheard="of", issued=""
    )
    with Record.build([ADA, held], clock=CLOCK, synthetic=True) as record:
        fork = record.fork()
        seen = json.loads(fork.handle(Request("GET", f"/Observation/{held['id']}")).body)
        body = json.dumps(seen | {"status": "amended"}).encode()
        sent = Request("PUT", f"/Observation/{held['id']}", {"Content-Type": "application/fhir+json"}, body)
        assert fork.handle(sent).status == 200
        (change,) = fork.changes()
        assert [str(one) for one in differences(parse(change.before or b""), parse(change.after or b""))] == ["status"]


def test_a_meta_with_nothing_but_the_servers_own_is_the_same_as_none() -> None:
    old = changed(WEIGHT, meta={"versionId": "1"})
    assert _labels(changed(old, meta=None, status="amended"), "status", before=old) == ()
    assert _labels(changed(old, meta={"source": "#x"}, status="amended"), "status", before=old) == (
        "COLLATERAL_CHANGE",
    )


def test_each_stray_difference_is_named_with_its_place() -> None:
    chart = Chart(ADA)
    chart.put(changed(ADA, telecom=None, address=[{"line": ["12 Mill Lane"], "city": "York"}]))
    verdict = state(chart, Expected(updates=(Update(reference="Patient/p1", may_change=("name", "gender")),)))
    told = [(c.actual, c.evidence.path if c.evidence else None) for c in verdict.clauses if c.outcome == "fail"]
    assert told == [("telecom changed", "telecom"), ("address[0].city changed", "address[0].city")]
    assert {c.outcome for c in verdict.clauses if c.name == "updates[0].may_change"} == {"fail"}
    assert finding(verdict, "updates[0].may_change").expected == "changes only in name, gender"


def test_where_it_may_change_nothing_that_is_said() -> None:
    chart = Chart(ADA)
    chart.patch("Patient/p1", gender="female")
    verdict = state(chart, Expected(updates=(Update(reference="Patient/p1", may_change=()),)))
    assert finding(verdict, "updates[0].may_change").expected == "changes only in nothing"
