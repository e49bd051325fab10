"""A record over HTTP: what a client sends arrives as it was sent, and nobody else gets in."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from starlette.applications import Starlette

from ehr.client import FhirClient
from ehr.sandbox import Record
from ehr.serve import LONGEST_BODY, is_loopback, listening, record_app, run
from tests.ehr.tasks.playing import CLOCK, PEOPLE, result


@contextmanager
def served(make: Any) -> Iterator[str]:
    """The address of a real server on loopback; `make` gives the application for it."""
    servers: list[Any] = []
    with listening(port=0) as (socket, address):
        app: Starlette = make(address)
        thread = threading.Thread(target=run, args=(app, socket), kwargs={"ready": servers.append})
        thread.start()
        try:
            yield address
        finally:
            while not servers:
                thread.join(0.01)
            servers[0].should_exit = True
            thread.join(10)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    rows = [result(f"o{number:03d}", f"2026-01-{1 + number % 14:02d}T08:00:00+00:00", 4.0) for number in range(45)]
    with Record.build([*PEOPLE, *rows], clock=CLOCK, synthetic=True) as built:
        yield built


@pytest.fixture
def address(record: Record) -> Iterator[str]:
    with served(lambda address: record_app(record, address)) as address:
        yield address


def test_it_reads_searches_and_pages_under_its_own_address(address: str) -> None:
    client = FhirClient(f"{address}/fhir")
    assert client.read("Patient", "p1").body["birthDate"] == "1961-04-02"
    page = client.get("/Observation?patient=p1&_sort=date").body
    assert page["total"] == 45
    links = {link["relation"]: link["url"] for link in page["link"]}
    assert links["next"].startswith(f"{address}/fhir?_getpages=")
    assert len(client.get(links["next"].removeprefix(client.base)).body["entry"]) == 20
    assert page["entry"][0]["fullUrl"].startswith(f"{address}/fhir/Observation/")
    client.close()


def test_the_base_works_with_and_without_a_slash(address: str) -> None:
    bundle = {"resourceType": "Bundle", "type": "batch", "entry": [{"request": {"method": "GET", "url": "Patient/p1"}}]}
    headers = {"Content-Type": "application/fhir+json"}
    for base in (f"{address}/fhir", f"{address}/fhir/"):
        answer = requests.post(base, json=bundle, headers=headers, timeout=10)
        assert answer.json()["entry"][0]["response"]["status"] == "200 OK"


def test_writes_live_in_memory(record: Record) -> None:
    for _ in range(2):
        with served(lambda address: record_app(record, address)) as address:
            client = FhirClient(f"{address}/fhir")
            assert client.create("Observation", result("x", "2026-01-15T08:00:00Z", 4.4)).body["id"] == "1000"
            assert client.get("/Observation?patient=p1&_summary=count").body["total"] == 46
            client.close()


def test_who_hangs_up_in_the_middle_of_a_body_leaves_no_trace(
    capsys: pytest.CaptureFixture[str], record: Record
) -> None:
    with served(lambda address: record_app(record, address)) as address:
        place = urlsplit(address)
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as connection:
            head = f"POST /fhir/Patient HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 100\r\n\r\n"
            connection.sendall(head.encode() + b'{"resourceType":')
        assert raw(address, "GET", "/fhir/Patient/p1")[0] == 200
    assert "Traceback" not in capsys.readouterr().err


def raw(address: str, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    connection.request(method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def test_addresses_arrive_undecoded(address: str) -> None:
    status, _, body = raw(
        address, "GET", "/fhir/Observation?code=http://loinc.org|2823-3&date=ge2026-01-14T00:00:00%2B00:00"
    )
    assert status == 200 and json.loads(body)["total"] == 3
    assert raw(address, "GET", "/fhir/Patient/a%2Fb")[0] == 400  # as HAPI's web server does
    assert raw(address, "GET", "/fhir/../../etc/passwd")[0] in (404, 405)


def test_head_304_and_deletions_have_no_body_and_keep_their_headers(address: str) -> None:
    status, headers, body = raw(address, "HEAD", "/fhir/Patient/p1")
    assert (status, body) == (200, b"") and headers["etag"] == 'W/"1"'
    assert raw(address, "GET", "/fhir/Patient/p1", If_None_Match='W/"1"')[0::2] == (304, b"")


def test_it_compresses_where_it_is_asked(address: str) -> None:
    _, headers, body = raw(address, "GET", "/fhir/Observation?patient=p1", Accept_Encoding="gzip")
    assert headers["content-encoding"] == "gzip" and body[:2] == b"\x1f\x8b"


def test_a_body_that_is_too_long_is_refused(address: str) -> None:
    status, _, body = raw(
        address, "POST", "/fhir/Patient", b" " * (LONGEST_BODY + 1), Content_Type="application/fhir+json"
    )
    assert status == 413
    assert json.loads(body)["issue"][0]["diagnostics"] == f"A body may have {LONGEST_BODY} bytes"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "169.254.0.1", "", "[::1", "127.0.0.1@evil.example"]
)
def test_it_answers_to_its_own_names_only(address: str, host: str) -> None:
    status, _, body = raw(address, "GET", "/fhir/Patient/p1", Host=host)
    assert status == 403 and b"own address" in body


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1.evil.example", "http://[::1"])
def test_no_web_page_of_another_machine_reads_it(address: str, origin: str) -> None:
    status, _, body = raw(address, "GET", "/fhir/Patient/p1", Origin=origin)
    assert status == 403 and b"web pages" in body and b"Okafor" not in body


def test_a_request_of_two_origins_is_of_both(address: str) -> None:
    for origins in (
        b"http://evil.example\r\nOrigin: http://127.0.0.1",
        b"http://127.0.0.1\r\nOrigin: http://evil.example",
    ):
        head = b"GET /fhir/Patient/p1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nOrigin: " + origins
        assert b" 403 " in spoken(address, head + b"\r\n\r\n")


def spoken(address: str, said: bytes) -> bytes:
    """What comes back on a connection on which these bytes are sent."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(said)
        heard = b""
        while chunk := connection.recv(65536):
            heard += chunk
        return heard


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\x01 nonsense\r\n\r\n",
        b"GET /fhir/Patient HTTP/1.1\r\n\r\n",
        b"GET /fhir/Patient/\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /fhir/Patient HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_the_next_is_answered(address: str, said: bytes) -> None:
    with suppress(ConnectionError):
        assert b" 400 " in spoken(address, said)
    assert raw(address, "GET", "/fhir/Patient/p1")[0] == 200


