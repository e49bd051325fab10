"""`readback serve` and `readback session open|close`, each in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from jsonschema_rs import validator_for

from readback.schemas import schema
from tests.readback.command import finished, readback, started


@contextmanager
def serving(*arguments: object, cwd: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address that `readback serve` prints; it is ended by Ctrl-C."""
    process = started("serve", *arguments, "--port", "0", cwd=cwd)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        assert address.startswith("http://127.0.0.1:"), process.communicate()[1]
        yield address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_record_is_served_and_ended_by_a_signal(here: Path, small_record: Path, ending: signal.Signals) -> None:
    with serving("--record", small_record, cwd=here) as (base, process):
        assert base.endswith("/fhir")
        assert requests.get(f"{base}/Patient?_summary=count", timeout=10).json()["total"] == 6
        assert requests.get(f"{base}/metadata", timeout=10).json()["fhirVersion"] == "4.0.1"
        process.send_signal(ending)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_sessions_are_opened_and_closed_by_commands_and_kept_in_a_run(here: Path, small_record: Path) -> None:
    few = ["ehr", "--record", small_record, "--task", "patient-age", "--per-template", "2", "--out", "mine"]
    with serving(*few, cwd=here) as (address, process):
        opened = finished(
            "session", "open", "ehr/patient-age/0001", "--server", address, "--agent", "me", "--json", cwd=here
        )
        assert opened.code == 0, opened.err
        validator_for(schema("tasks")).validate(requests.get(f"{address}/tasks", timeout=10).json())
        told = opened.document
        validator_for(schema("session")).validate(told)
        assert requests.get(f"{told['base_url']}/Patient?_count=1", timeout=10).status_code == 200
        seen = readback("session", "open", "ehr/patient-age/0002", "--server", address)
        assert "server   http://127.0.0.1:" in seen.out and "readback session close s-" in seen.err
        closed = readback(
            "session", "close", told["session"], "--server", address, "--outcome", "done", "--answer", "1", "--json"
        )
        assert closed.code == 0
        validator_for(schema("verdicts")).validate(closed.document)
        assert closed.document["success"] is False
        again = readback("session", "close", told["session"], "--server", address)
        assert (again.code, again.sentence) == (
            2, f"{told['session']!r}: this session is finished; open another with readback session open TASK"
        )  # fmt: skip
        unknown = readback("session", "open", "ehr/patient-age/9999", "--server", address)
        assert unknown.sentence == (
            f"there is no task 'ehr/patient-age/9999'; did you mean 'ehr/patient-age/0001'? {address}/tasks lists them"
        )
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "mine: 3 of 3 episodes scored" in out and "Traceback" not in err
    assert Path("mine/report.html").exists()
    shown = readback("show", "mine", "--json").document["episodes"]
    assert [(one["agent"], one["success"]) for one in shown] == [("me", "fail"), ("idle", "fail"), ("blind", "pass")]
    assert readback("score", "mine", "--json").document["episodes"]["planned"] == 3
    refused = readback("resume", "mine")
    assert refused.code == 2 and "go on with it by readback serve ehr --out mine" in refused.err
    validator_for(schema("run")).validate(json.loads(Path("mine/run.json").read_text()))


def test_a_run_of_sessions_is_gone_on_with(here: Path, small_record: Path) -> None:
    few = ["ehr", "--record", small_record, "--task", "patient-age", "--per-template", "1", "--out", "mine"]
    for number in (1, 2):
        with serving(*few, cwd=here) as (address, _):
            told = readback("session", "open", "ehr/patient-age/0001", "--server", address, "--json").document
            assert readback("session", "close", told["session"], "--server", address).code == 0
        shown = readback("show", "mine", "--json").document["episodes"]
        assert [one["repeat"] for one in shown if one["agent"] == "session"] == list(range(number))
    other = finished("serve", *few[:-3], "2", "--out", "mine", "--port", "0", cwd=here)
    assert other.code == 2 and "is no run of sessions over these tasks" in other.err


def test_without_a_server_the_command_that_starts_one_is_named(here: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    for command in (["open", "ehr/patient-age/0001"], ["close", "s-x"]):
        ended = readback("session", *command, "--server", address)
        assert ended.code == 2
        assert ended.sentence == f"no server answers at {address}; start one by: readback serve ehr"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["repoqa"], "'repoqa' cannot be served; serve ehr"),
        (["--out", "x"], "--out is for sessions: readback serve ehr --out RUN"),
        (["--port", "70000"], "70000"),
        (["--record", "http://127.0.0.1:8080/fhir"], "the address of a live server is for readback run; name a record"),
        (["--record", "nowhere.record", "--port", "0"], "nowhere.record"),
    ],
)
def test_what_cannot_be_served_is_said(here: Path, arguments: list[str], said: str) -> None:
    ended = readback("serve", *arguments)
    assert ended.code == 2 and said in ended.err, ended.err


def test_a_port_in_use_is_said(here: Path, small_record: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = readback("serve", "--record", small_record, "--port", port)
    assert ended.code == 2
    assert ended.sentence == (
        f"cannot listen on 127.0.0.1:{port} (Address already in use); name another with --port, or 0 for a free one"
    )


def test_the_documents_of_sessions_have_schemas() -> None:
    names: dict[str, Any] = {name: schema(name)["title"] for name in ("session", "verdicts")}
    assert names == {"session": "SessionDocument", "verdicts": "VerdictsDocument"}


def test_an_address_of_another_machine_is_no_question_of_the_port(here: Path, small_record: Path) -> None:
    ended = readback("serve", "--record", small_record, "--port", 0, "--host", "192.0.2.1")
    assert ended.code == 2
    assert ended.sentence.endswith("; name an address of this machine with --host"), ended.err
