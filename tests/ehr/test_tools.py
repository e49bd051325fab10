"""The tools: what an agent sees of the server's answers, and what never leaves the house."""

from __future__ import annotations

import json
import socket
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.client import ClientError, FhirClient, ForkAdapter
from ehr.sandbox.http import Request, Response
from ehr.tools import RESULT_LIMIT, ChartTools
from harness.tool import Tool, ToolResult

BASE = "http://fhir.hospital.example/fhir"
FHIR = {"Content-Type": "application/fhir+json;charset=UTF-8"}


class Standing:
    """Gives one answer to everything, and keeps what it was asked."""

    base = BASE

    def __init__(self, status: int = 200, body: bytes = b"{}", headers: dict[str, str] | None = None) -> None:
        self.answer = Response(status, {**FHIR, **(headers or {})}, body)
        self.seen: list[Request] = []

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        self.seen.append(request)
        return self.answer


def tools(server: Standing) -> dict[str, Tool]:
    client = FhirClient(server.base, adapter=ForkAdapter(server))
    return {tool.name: tool for tool in ChartTools(client).tools()}


def call(server: Standing, name: str, **arguments: Any) -> ToolResult:
    return tools(server)[name].run(arguments)


def test_the_tools_are_those_of_the_table_with_their_arguments() -> None:
    known = tools(Standing())
    assert list(known) == [
        "fhir_search", "fhir_next_page", "fhir_read", "fhir_create", "fhir_update", "fhir_patch", "fhir_delete",
    ]  # fmt: skip
    arguments = {
        name: (list(tool.parameters["properties"]), tool.parameters["required"]) for name, tool in known.items()
    }
    assert arguments == {
        "fhir_search": (["type", "parameters"], ["type", "parameters"]),
        "fhir_next_page": (["url"], ["url"]),
        "fhir_read": (["type", "id"], ["type", "id"]),
        "fhir_create": (["type", "resource", "if_none_exist"], ["type", "resource"]),
        "fhir_update": (["type", "id", "resource", "if_match"], ["type", "id", "resource"]),
        "fhir_patch": (["type", "id", "patch", "if_match"], ["type", "id", "patch"]),
        "fhir_delete": (["type", "id"], ["type", "id"]),
    }
    assert all(len(tool.description) > 15 for tool in known.values())


def test_the_result_is_the_servers_status_useful_headers_and_own_body() -> None:
    server = Standing(
        body=b'{"resourceType":"Patient","id":"p17"}',
        headers={"ETag": 'W/"2"', "X-Request-ID": "abc", "Last-Modified": "Thu"},
    )
    result = call(server, "fhir_read", type="Patient", id="p17")
    assert result.status == "ok" and result.http == {"status": 200} and result.cut_by is None
    assert result.result == {
        "status": 200,
        "headers": {"Content-Type": "application/fhir+json;charset=UTF-8", "ETag": 'W/"2"', "Last-Modified": "Thu"},
        "body": {"resourceType": "Patient", "id": "p17"},
    }


def test_a_refusal_is_an_error_with_the_operation_outcome() -> None:
    outcome = {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": "error", "diagnostics": "HAPI-2001: Resource Patient/x is not known"}],
    }
    result = call(Standing(404, orjson.dumps(outcome)), "fhir_read", type="Patient", id="x")
    assert result.status == "error" and result.result["status"] == 404 and result.result["body"] == outcome


def test_a_server_that_is_busy_says_when_to_come_back() -> None:
    result = call(Standing(429, b"", {"Retry-After": "2"}), "fhir_search", type="Patient", parameters={})
    assert result.status == "error" and result.result["headers"]["Retry-After"] == "2" and result.result["body"] is None


def test_what_is_written_is_what_was_given() -> None:
    server = Standing(201)
    call(
        server,
        "fhir_create",
        type="Observation",
        resource={"resourceType": "Observation", "valueQuantity": {"value": 1.8}},
    )
    assert server.seen[-1].body == b'{"resourceType":"Observation","valueQuantity":{"value":1.8}}'
    call(server, "fhir_update", type="Patient", id="p", resource={"id": "p"}, if_match='W/"1"')
    assert server.seen[-1].header("If-Match") == 'W/"1"'
    call(server, "fhir_create", type="Patient", resource={}, if_none_exist="name=Müller&birthdate=1983-06-17")
    assert server.seen[-1].header("If-None-Exist") == "name=M%C3%BCller&birthdate=1983-06-17"
    call(server, "fhir_patch", type="Patient", id="p", patch=[{"op": "test", "path": "/active", "value": True}])
    assert json.loads(server.seen[-1].body) == [{"op": "test", "path": "/active", "value": True}]
    assert server.seen[-1].header("Content-Type") == "application/json-patch+json"
    call(server, "fhir_patch", type="Patient", id="p", patch={"resourceType": "Parameters"})
    assert server.seen[-1].header("Content-Type") == "application/fhir+json"


