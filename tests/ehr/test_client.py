"""The FHIR client: the same over a fork in this process and over real HTTP, bounded, and with the digits as written."""

from __future__ import annotations

import gzip
import json
import pickle
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.client import (
    ClientError,
    ClientTimeoutError,
    FhirClient,
    ForkAdapter,
    TooLargeError,
    dumped,
    parsed,
    query,
    segment,
)
from ehr.sandbox.http import Request, Response
from harness.plain import Written
from tests.ehr.loopback import loopback

FHIR = {"Content-Type": "application/fhir+json"}


class Echo:
    """Answers with what it was asked; keeps the requests."""

    base = "http://fhir.hospital.example/fhir"

    def __init__(self, answer: Response | None = None) -> None:
        self.seen: list[tuple[str, Request]] = []
        self.answer = answer

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        self.seen.append((by, request))
        if self.answer is not None:
            return self.answer
        said = {"method": request.method, "path": request.path, "body": request.body.decode()}
        return Response(200, {**FHIR, "ETag": 'W/"3"'}, json.dumps(said).encode())


@pytest.fixture(params=["embedded", "http"])
def asked(request: pytest.FixtureRequest) -> Iterator[tuple[FhirClient, Echo]]:
    """A client and what it talks to, once without a socket and once with."""
    echo = Echo()
    if request.param == "embedded":
        yield FhirClient(echo.base, adapter=ForkAdapter(echo, by="tester")), echo
        return
    with loopback(echo) as server:
        client = FhirClient(server.base)
        yield client, echo
        client.close()


def last(echo: Echo) -> Request:
    return echo.seen[-1][1]


