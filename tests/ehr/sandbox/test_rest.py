# ruff: noqa: E501 - one case a line
"""The REST surface of a fork: addresses, headers, conditions, pages."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from ehr.sandbox.http import Request
from ehr.sandbox.record import Record
from ehr.sandbox.rest.call import MOST_PARAMETERS
from tests.ehr.sandbox.talk import ADA, BEN, CLOCK, WARD, Talk

BASE = "http://fhir.hospital.example/fhir"


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    many = [{"resourceType": "Basic", "id": f"b{n:02}", "created": f"2020-01-{n + 1:02}"} for n in range(25)]
    with Record.build([*WARD, *many], clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork())


# ---- addresses

NOWHERE: list[tuple[str, str, int, str]] = [
    ("GET", "/", 400, "HAPI-0287: "),
    ("PUT", "/", 400, "HAPI-0287: "),
    ("GET", "/Foo/1", 404, "HAPI-0302: Unknown resource type 'Foo'"),
    ("GET", "/patient/ada", 404, "HAPI-0302: "),
    ("GET", "/Patient/none", 404, "HAPI-2001: Resource Patient/none is not known"),
    ("GET", "/Patient/ada/_history/9", 404, "HAPI-0979: "),
    ("GET", "/Patient/ada/_history/x", 404, "HAPI-0978: "),
    ("GET", "/Patient/ada/Observation", 400, "Invalid request: The FHIR endpoint on this server does not know how to handle GET operation[Patient/ada/Observation]"),
    ("GET", "/Patient/ada/$nope", 400, "Invalid request: "),
    ("POST", "/Patient/ada", 400, "HAPI-0365: "),
    ("DELETE", "/Patient", 400, "HAPI-0967: "),
    ("POST", "/metadata", 405, "HAPI-0388: "),
    ("GET", "?_getpages=11111111-2222-3333-4444-555555555555", 410, "HAPI-0417: "),
    ("GET", "/Patient?nope=1", 400, 'HAPI-0524: Unknown search parameter "nope"'),
    ("GET", "/Patient?_count=abc", 400, "HAPI-0375: Invalid _count value: abc"),
    ("PUT", "/Patient/_search", 400, "Invalid request: "),
    ("OPTIONS", "/Patient/ada", 400, "Invalid request: "),
    ("GET", "/Patient/ada?foo=1", 400, "Invalid request: The FHIR endpoint on this server does not know how to handle GET operation[Patient/ada] with parameters [[foo]]"),
    ("GET", "/Patient/ada?_count=1", 400, "HAPI-0384: "),
    ("GET", "/Patient?_summary=true&_elements=name", 400, "HAPI-0304: "),
    ("GET", "/Patient?_offset=x", 400, "HAPI-0461: "),
    ("DELETE", "/Patient?_nope=1", 400, "HAPI-0518: "),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status", "words"), NOWHERE)
def test_an_address_that_means_nothing_is_refused(talk: Talk, method: str, path: str, status: int, words: str) -> None:
    said = talk.send(method, path)
    assert said.status == status and said.diagnostics.startswith(words)
    assert said.body["issue"][0]["severity"] == "error"
    assert said.headers["Content-Type"] == "application/fhir+json;charset=UTF-8"


@pytest.mark.parametrize("path", ["/Patient/ada", "//Patient/ada", "/Patient/ada/", "/Patient/ada?_format=json"])
def test_slashes_too_many_and_formats_are_no_matter(talk: Talk, path: str) -> None:
    assert talk.get(path).body["id"] == "ada"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/Patient?name=" + "a" * 9000, 400), ("GET", "/Patient?name=[a]", 400), ("GET", "/Patient?name=ü", 400),
     ("TRACE", "/Patient", 405), ("FOO", "/Patient", 501)],
)  # fmt: skip
def test_what_never_reaches_fhir_is_answered_with_a_page(talk: Talk, method: str, path: str, status: int) -> None:
    said = talk.send(method, path)
    assert (said.status, said.headers["Content-Type"]) == (status, "text/html;charset=utf-8")


# ---- headers


def test_a_create_says_where_it_is(talk: Talk) -> None:
    said = talk.post("/Patient", {"resourceType": "Patient"})
    place = f"{BASE}/Patient/1000/_history/1"
    assert said.status == 201
    assert {k: said.headers[k] for k in ("Location", "Content-Location", "ETag", "Last-Modified")} == {
        "Location": place,
        "Content-Location": place,
        "ETag": 'W/"1"',
        "Last-Modified": "Thu, 15 Jan 2026 10:15:00 GMT",
    }


@pytest.mark.parametrize(
    ("prefer", "shown"),
    [("return=minimal", None), ("return=OperationOutcome", "OperationOutcome"), ("return=representation", "Patient"),
     ("return=foo", "Patient"), ("", "Patient")],
)  # fmt: skip
def test_prefer_chooses_the_body(talk: Talk, prefer: str, shown: str | None) -> None:
    said = talk.post("/Patient", {"resourceType": "Patient"}, Prefer=prefer)
    assert (said.body and said.body["resourceType"]) == shown
    assert ("Content-Type" in said.headers) == (shown is not None)


def test_content_type_is_needed_and_json(talk: Talk) -> None:
    body = b'{"resourceType":"Patient"}'
    for kind, number in [("", "0448"), ("text/plain", "0449"), ("application/x-www-form-urlencoded", "0446")]:
        response = talk.fork.handle(Request("POST", "/Patient", {"Content-Type": kind} if kind else {}, body))
        assert response.status == 400 and f"HAPI-{number}" in response.body.decode()
    for kind in ("application/json", "application/fhir+json; charset=utf-8"):
        assert talk.fork.handle(Request("POST", "/Patient", {"content-type": kind}, body)).status == 201


def test_what_the_client_has_is_not_sent_again(talk: Talk) -> None:
    assert talk.get("/Patient/ada", If_None_Match='W/"1"').status == 304
    assert talk.get("/Patient/ada", If_None_Match='W/"2"').status == 200
    assert talk.get("/Patient/ada", If_Modified_Since="Sun, 29 Nov 2099 22:15:28 GMT").raw == b""
    assert talk.get("/Patient/ada", If_Modified_Since="Sun, 29 Nov 1999 22:15:28 GMT").status == 200
    assert talk.get("/Patient/ada", If_Modified_Since="yesterday").status == 200


def test_head_is_get_without_its_body(talk: Talk) -> None:
    said = talk.send("HEAD", "/Patient/ada")
    assert (said.status, said.headers["ETag"], said.raw) == (200, 'W/"1"', b"")


def test_answers_are_compressed_and_dense_only_when_asked(talk: Talk) -> None:
    plain = talk.get("/Patient/ada").raw
    assert plain.startswith(b'{\n  "resourceType": "Patient",\n  "id": "ada"')
    assert b'"name": [ {\n    "family": "Okafor",\n    "given": [ "Ada" ]\n  } ]' in plain
    packed = talk.get("/Patient/ada", Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.raw) == plain
    dense = talk.get("/Patient/ada?_pretty=false").raw
    assert dense.startswith(b'{"resourceType":"Patient","id":"ada"') and json.loads(dense) == json.loads(plain)
    assert talk.fork.requests[1].response == plain, "the log keeps answers as they read"


def test_a_browser_of_another_origin_is_let_in(talk: Talk) -> None:
    asked = {"Origin": "http://x", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "accept"}
    said = talk.send("OPTIONS", "/Patient", None, asked)
    assert (said.status, said.headers["Access-Control-Allow-Origin"]) == (200, "http://x")
    assert talk.get("/Patient/ada", Origin="http://x").headers["Access-Control-Allow-Origin"] == "http://x"


def test_a_binary_holds_what_was_sent_and_gives_it_back(talk: Talk) -> None:
    made = talk.send("POST", "/Binary", b"hi \xff", {"Content-Type": "text/plain"}).body
    assert (made["contentType"], made["data"]) == ("text/plain", "aGkg/w==")
    said = talk.get(f"/Binary/{made['id']}")
    assert (said.headers["Content-Type"], said.raw) == ("text/plain", b"hi \xff")
    assert talk.get(f"/Binary/{made['id']}", Accept="application/fhir+json").body["data"] == "aGkg/w=="


# ---- conditions


def test_if_match_guards_put_and_patch_and_nothing_guards_delete(talk: Talk) -> None:
    talk.put("/Patient/ada", ADA | {"active": True})
    assert talk.put("/Patient/ada", ADA, If_Match='W/"1"').status == 409
    assert (
        talk.send("PATCH", "/Patient/ada", [], {"Content-Type": "application/json-patch+json", "If-Match": "1"}).status
        == 409
    )
    assert talk.put("/Patient/ada", ADA, If_Match='"2"').status == 200
    assert talk.send("DELETE", "/Patient/ben", None, {"If-Match": 'W/"9"'}).status == 200


MRN = "identifier=http://hospital.example/mrn|S17"


def test_a_conditional_create_makes_one_only_where_none_is(talk: Talk) -> None:
    body = {k: v for k, v in ADA.items() if k != "id"}
    said = talk.post("/Patient", body, If_None_Exist=MRN)
    assert (said.status, said.body["id"]) == (200, "ada")
    assert talk.post("/Patient", body).status == 201
    assert talk.post("/Patient", body, If_None_Exist=MRN).status == 412
    other = body | {"identifier": [{"system": "http://hospital.example/mrn", "value": "S18"}]}
    assert talk.post("/Patient", other, If_None_Exist=MRN.replace("S17", "S18")).status == 201
    assert talk.post("/Patient", body, If_None_Exist=MRN.replace("S17", "S19")).diagnostics.startswith("HAPI-0929: ")


def test_a_conditional_update_finds_or_makes_its_resource(talk: Talk) -> None:
    body = {k: v for k, v in ADA.items() if k != "id"} | {"active": True}
    said = talk.put(f"/Patient?{MRN}", body)
    assert (said.status, said.body["id"], said.body["meta"]["versionId"]) == (200, "ada", "2")
    new = body | {"identifier": [{"system": "http://hospital.example/mrn", "value": "S18"}], "id": "mine"}
    said = talk.put("/Patient?identifier=http://hospital.example/mrn%7CS18", new)
    assert (said.status, said.body["id"]) == (201, "1000")


def test_a_conditional_delete_takes_one_or_none(talk: Talk) -> None:
    assert talk.delete("/Patient?family=nobody").body["issue"][0]["code"] == "not-found"
    assert talk.delete("/Patient?family=Lindqvist").body["issue"][0]["severity"] == "information"
    assert talk.delete("/Basic?created=gt2019").status == 412
    assert [c.reference for c in talk.fork.changes()] == ["Patient/ben"]


def test_a_conditional_reference_is_resolved_and_a_version_taken_off(talk: Talk) -> None:
    body: dict[str, Any] = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}}
    for text in (f"Patient?{MRN}", "Patient/ada/_history/4", "/Patient/ada"):
        said = talk.post("/Observation", body | {"subject": {"reference": text}})
        assert said.body["subject"] == {"reference": "Patient/ada"}


WRONG_REFERENCES = [
    ("Patient/none", 400, "HAPI-1094: Resource Patient/none not found, specified in path: Observation.subject"),
    ("Practitioner/none", 422, "HAPI-0931: Invalid reference found at path 'Observation.subject'. Resource type 'Practitioner' is not valid for this path"),
    ("Foo/1", 422, "HAPI-0931: Invalid reference found at path 'Observation.subject'. Resource type 'Foo' is not valid for this path"),
    ("ada", 400, "HAPI-0505: Invalid resource reference found at path[Observation.subject] - Does not contain resource type - ada"),
    ("Patient/", 400, "HAPI-0508: Invalid resource reference found at path[Observation.subject] - Does not contain resource ID - Patient/"),
    ("urn:uuid:0dbd1b4f-9c0a-4b6f-8a3b-0d1b2c3d4e5f", 400, "HAPI-0505: Invalid resource reference found at path[Observation.subject] - Does not contain resource type - urn:uuid:0dbd1b4f-9c0a-4b6f-8a3b-0d1b2c3d4e5f"),
    (f"{BASE}/Patient/ada", 400, f'HAPI-0507: Resource contains external reference to URL "{BASE}/Patient/ada" but this server is not configured to allow external references'),
    ("Patient?identifier=none", 404, 'HAPI-1091: Invalid match URL "Patient?identifier=none" - No resources match this search'),
    ("Patient?nope=1", 400, "HAPI-0488: Failed to parse match URL[Patient?nope=1] - Resource type Patient does not have a parameter with name: nope"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "status", "words"), WRONG_REFERENCES)
def test_a_reference_that_names_nothing_here_is_refused(talk: Talk, text: str, status: int, words: str) -> None:
    body = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": {"reference": text}}
    said = talk.post("/Observation", body)
    assert (said.status, said.diagnostics) == (status, words)
    assert talk.fork.changes() == []


@pytest.mark.parametrize("reference", [{"reference": "#p"}, {"display": "x"}, {"identifier": {"value": "x"}}])
def test_a_reference_to_nobody_is_accepted(talk: Talk, reference: Any) -> None:
    body = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": reference}
    assert talk.post("/Observation", body).body["subject"] == reference


def test_the_type_of_a_reference_is_checked_wherever_it_stands_but_in_a_choice(talk: Talk) -> None:
    contact = {"resourceType": "Patient", "contact": [{"organization": {"reference": "Patient/ada"}}]}
    assert talk.post("/Patient", contact).status == 422
    order = {"resourceType": "MedicationRequest", "medicationReference": {"reference": "Patient/ada"}}
    assert talk.post("/MedicationRequest", order).status == 201
    order["medicationReference"] = {"reference": "Medication/none"}
    said = (
        "HAPI-1094: Resource Medication/none not found, specified in path: (MedicationRequest.medication as Reference)"
    )
    assert talk.post("/MedicationRequest", order).diagnostics == said


def test_a_reference_without_a_search_parameter_may_point_anywhere(talk: Talk) -> None:
    body = {"resourceType": "Patient", "contact": [{"organization": {"reference": "http://x/Organization/none"}}]}
    assert talk.post("/Patient", body).status == 201


def test_what_others_refer_to_cannot_be_deleted(talk: Talk) -> None:
    said = talk.delete("/Patient/ada")
    assert said.status == 409 and "Observation/k1 in path Observation.subject" in said.diagnostics
    assert talk.delete("/Observation/k1").status == 200
    assert talk.delete("/Patient/ada").status == 200
    assert talk.get("/Patient/ada").diagnostics == "Resource was deleted at 2026-01-15T10:15:00.002+00:00"


# ---- tags


def test_tags_stay_and_profiles_are_replaced(talk: Talk) -> None:
    meta = {"tag": [{"system": "http://t", "code": "a"}], "profile": ["http://p"], "source": "http://s"}
    made = talk.post("/Patient", {"resourceType": "Patient", "meta": meta}).body
    assert made["meta"]["source"] == "http://s" and "source" not in talk.get(f"/Patient/{made['id']}").body["meta"]
    body = {"resourceType": "Patient", "id": made["id"], "meta": {"tag": [{"system": "http://t", "code": "b"}]}}
    meta = talk.put(f"/Patient/{made['id']}", body).body["meta"]
    assert meta["tag"] == [{"system": "http://t", "code": "a"}, {"system": "http://t", "code": "b"}]
    assert "profile" not in meta


# ---- pages


def follow(talk: Talk, link: str) -> Any:
    assert link.startswith(BASE)
    return talk.get(link.removeprefix(BASE)).body


def test_pages_run_over_a_fixed_list(talk: Talk) -> None:
    first = talk.get("/Basic?_sort=created&_count=10").body
    assert [link["relation"] for link in first["link"]] == ["self", "next"]
    talk.delete("/Basic/b10")
    talk.post("/Basic", {"resourceType": "Basic", "created": "2019-01-01"})
    talk.put("/Basic/b11", {"resourceType": "Basic", "id": "b11", "created": "2030-01-01"})
    second = follow(talk, first["link"][1]["url"])
    assert [e["resource"]["id"] for e in second["entry"]] == [f"b{n}" for n in range(11, 20)]
    assert second["entry"][0]["resource"]["created"] == "2030-01-01", "contents are read anew"
    third = follow(talk, next(link["url"] for link in second["link"] if link["relation"] == "next"))
    assert [e["resource"]["id"] for e in third["entry"]] == [f"b{n}" for n in range(20, 25)]
    assert [link["relation"] for link in third["link"]] == ["self", "previous"]
    assert first["total"] == second["total"] == third["total"] == 25


def test_twenty_is_a_page_and_a_count_of_none_is_a_number_only(talk: Talk) -> None:
    assert len(talk.get("/Basic").body["entry"]) == 20
    counted = talk.get("/Basic?_count=0").body
    assert counted["total"] == 25 and "entry" not in counted and "link" not in counted
    assert talk.get("/Basic?_summary=count").body["total"] == 25
    assert "entry" not in talk.get("/Basic?_count=-1").body


def test_as_many_results_as_asked_for_and_no_more(talk: Talk) -> None:
    said = talk.get("/Basic", Cache_Control="no-store, max-results=2").body
    assert len(said["entry"]) == 2 and "total" not in said and len(said["link"]) == 1
    assert talk.get("/Basic", Cache_Control="no-store, max-results=1001").diagnostics.startswith("HAPI-1165: ")


def test_what_a_page_refers_to_comes_with_each_page_and_does_not_count(talk: Talk) -> None:
    for _ in range(3):
        talk.post("/Observation", {"resourceType": "Observation", "subject": {"reference": "Patient/ben"}})
    page = talk.get("/Observation?_count=2&_sort=_id&_include=Observation:subject").body
    modes = [(e["resource"]["id"], e["search"]["mode"]) for e in page["entry"]]
    assert modes == [("1000", "match"), ("1001", "match"), ("ben", "include")]
    assert page["total"] == 4 and "_include=Observation%3Asubject" in page["link"][1]["url"]
    page = follow(talk, page["link"][1]["url"])
    modes = [(e["resource"]["id"], e["search"]["mode"]) for e in page["entry"]]
    assert modes[:2] == [("1002", "match"), ("k1", "match")]
    assert sorted(modes[2:]) == [("ada", "include"), ("ben", "include")]


def test_an_offset_pages_through_what_stands_now(talk: Talk) -> None:
    page = talk.get("/Basic?_sort=created&_count=10&_offset=10").body
    assert [e["resource"]["id"] for e in page["entry"]] == [f"b{n}" for n in range(10, 20)]
    assert {link["relation"] for link in page["link"]} == {"self", "next", "previous"}


def test_a_page_minds_no_strange_count(talk: Talk) -> None:
    first = talk.get("/Basic?_count=10").body
    said = talk.get(f"?_getpages={first['id']}&_getpagesoffset=x&_count=y").body
    assert len(said["entry"]) == 20 and said["total"] == 25


def test_the_self_link_has_the_parameters_sorted_and_encoded(talk: Talk) -> None:
    link = talk.get("/Patient?name=a&identifier=http://x|1&_count=5").body["link"][0]
    assert link == {"relation": "self", "url": f"{BASE}/Patient?_count=5&identifier=http%3A%2F%2Fx%7C1&name=a"}


def test_a_search_may_be_posted(talk: Talk) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    said = talk.send("POST", "/Patient/_search?active=true", b"family=Lindqvist", form)
    assert [e["resource"]["id"] for e in said.body["entry"]] == ["ben"]
    assert said.body["link"][0]["url"] == f"{BASE}/Patient/_search"


def test_parameters_are_bounded(talk: Talk) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    most = "&".join(["family=Lindqvist"] * MOST_PARAMETERS).encode()
    assert talk.send("POST", "/Patient/_search", most, form).status == 200
    said = talk.send("POST", "/Patient/_search", most + b"&family=Lindqvist", form)
    assert (said.status, said.diagnostics) == (400, "A request may have 2000 parameters, this one has more")


# ---- history


def test_history_shows_every_version_newest_first(talk: Talk) -> None:
    talk.put("/Patient/ben", BEN | {"gender": "male"})
    talk.delete("/Patient/ben")
    talk.put("/Patient/ben", BEN)
    history = talk.get("/Patient/ben/_history").body
    assert history["total"] == 4
    shown = [(e["request"]["method"], e["request"]["url"], e["response"]["status"]) for e in history["entry"]]
    assert shown == [
        ("PUT", "Patient/ben/_history/4", "200 OK"),
        ("DELETE", "Patient/ben/_history/3", "200 OK"),
        ("PUT", "Patient/ben/_history/2", "200 OK"),
        ("POST", "Patient/ben/_history/1", "201 Created"),
    ]
    assert talk.get("/Patient/ben/_history/2").body["gender"] == "male"
    assert talk.get("/Patient/ben/_history/3").status == 410


def test_history_of_a_type_goes_on_into_the_record(talk: Talk) -> None:
    made = talk.post("/Basic", {"resourceType": "Basic"}).body["id"]
    page = talk.get("/Basic/_history?_count=10").body
    assert (page["total"], len(page["entry"]), page["entry"][0]["resource"]["id"]) == (26, 10, made)
    seen = [e["resource"]["id"] for e in page["entry"]]
    while any(link["relation"] == "next" for link in page["link"]):
        page = follow(talk, next(link["url"] for link in page["link"] if link["relation"] == "next"))
        seen += [e["resource"]["id"] for e in page["entry"]]
    assert sorted(seen) == sorted([made, *(f"b{n:02}" for n in range(25))])


def test_at_gives_the_versions_that_stood_then(talk: Talk) -> None:
    for gender in ("male", "female"):
        talk.put("/Patient/ben", BEN | {"gender": gender})
    urls = [e["request"]["url"] for e in talk.get("/Patient/ben/_history?_at=gt2100").body["entry"]]
    assert urls == ["Patient/ben/_history/3"]
    assert len(talk.get("/Patient/ben/_history?_at=2026-01-15").body["entry"]) == 3
    assert talk.get("/Patient/ben/_history?_at=zz").diagnostics == 'HAPI-1940: Invalid date/time/quantity format: "zz"'


def test_history_minds_no_strange_count_and_counts_only_when_asked_to(talk: Talk) -> None:
    assert len(talk.get("/Patient/ben/_history?_count=abc").body["entry"]) == 1
    counted = talk.get("/Patient/ben/_history?_count=0").body
    assert counted["total"] == 1 and "entry" not in counted and "link" not in counted
    assert talk.get("/Patient/ben/_history?_since=2020-01-01T10:00Z").diagnostics.startswith("HAPI-1885: ")


def test_history_of_all_has_every_write_and_since_is_inclusive(talk: Talk) -> None:
    talk.put("/Patient/ben", BEN | {"gender": "male"})
    second = talk.post("/Basic", {"resourceType": "Basic"}).body["meta"]["lastUpdated"]
    assert talk.get("/_history").body["total"] == 3 + 25 + 2
    since = talk.get(f"/_history?_since={second.replace('+', '%2B')}").body
    assert [e["request"]["url"] for e in since["entry"]] == ["Basic/1000/_history/1"] and "total" not in since
    assert talk.get("/_history?_since=2026-01-15").diagnostics.startswith("HAPI-1885: ")
    assert talk.get("/_history?_since=yesterday").diagnostics == 'HAPI-1882: Invalid date/time format: "yesterday"'