@pytest.mark.parametrize(
    "name", ["fhir_read", "fhir_delete", "fhir_update", "fhir_patch", "fhir_search", "fhir_create"]
)
@pytest.mark.parametrize(
    "type",
    [
        "",
        "Patient/p17",
        "../metadata",
        "Patient?name=x",
        "Patient%2Fp17",
        "Patient#",
        "_history",
        "$export",
        "Pa tient",
        "Patient\n",
    ],
)
def test_no_type_smuggles_anything(name: str, type: str) -> None:
    server = Standing()
    more: dict[str, Any] = {"id": "p"} if name in ("fhir_read", "fhir_delete", "fhir_update", "fhir_patch") else {}
    more |= {"resource": {}} if name in ("fhir_update", "fhir_create") else {}
    more |= {"patch": []} if name == "fhir_patch" else {}
    more |= {"parameters": {}} if name == "fhir_search" else {}
    result = call(server, name, type=type, **more)
    assert result.status == "error" and not server.seen
    assert "type must be the name of one resource type" in result.result["error"]


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        "p17/_history",
        "../Patient",
        "p?x=1",
        "p#",
        "_history",
        "_search",
        "$everything",
        "Patient/p17",
        "p%2F17",
        "a b",
        "a" * 65,
        "p\n",
    ],
)
def test_no_id_smuggles_anything(id: str) -> None:
    server = Standing()
    for name, more in (
        ("fhir_read", {}),
        ("fhir_delete", {}),
        ("fhir_update", {"resource": {}}),
        ("fhir_patch", {"patch": []}),
    ):
        result = call(server, name, type="Patient", id=id, **more)
        assert result.status == "error" and "id must be the id alone" in result.result["error"]
    assert not server.seen


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_type_and_id_are_the_path_is_type_and_id_or_nothing_is_sent(type: str, id: str) -> None:
    server = Standing()
    call(server, "fhir_read", type=type, id=id)
    assert [request.path for request in server.seen] in ([], [f"/{type}/{id}"])


@pytest.mark.parametrize(
    "rest", ["?_getpages=8f1c&_getpagesoffset=20&_count=20", "/Observation?patient=p17&_offset=20"]
)
def test_a_page_link_of_this_server_is_followed(rest: str) -> None:
    server = Standing()
    assert call(server, "fhir_next_page", url=BASE + rest).status == "ok"
    assert (server.seen[-1].method, server.seen[-1].path) == ("GET", rest)


def test_a_page_link_may_be_relative_to_the_base() -> None:
    server = Standing()
    assert call(server, "fhir_next_page", url="?_getpages=8f1c").status == "ok"
    assert server.seen[-1].path == "?_getpages=8f1c"


@pytest.mark.parametrize(
    "url",
    [
        "http://elsewhere.example/fhir?_getpages=1",
        "http://fhir.hospital.example/other",
        "http://fhir.hospital.example/fhirx?a=1",
        "http://fhir.hospital.example@elsewhere.example/fhir?x",
        "https://fhir.hospital.example/fhir?x",
        "file:///etc/passwd",
        "http://fhir.hospital.example/fhir/../secret",
        "http://fhir.hospital.example/fhir/%2e%2e/secret",
        "http://fhir.hospital.example/fhir/x/..%2f..%2fsecret",
        "http://fhir.hospital.example/fhir\\@elsewhere",
        "",
        "Observation?x",
        "http://fhir.hospital.example/fhir?a\r\nHost: elsewhere",
        "http://fhir.hospital.example/fhir#x",
        "//elsewhere.example/fhir",
        "/etc",
    ],
)
def test_a_page_link_that_leads_elsewhere_is_not_followed(url: str) -> None:
    server = Standing()
    result = call(server, "fhir_next_page", url=url)
    assert result.status == "error" and not server.seen
    assert "must be a link of this server, beginning with http://fhir.hospital.example/fhir" in result.result["error"]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "", "  ", "a\x00b"])