def test_each_call_is_the_request_that_fhir_asks_for(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    client.read("Patient", "p17")
    assert (last(echo).method, last(echo).path) == ("GET", "/Patient/p17")
    client.read("Patient", "p17", "2")
    assert last(echo).path == "/Patient/p17/_history/2"
    client.search("Observation", {"patient": "p17", "date": ["ge2025-01-01", "lt2026-01-01"], "_sort": "-date"})
    assert last(echo).path == "/Observation?patient=p17&date=ge2025-01-01&date=lt2026-01-01&_sort=-date"
    client.create("Observation", {"resourceType": "Observation"}, if_none_exist="identifier=a|b")
    assert (last(echo).method, last(echo).path) == ("POST", "/Observation")
    assert last(echo).header("If-None-Exist") == "identifier=a|b"
    assert last(echo).header("Content-Type") == "application/fhir+json"
    assert last(echo).body == b'{"resourceType":"Observation"}'
    client.update("Patient", "p17", {"id": "p17"}, if_match='W/"2"')
    assert (last(echo).method, last(echo).path, last(echo).header("If-Match")) == ("PUT", "/Patient/p17", 'W/"2"')
    client.patch("Patient", "p17", [{"op": "remove", "path": "/telecom"}])
    assert (last(echo).method, last(echo).header("Content-Type")) == ("PATCH", "application/json-patch+json")
    client.patch("Patient", "p17", {"resourceType": "Parameters"})
    assert last(echo).header("Content-Type") == "application/fhir+json"
    client.delete("Patient", "p17")
    assert (last(echo).method, last(echo).path, last(echo).body) == ("DELETE", "/Patient/p17", b"")
    client.transact({"resourceType": "Bundle", "type": "transaction"})
    assert (last(echo).method, last(echo).path) == ("POST", "/")


def test_reads_ask_past_caches_and_writes_do_not_need_to(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    client.search("Patient", {})
    assert last(echo).path == "/Patient" and last(echo).header("Cache-Control") == "no-cache"
    client.read("Patient", "p17")
    assert last(echo).header("Cache-Control") == "no-cache"
    client.delete("Patient", "p17")
    assert last(echo).header("Cache-Control") is None


def test_the_answer_has_status_headers_parsed_body_and_raw_bytes(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    echo.answer = Response(404, {**FHIR, "etag": 'W/"9"'}, b'{"resourceType":"OperationOutcome","issue":[]}')
    reply = client.read("Patient", "nobody")
    assert (reply.status, reply.ok, reply.headers["ETag"]) == (404, False, 'W/"9"')
    assert reply.body == {"resourceType": "OperationOutcome", "issue": []}
    assert reply.raw == echo.answer.body


@pytest.mark.parametrize(
    ("raw", "body"), [(b"", None), (b"<html>no</html>", "<html>no</html>"), (b"\xff{", "\ufffd{"), (b"NaN", "NaN")]
)
def test_what_is_no_json_is_text(asked: tuple[FhirClient, Echo], raw: bytes, body: str | None) -> None:
    client, echo = asked
    echo.answer = Response(200, {}, raw)
    assert client.get("/metadata").body == body


def test_json_nested_beyond_all_reason_is_text_and_no_crash(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    echo.answer = Response(200, FHIR, b"[" * 100_000)
    assert client.get("/x").body == "[" * 100_000


def test_an_answer_is_read_up_to_the_limit_and_no_further(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    client.limit = 1000
    echo.answer = Response(200, FHIR, b'"' + b"a" * 998 + b'"')
    assert len(client.get("/x").body) == 998
    echo.answer = Response(200, FHIR, b'"' + b"a" * 999 + b'"')
    with pytest.raises(TooLargeError, match="larger than 1000 bytes"):
        client.get("/x")


def test_redirects_are_answers_and_are_not_followed(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    echo.answer = Response(307, {"Location": "http://127.0.0.1:1/elsewhere"}, b"")
    assert client.read("Patient", "p17").status == 307
    assert len(echo.seen) == 1


def test_no_cookie_is_kept(asked: tuple[FhirClient, Echo]) -> None:
    client, echo = asked
    echo.answer = Response(200, {**FHIR, "Set-Cookie": "session=1; Path=/"}, b"{}")
    client.get("/x")
    client.get("/x")
    assert last(echo).header("Cookie") is None


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    echo = Echo()
    with loopback(echo) as server:
        client = FhirClient(server.base)
        assert client.get("/metadata").status == 200
        client.close()


def test_a_fork_is_told_who_asks() -> None:
    echo = Echo()
    FhirClient(echo.base, adapter=ForkAdapter(echo, by="check")).get("/metadata")
    assert echo.seen[0][0] == "check"


def test_a_client_of_a_fork_reaches_nothing_else() -> None:
    echo = Echo()
    client = FhirClient(echo.base, adapter=ForkAdapter(echo))
    client.base = "http://127.0.0.1:1"
    with pytest.raises(ClientError):
        client.get("/x")
    assert not echo.seen


def test_gzip_is_unpacked_and_bounded() -> None:
    packed = gzip.compress(b'"' + b"a" * 5_000_000 + b'"')
    with loopback(Echo(Response(200, {**FHIR, "Content-Encoding": "gzip"}, packed))) as server:
        client = FhirClient(server.base)
        assert len(client.get("/x").raw) == 5_000_002
        client.limit = 100_000
        with pytest.raises(TooLargeError):
            client.get("/x")
        client.close()


def test_a_server_that_does_not_answer_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = FhirClient(f"http://127.0.0.1:{silent.getsockname()[1]}/fhir", timeout=0.2)
        with pytest.raises(ClientTimeoutError, match=r"did not answer within 0\.2 s"):
            client.get("/x")
        client.close()


def test_a_server_that_trickles_is_a_timeout() -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while not stop.wait(0.05):
                    try:
                        connection.sendall(b"x" * 70_000)
                    except OSError:
                        return

        thread = threading.Thread(target=trickle)
        thread.start()
        client = FhirClient(f"http://127.0.0.1:{listening.getsockname()[1]}/fhir", timeout=0.3)
        with pytest.raises(ClientTimeoutError):
            client.get("/x")
        client.close()
        stop.set()
        thread.join()


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        base = f"http://127.0.0.1:{gone.getsockname()[1]}/fhir"
    with pytest.raises(ClientError, match=r"GET http://127\.0\.0\.1"):
        FhirClient(base).get("/x")


def test_a_connection_cut_in_the_middle_is_an_error_and_no_half_answer() -> None:
    with loopback(Echo(Response(200, {**FHIR, "Content-Length": "500", "Connection": "close"}, b'{"a":1}'))) as server:
        client = FhirClient(server.base)
        with pytest.raises(ClientError):
            client.get("/x")
        client.close()


# digits


@pytest.mark.parametrize(
    "digits", ["1.00", "1.80", "0.000001", "1E2", "1.10e-3", "3.14159265358979323846264338327950288", "-0.0"]
)
def test_decimals_keep_their_digits_there_and_back(digits: str) -> None:
    raw = f'{{"value":{digits}}}'.encode()
    body = parsed(raw)
    assert body["value"].digits == digits
    assert body["value"] == float(digits)
    assert dumped(body) == raw


def test_a_written_number_is_a_float_to_everyone_else() -> None:
    number = parsed("1.50")
    assert isinstance(number, Written) and number + 1 == 2.5
    assert json.dumps(number) == "1.5" and Decimal(number.digits) == Decimal("1.50")
    again = pickle.loads(pickle.dumps(number))
    assert type(again) is Written and again.digits == "1.50"


def test_whole_numbers_of_any_length_go_there_and_back() -> None:
    assert dumped(parsed("123456789012345678901234567890")) == b"123456789012345678901234567890"


def test_half_a_surrogate_pair_is_sent_as_a_question_mark() -> None:
    assert dumped({"text": "a\ud800b"}) == b'{"text":"a?b"}'


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises((ValueError, TypeError)):
        dumped({"value": {1, 2}})


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(json_values)
def test_any_json_goes_there_and_back(value: Any) -> None:
    assert parsed(dumped(value)) == json.loads(json.dumps(value).encode("utf-8", "replace"))


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
        st.text(st.characters(codec="utf-8"), max_size=12),
        max_size=4,
    )
)
def test_any_search_parameters_arrive_as_they_were_given(parameters: dict[str, str]) -> None:
    from urllib.parse import parse_qsl

    echo = Echo()
    FhirClient(echo.base, adapter=ForkAdapter(echo)).search("Patient", parameters)
    path, _, sent = last(echo).path.partition("?")
    assert path == "/Patient"
    assert dict(parse_qsl(sent, keep_blank_values=True, strict_parsing=bool(sent))) == parameters


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_no_id_ends_its_segment_of_the_path(text: str) -> None:
    if text in (".", ".."):
        with pytest.raises(ValueError, match="no segment"):
            segment(text)
        return
    encoded = segment(text)
    assert not set(encoded) & set("/?#\\ ")


def test_an_empty_search_has_no_question_mark() -> None:
    assert query({}) == "" and query({"a": []}) == "" and query({"a": ["1", "2"], "b": "x y"}) == "?a=1&a=2&b=x+y"


def test_a_page_of_twenty_is_parsed_once() -> None:
    echo = Echo(Response(200, FHIR, orjson.dumps({"entry": [{"resource": {"id": str(n)}} for n in range(20)]})))
    reply = FhirClient(echo.base, adapter=ForkAdapter(echo)).search("Patient", {})
    assert reply.body is reply.body and len(reply.body["entry"]) == 20


def test_the_loopback_server_is_what_it_says() -> None:
    with loopback(Echo()) as server:
        assert server.base.startswith("http://127.0.0.1:")
