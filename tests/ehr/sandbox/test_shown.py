"""`_summary` and `_elements` on every answer that shows resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox.record import Record
from ehr.sandbox.searching.subsetting import SUBSETTED
from tests.ehr.sandbox.talk import BEN, CLOCK, WARD, Talk

WHOLE, GENDER = ["active", "gender", "maritalStatus", "name"], ["gender"]
EVE: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "eve",
    "active": True,
    "name": [{"family": "Eve"}],
    "gender": "female",
    "maritalStatus": {"text": "m"},
}
SEEN = {"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}}


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    seen = [SEEN | {"id": f"o{n}", "subject": {"reference": "Patient/eve"}} for n in range(3)]
    with Record.build([*WARD, EVE, *seen], clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork())


def keys(tree: Any) -> list[str]:
    """What is shown of a resource; whether it is marked as a part must agree."""
    shown = sorted(key for key in tree if key not in ("resourceType", "id", "meta"))
    assert (SUBSETTED in tree["meta"].get("tag", [])) == (shown != WHOLE)
    return shown


@pytest.mark.parametrize(
    "path", ["/Patient/eve?", "/Patient/eve/_history/1?", "/Patient/eve/_history?", "/Patient?_id=eve&", "/_history?"]
)
def test_every_read_shows_the_elements_that_are_asked_for(talk: Talk, path: str) -> None:
    def eve_of(asked: str) -> list[str]:
        body = talk.get(path + asked).body
        found = [entry["resource"] for entry in body["entry"]] if body["resourceType"] == "Bundle" else [body]
        return keys(next(resource for resource in found if resource["id"] == "eve"))

    assert eve_of("_elements=gender") == GENDER
    assert eve_of("_elements=Patient.gender") == GENDER
    assert eve_of("_summary=TRUE") == ["active", "gender", "name"]
    assert eve_of("_summary=data,true") == ["active", "gender", "name"]
    assert eve_of("_summary=text") == []
    assert eve_of("_summary=nope&_elements=gender") == GENDER
    assert eve_of("_summary=false") == eve_of("_elements=") == WHOLE


def test_a_write_answers_with_what_is_asked_for_and_stores_all(talk: Talk) -> None:
    sent = EVE | {"gender": "other"}
    assert keys(talk.put("/Patient/eve?_elements=gender", sent).body) == GENDER
    assert keys(talk.post("/Patient?_summary=true", {**sent, "id": None}).body) == ["active", "gender", "name"]
    assert keys(talk.get("/Patient/eve").body) == WHOLE


def test_what_cannot_be_combined_is_refused_before_anything_is_written(talk: Talk) -> None:
    for path in ("/Patient?_summary=text,true", "/Patient?_summary=text&_summary=data"):
        assert talk.post(path, BEN).diagnostics.startswith("HAPI-0380: ")
    for path in ("/Patient?_summary=count&_elements=id", "/Patient?_summary=data&_elements=id"):
        assert talk.post(path, BEN).diagnostics.startswith("HAPI-0304: ")
    assert talk.fork.changes() == []


def test_what_is_sent_along_is_whole_unless_its_type_is_named(talk: Talk) -> None:
    search = "/Observation?_id=o1&_include=Observation:subject&"

    seen, eve = talk.get(search + "_elements=status").body["entry"]
    assert "code" not in seen["resource"] and keys(eve["resource"]) == WHOLE
    seen, eve = talk.get(search + "_elements=Patient.gender").body["entry"]
    assert "code" in seen["resource"] and keys(eve["resource"]) == GENDER


def test_elements_are_kept_from_page_to_page(talk: Talk) -> None:
    page = talk.get("/Patient/eve/$everything?_elements=gender&_count=1").body
    assert keys(page["entry"][0]["resource"]) == GENDER
    following = next(link["url"] for link in page["link"] if link["relation"] == "next")
    seen = talk.get(following[following.index("?") :]).body["entry"][0]["resource"]
    assert seen["status"] == "final" and "tag" not in seen["meta"]
    page = talk.get("/Observation?_elements=code&_count=2").body
    following = next(link["url"] for link in page["link"] if link["relation"] == "next")
    assert "status" not in talk.get(following[following.index("?") :]).body["entry"][0]["resource"]


def test_a_bundle_is_marked_where_its_resources_are_in_summary(talk: Talk) -> None:
    marked = {asked: talk.get(f"/Patient?_summary={asked}").body["meta"].get("tag") for asked in ("true", "data")}
    assert marked == {"true": [SUBSETTED], "data": [SUBSETTED]}
    for asked in ("_summary=text", "_elements=gender"):
        assert "tag" not in talk.get(f"/Patient?{asked}").body["meta"]
    counted = talk.get("/Patient/_history?_summary=count").body
    assert counted["total"] == 3 and "entry" not in counted and counted["meta"]["tag"] == [SUBSETTED]


def test_the_capability_statement_is_cut_too(talk: Talk) -> None:
    assert list(talk.get("/metadata?_elements=name").body) == ["resourceType", "id", "meta", "name"]
    assert "text" not in talk.get("/metadata?_summary=true").body


def test_what_says_not_when_it_was_written_was_written_at_the_clock_of_who_brought_it(record: Record) -> None:
    later = "2026-02-01T00:00:00+00:00"
    talk = Talk(record.fork([BEN | {"id": "new"}], clock=later))
    for id, at in (("eve", "2026-01-15T10:15:00.000+00:00"), ("new", "2026-02-01T00:00:00.000+00:00")):
        assert talk.get(f"/Patient/{id}").body["meta"]["lastUpdated"] == at
        found = talk.ids(f"/Patient?_id={id}&_lastUpdated=ge2026-02-01T00:00:00Z")
        assert found == ([id] if id == "new" else [])
    recent = talk.get("/Patient/_history?_since=2026-02-01T00:00:00Z").body["entry"]
    assert [entry["resource"]["id"] for entry in recent] == ["new"]