def test_no_header_smuggles_another(value: str) -> None:
    server = Standing()
    result = call(server, "fhir_create", type="Patient", resource={}, if_none_exist=value)
    assert result.status == "error" and not server.seen


@given(st.text(max_size=20))
def test_whatever_if_match_is_one_header_is_sent_or_nothing(value: str) -> None:
    server = Standing()
    result = call(server, "fhir_update", type="Patient", id="p", resource={}, if_match=value)
    assert result.status == ("ok" if server.seen else "error")
    for request in server.seen:
        assert (request.header("If-Match") or "").isascii()


def test_wrong_arguments_are_told_and_not_sent() -> None:
    server = Standing()
    assert "argument 'id' is missing" in call(server, "fhir_read", type="Patient").result["error"]
    assert call(server, "fhir_search", type="Patient", parameters={"name": 5}).status == "error"
    assert call(server, "fhir_create", type="Patient", resource="{}").status == "error"
    assert not server.seen


# too much to show


def bundle(entries: int, size: int) -> bytes:
    rows = [{"resource": {"resourceType": "Basic", "id": str(number), "text": "x" * size}} for number in range(entries)]
    return orjson.dumps(
        {
            "resourceType": "Bundle",
            "type": "searchset",
            "total": entries,
            "link": [{"relation": "next", "url": BASE}],
            "entry": rows,
        }
    )


def test_a_result_at_the_limit_is_whole_and_one_beyond_it_is_cut() -> None:
    body = orjson.dumps({"text": "x" * (RESULT_LIMIT - 11)})
    assert len(body) == RESULT_LIMIT
    assert call(Standing(body=body), "fhir_read", type="Basic", id="1").cut_by is None
    cut = call(Standing(body=body + b" "), "fhir_read", type="Basic", id="1")
    assert cut.cut_by is None, "blanks are not shown, so they do not count"
    cut = call(Standing(body=orjson.dumps({"text": "x" * (RESULT_LIMIT - 10)})), "fhir_read", type="Basic", id="1")
    assert cut.cut_by == "tool" and cut.result["body"] is None and len(cut.result["text"]) == RESULT_LIMIT
    assert f"The answer has {RESULT_LIMIT + 1} characters; only its first {RESULT_LIMIT}" in cut.result["cut"]


def test_a_bundle_loses_whole_entries_from_the_end_and_the_agent_is_told() -> None:
    result = call(Standing(body=bundle(200, 1000)), "fhir_search", type="Basic", parameters={})
    entries = result.result["body"]["entry"]
    assert result.status == "ok" and result.cut_by == "tool"
    assert [entry["resource"]["id"] for entry in entries] == [str(number) for number in range(len(entries))]
    assert 80 < len(entries) < 100 and len(orjson.dumps(result.result["body"])) <= RESULT_LIMIT
    assert f"the first {len(entries)} of the 200 entries on this page are shown" in result.result["cut"]
    assert result.result["body"]["total"] == 200 and result.result["body"]["link"]


def test_a_bundle_whose_first_entry_is_too_large_is_cut_as_text() -> None:
    result = call(Standing(body=bundle(2, RESULT_LIMIT)), "fhir_search", type="Basic", parameters={})
    assert (
        result.cut_by == "tool"
        and result.result["body"] is None
        and result.result["text"].startswith('{"resourceType":"Bundle"')
    )


def test_an_answer_larger_than_the_client_reads_is_an_error_for_the_agent() -> None:
    server = Standing(body=b'"' + b"x" * 5000 + b'"')
    client = FhirClient(server.base, adapter=ForkAdapter(server), limit=1000)
    result = ChartTools(client).fhir_read("Basic", "1")
    assert result.status == "error" and "larger than 1000 bytes; ask for less" in result.result["error"]


# servers that do not answer


def test_no_answer_in_time_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = FhirClient(f"http://127.0.0.1:{silent.getsockname()[1]}/fhir", timeout=0.1)
        result = ChartTools(client).fhir_read("Patient", "p17")
        client.close()
    assert result.status == "timeout" and "did not answer within 0.1 s" in result.result["error"]


def test_a_server_that_is_gone_is_a_fault_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        base = f"http://127.0.0.1:{gone.getsockname()[1]}/fhir"
    with pytest.raises(ClientError):
        ChartTools(FhirClient(base)).fhir_read("Patient", "p17")