def test_those_who_send_slowly_keep_nobody_waiting(address: str) -> None:
    place = urlsplit(address)
    slow = [socket.create_connection((place.hostname, place.port), timeout=10) for _ in range(100)]
    try:
        for number, connection in enumerate(slow):
            head = b"POST /fhir/Patient HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            connection.sendall(head if number % 2 else head + b"\r\n{")
        assert raw(address, "GET", "/fhir/Patient/p1")[0] == 200
    finally:
        for connection in slow:
            connection.close()
    assert raw(address, "GET", "/fhir/Patient?_summary=count")[0] == 200


def test_an_address_with_escapes_in_its_beginning_is_not_known(address: str) -> None:
    assert raw(address, "GET", "/%66hir/Patient/p1")[0] == 404


def test_a_web_page_of_this_machine_does(address: str) -> None:
    assert raw(address, "GET", "/fhir/Patient/p1", Origin="http://localhost:3000")[0] == 200
    assert raw(address, "GET", "/fhir/Patient/p1", Host="localhost:1")[0] == 200


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.8.8.8", "::1", "localhost", "a.localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "10.0.0.1", "example.org", "", "localhost.example.org"]))


def test_the_root_says_what_is_there_and_the_rest_is_unknown(address: str, record: Record) -> None:
    about = json.loads(raw(address, "GET", "/")[2])
    assert about["fhir"] == f"{address}/fhir" and about["record"] == record.hash
    status, _, body = raw(address, "GET", "/sessions")
    assert status == 404 and json.loads(body)["error"].startswith("GET /sessions")
    status, _, body = raw(address, "GET", "/Patient/p1")  # the beginning of the address forgotten
    assert status == 404 and json.loads(body)["error"].endswith(f"; FHIR is below {address}/fhir")
