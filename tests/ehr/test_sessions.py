"""Sessions: a task over HTTP for an agent written elsewhere, kept as an episode like any other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from ehr.sandbox import Record, Request
from ehr.serve import LONGEST_JSON, sessions_app
from ehr.sessions import SessionError, Sessions, about_sessions
from ehr.tasks import synthetic
from ehr.tasks.suite import EhrSuite, draw_suite
from harness.runfolder import RunFolder
from readback.summary import summary_of
from tests.ehr.test_serve import served
from tests.support import ROOT

FHIR = {"Content-Type": "application/fhir+json"}
WEIGHT = "ehr/record-weight/0001"
AGE = "ehr/patient-age/0001"


class Time:
    """The present, as a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def suite() -> Iterator[EhrSuite]:
    rows = synthetic.generate(patients=40, seed=5)
    with Record.build(rows, clock=synthetic.CLOCK, synthetic=True) as built:
        yield draw_suite(built, seed=1, templates=["patient-age", "record-weight", "change-telephone"], per_template=2)


@pytest.fixture
def folder(suite: EhrSuite, tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", about_sessions(suite, command=["x"], options={}), suite.tasks) as made:
        yield made


@pytest.fixture
def sessions(suite: EhrSuite, folder: RunFolder) -> Sessions:
    return Sessions(suite, folder, "http://127.0.0.1:8080", now=Time(), most_open=3)


def weigh(base: str, told: dict[str, Any], value: float | None = None) -> requests.Response:
    """What the task asks for, over plain HTTP; `told` are the task's parameters, which the instruction says."""
    found = requests.get(f"{base}/Patient", params=_search(told["patient"]), timeout=10).json()
    person = found["entry"][0]["resource"]["id"]
    weight = {
        "resourceType": "Observation", "status": "final", "subject": {"reference": f"Patient/{person}"},
        "code": {"coding": [{"system": "http://loinc.org", "code": "29463-7"}]}, "effectiveDateTime": told["at"],
        "valueQuantity": {"value": value or told["value"], "unit": told["unit"], "system": "http://unitsofmeasure.org",
                          "code": told["unit"]},
    }  # fmt: skip
    return requests.post(f"{base}/Observation", json=weight, headers=FHIR, timeout=10)


def _search(told: dict[str, str]) -> dict[str, str]:
    if "mrn" in told:
        return {"identifier": told["mrn"]}
    return {"family": told["family"], "given": told["given"], "birthdate": told["birth_date"]}


def parameters(suite: EhrSuite, id: str) -> dict[str, Any]:
    return next(dict(task.parameters) for task in suite.tasks if task.id == id)


@pytest.fixture
def address(suite: EhrSuite, folder: RunFolder) -> Iterator[str]:
    def make(address: str) -> Any:
        return sessions_app(Sessions(suite, folder, address))

    with served(make) as address:
        yield address


def posted(url: str, body: Any, status: int = 200) -> Any:
    answer = requests.post(url, json=body, timeout=30)
    assert answer.status_code == status, answer.text
    return answer.json()


# ---- one session from its beginning to its end


def test_an_outside_agent_plays_a_task_over_http_and_lands_in_the_run(
    suite: EhrSuite, folder: RunFolder, address: str
) -> None:
    opened = posted(f"{address}/sessions", {"task": WEIGHT, "agent": "mine"}, 201)
    assert opened["format"] == "readback.session/1"
    assert opened["instruction"] == next(task.instruction for task in suite.tasks if task.id == WEIGHT)
    assert opened["system"] == suite.conditions["default"]
    assert [tool["name"] for tool in opened["tools"]][-1] == "finish"
    assert opened["clock"] == suite.record.clock and opened["base_url"].startswith(f"{address}/f/")
    made = weigh(opened["base_url"], parameters(suite, WEIGHT))
    assert made.status_code == 201 and made.headers["Location"].startswith(opened["base_url"])
    assert requests.get(made.headers["Location"], timeout=10).status_code == 200

    closed = posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "done", "note": "weighed"})
    assert closed["format"] == "readback.verdicts/1" and closed["success"] is True
    assert {verdict["lens"]: verdict["outcome"] for verdict in closed["verdicts"]} == {
        "state": "pass",
        "message": "pass",
        "grounding": "vacuous",
    }

    episode = folder.episode(closed["episode"])
    assert episode is not None
    assert (episode.agent, episode.agent_kind, episode.claim, episode.note) == ("mine", "session", "done", "weighed")
    assert episode.variant == {"validation": "hapi", "fault": None, "protocol": "fhir"}
    assert [(call.name, call.status, call.http) for call in episode.calls] == [
        ("GET", "ok", {"status": 200}), ("POST", "ok", {"status": 201}), ("GET", "ok", {"status": 200}),
    ]  # fmt: skip
    assert (
        episode.calls[1].arguments is not None and episode.calls[1].arguments["body"]["resourceType"] == "Observation"
    )
    assert [request.method for request in episode.requests] == ["GET", "POST", "GET"]
    assert [change.verb for change in episode.changes] == ["create"]
    assert episode.self_check is not None and episode.self_check.agrees
    summary = summary_of(folder)
    assert [row.agent for row in summary.rows] == ["mine", "idle", "blind"]
    assert summary.rows[0].success.rate == 1 and summary.rows[0].kind == "session"
    assert (summary.episodes.planned, summary.incomplete) == (3, False)


def test_a_wrong_write_and_a_wrong_answer_are_failures(suite: EhrSuite, folder: RunFolder, address: str) -> None:
    opened = posted(f"{address}/sessions", {"task": WEIGHT}, 201)
    weigh(opened["base_url"], parameters(suite, WEIGHT), 7.0)
    closed = posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "done"})
    assert closed["success"] is False
    assert closed["verdicts"][0]["labels"] == ["WRONG_VALUE"] and closed["verdicts"][0]["notes"] == ["NO_READBACK"]
    opened = posted(f"{address}/sessions", {"task": AGE}, 201)
    closed = posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "done", "answer": [300]})
    assert {verdict["lens"]: verdict["label"] for verdict in closed["verdicts"]} == {
        "state": None, "answer": "WRONG_ANSWER", "message": None, "grounding": None,
    }  # fmt: skip


def test_a_second_try_is_a_repeat_and_the_baselines_play_once(suite: EhrSuite, sessions: Sessions) -> None:
    for _ in range(2):
        opened = sessions.open({"task": AGE, "agent": "mine"})
        sessions.finish(opened.session, {"outcome": "unclear"})
    played = [(episode.agent, episode.repeat) for episode in sessions.folder.episodes()]
    assert played == [("mine", 0), ("idle", 0), ("blind", 0), ("mine", 1)]
    again = Sessions(suite, sessions.folder, "http://127.0.0.1:8080")
    again.finish(again.open({"task": AGE, "agent": "mine"}).session, {"outcome": "unclear"})
    assert [(episode.agent, episode.repeat) for episode in sessions.folder.episodes()][4:] == [("mine", 2)]


def test_a_session_can_be_under_a_fault_and_full_validation(suite: EhrSuite, folder: RunFolder, address: str) -> None:
    variant = {"fault": "lost_write", "validation": "full"}
    opened = posted(f"{address}/sessions", {"task": WEIGHT, "variant": variant}, 201)
    made = weigh(opened["base_url"], parameters(suite, WEIGHT))
    assert made.status_code == 201
    assert requests.get(made.headers["Location"], timeout=10).status_code == 404
    closed = posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "done"})
    assert closed["verdicts"][0]["labels"] == ["PHANTOM_SUCCESS"]
    episode = folder.episode(closed["episode"])
    assert episode is not None and episode.variant == {**variant, "protocol": "fhir"}


# ---- what cannot be had


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"task": "ehr/nothing/0001"}, 404, "there is no task 'ehr/nothing/0001'; GET /tasks lists them"),
        (
            {"task": "ehr/patient-aeg/0001"},
            404,
            f"there is no task 'ehr/patient-aeg/0001'; did you mean '{AGE}'? GET /tas",
        ),
        ({"task": "x" * 100_000}, 404, "; GET /tasks lists them"),
        ({"task": ["ehr"]}, 404, "there is no task ['ehr']; GET /tasks lists them"),
        ({}, 404, "a session needs a task, such as {'task': 'ehr/record-weight/0001'}; GET /tasks lists them"),
        ([], 400, "a session is opened with an object such as"),
        ({"task": AGE, "seed": 1}, 400, "'seed' is nothing that a session has"),
        ({"task": AGE, "condition": "mine"}, 400, "there is no condition 'mine'; choose from default, grounded"),
        ({"task": AGE, "condition": ["default"]}, 400, "there is no condition ['default']"),
        ({"task": AGE, "variant": {"fault": ["slow"]}}, 400, "['slow'] is no fault's name"),
        ({"task": AGE, "agent": {"name": "mine"}}, 400, "is no agent's name"),
        ({"task": AGE, "variant": {"fault": "flood"}}, 400, "there is no fault 'flood'"),
        ({"task": AGE, "variant": {"validation": "none"}}, 400, "there is no validation 'none'"),
        ({"task": AGE, "variant": {"record": "x"}}, 400, "is no variant"),
        ({"task": AGE, "agent": "oracle"}, 400, "'oracle' is the name of a baseline"),
        ({"task": AGE, "agent": "a\nb"}, 400, "is no agent's name"),
        ({"task": AGE, "agent": "a" * 101}, 400, "is no agent's name"),
    ],
)
def test_what_cannot_be_opened_is_said_in_a_sentence(sessions: Sessions, asked: Any, status: int, said: str) -> None:
    with pytest.raises(SessionError) as refused:
        sessions.open(asked)
    assert refused.value.status == status
    assert said in str(refused.value)


def test_an_unknown_session_says_so(sessions: Sessions) -> None:
    for refused in (
        lambda: sessions.finish("s-unknown", {"outcome": "done"}),
        lambda: sessions.fhir("unknown", Request("GET", "/Patient")),
    ):
        with pytest.raises(SessionError, match="there is no such session") as problem:
            refused()
        assert problem.value.status == 404


def test_a_finished_session_says_so(sessions: Sessions) -> None:
    opened = sessions.open({"task": AGE})
    sessions.finish(opened.session, {"outcome": "unclear"})
    for refused in (
        lambda: sessions.finish(opened.session, {"outcome": "done"}),
        lambda: sessions.fhir(opened.token, Request("GET", "/Patient")),
    ):
        with pytest.raises(SessionError, match="this session is finished; open another") as problem:
            refused()
        assert problem.value.status == 410


def test_an_expired_session_says_so_and_what_was_sent_is_kept_unscored(sessions: Sessions) -> None:
    used, unused = sessions.open({"task": AGE, "agent": "late"}), sessions.open({"task": WEIGHT})
    assert sessions.fhir(used.token, Request("GET", "/Patient?_count=1")).status == 200
    time: Any = sessions._now
    time.now += timedelta(hours=1)
    for opened in (used, unused):
        with pytest.raises(SessionError, match="this session is expired") as problem:
            sessions.fhir(opened.token, Request("GET", "/Patient"))
        assert problem.value.status == 410
        with pytest.raises(SessionError, match="expired"):
            sessions.finish(opened.session, {"outcome": "done"})
    kept = [episode for episode in sessions.folder.episodes() if episode.agent_kind == "session"]
    assert [(episode.agent, episode.ending, len(episode.calls)) for episode in kept] == [("late", "wall_time", 1)]
    assert {verdict.outcome for verdict in sessions.folder.verdicts_of(kept[0].id)} == {"unscored"}
    again = sessions.open({"task": AGE, "agent": "late"})
    sessions.finish(again.session, {"outcome": "unclear"})
    kept = [episode for episode in sessions.folder.episodes() if episode.agent_kind == "session"]
    assert [(episode.repeat, episode.ending) for episode in kept] == [(0, "finished")]


def test_there_are_only_so_many_at_once_and_those_that_expired_make_room(sessions: Sessions) -> None:
    for _ in range(3):
        sessions.open({"task": AGE})
    with pytest.raises(SessionError, match="there are 3 open sessions") as problem:
        sessions.open({"task": AGE})
    assert problem.value.status == 503
    time: Any = sessions._now
    time.now += timedelta(hours=2)
    sessions.open({"task": AGE})


def test_a_session_is_finished_once_however_many_try(address: str) -> None:
    opened = posted(f"{address}/sessions", {"task": AGE, "agent": "racer"}, 201)
    url = f"{address}/sessions/{opened['session']}/finish"

    def finish(_: int) -> int:
        return requests.post(url, json={"outcome": "unclear"}, timeout=30).status_code

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(finish, range(8))) == [200] + [410] * 7


def test_what_finish_does_not_take_leaves_the_session_open(address: str) -> None:
    opened = posted(f"{address}/sessions", {"task": AGE}, 201)
    url = f"{address}/sessions/{opened['session']}/finish"
    for wrong in ({}, {"outcome": "perfect"}, {"outcome": "done", "answer": "x"}, [], "done"):
        assert "finish" in posted(url, wrong, 400)["error"]
    assert requests.post(url, data=b"{", timeout=10).status_code == 400
    assert requests.post(url, data=b" " * (LONGEST_JSON + 1), timeout=10).status_code == 413
    assert posted(url, {"outcome": "unclear"})["success"] is False


# ---- what is never told


def test_a_session_that_cannot_be_kept_stays_open_and_loses_nothing(sessions: Sessions, folder: RunFolder) -> None:
    opened = sessions.open({"task": AGE, "agent": "mine"})
    sessions.fhir(opened.token, Request("GET", "/Patient?_count=1"))
    kept, aside = folder.path / "episodes.jsonl", folder.path / "aside"
    kept.rename(aside)
    kept.mkdir()  # nothing can be written there
    with pytest.raises(SessionError, match=r"cannot be kept.*finish it again") as refused:
        sessions.finish(opened.session, {"outcome": "unclear"})
    assert refused.value.status == 503
    sessions.open({"task": WEIGHT})
    kept.rmdir()
    aside.rename(kept)
    assert sessions.finish(opened.session, {"outcome": "unclear"}).success is False
    assert [episode.agent for episode in folder.episodes()] == ["mine", "idle", "blind"]


def test_no_answer_tells_what_is_expected(suite: EhrSuite, address: str) -> None:
    listed = requests.get(f"{address}/tasks", timeout=10).json()
    assert [set(task) for task in listed["tasks"]] == [{"id", "instruction"}] * len(suite.tasks)
    opened = posted(f"{address}/sessions", {"task": AGE}, 201)
    closed = posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "done", "answer": ["0"]})
    right = next(task.answer for task in suite.tasks if task.id == AGE)
    assert right is not None
    value = right["values"][0]["quantity"]["value"]
    assert value not in json.dumps(closed["verdicts"]).replace(closed["episode"], "")
    assert all(clause["expected"] is None for verdict in closed["verdicts"] for clause in verdict["clauses"])
    for path in (
        "/tasks/" + AGE, "/sessions", f"/sessions/{opened['session']}", "/run.json", "/tasks.jsonl", "/verdicts.jsonl",
        "/f/../tasks.jsonl", "/f/%2e%2e/tasks.jsonl", "/docs", "/openapi.json", "/fhir/Patient",
    ):  # fmt: skip
        answer = requests.get(address + path, timeout=10)
        assert answer.status_code in (404, 405), (path, answer.text)
        assert "expected" not in answer.text


def test_a_fault_of_the_servers_own_tells_nothing(suite: EhrSuite, folder: RunFolder) -> None:
    class Broken(Sessions):
        def open(self, asked: Any) -> Any:
            raise RuntimeError(json.dumps(self.suite.tasks[0].expected))

    with served(lambda address: sessions_app(Broken(suite, folder, address))) as address:
        answer = requests.post(f"{address}/sessions", json={"task": AGE}, timeout=10)
    assert answer.status_code == 500
    assert answer.json() == {"error": "this is a fault of the server's own; its terminal says more"}


def test_two_sessions_cannot_see_each_other(suite: EhrSuite, address: str) -> None:
    one, other = (posted(f"{address}/sessions", {"task": WEIGHT, "agent": name}, 201) for name in ("a", "b"))
    assert len({one["session"], other["session"], one["token"], other["token"]}) == 4
    made = weigh(one["base_url"], parameters(suite, WEIGHT))
    id = made.json()["id"]
    assert requests.get(f"{one['base_url']}/Observation/{id}", timeout=10).status_code == 200
    assert requests.get(f"{other['base_url']}/Observation/{id}", timeout=10).status_code == 404
    assert requests.get(f"{address}/f/{one['session']}/fhir/Patient", timeout=10).status_code == 404
    assert (
        requests.post(f"{address}/sessions/{one['token']}/finish", json={"outcome": "done"}, timeout=10).status_code
        == 404
    )
    assert posted(f"{address}/sessions/{other['session']}/finish", {"outcome": "done"})["success"] is False
    assert posted(f"{address}/sessions/{one['session']}/finish", {"outcome": "done"})["success"] is True


def test_credentials_that_come_along_are_kept_nowhere(folder: RunFolder, address: str) -> None:
    opened = posted(f"{address}/sessions", {"task": AGE}, 201)
    headers = {"Authorization": "Bearer sk-secret", "Cookie": "id=sk-secret"}
    assert requests.get(f"{opened['base_url']}/Patient?_count=1", headers=headers, timeout=10).status_code == 200
    posted(f"{address}/sessions/{opened['session']}/finish", {"outcome": "unclear"})
    assert "sk-secret" not in (folder.path / "episodes.jsonl").read_text()


# ---- many at once

EIGHT = """
import json, sys, requests
from concurrent.futures import ThreadPoolExecutor

address, told, number = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
FHIR = {"Content-Type": "application/fhir+json"}

def play(which):
    name = f"p{number}-{which}"
    opened = requests.post(f"{address}/sessions", json={"task": "ehr/record-weight/0001", "agent": name}).json()
    base, right = opened["base_url"], which % 2 == 0
    patient = requests.get(f"{base}/Patient", params=told["search"]).json()["entry"][0]["resource"]["id"]
    weight = {**told["weight"], "subject": {"reference": f"Patient/{patient}"}, "note": [{"text": name}]}
    if not right:
        weight["valueQuantity"] = {**weight["valueQuantity"], "value": 1.5}
    made = requests.post(f"{base}/Observation", json=weight, headers=FHIR).json()
    mine = requests.get(f"{base}/Observation/{made['id']}").json()["note"][0]["text"]
    closed = requests.post(f"{address}/sessions/{opened['session']}/finish", json={"outcome": "done"}).json()
    return mine == name and made["id"] == "1000" and closed["success"] is right

with ThreadPoolExecutor(8) as threads:
    print(json.dumps(list(threads.map(play, range(8)))))
"""


def test_64_sessions_at_once_from_8_processes(suite: EhrSuite, folder: RunFolder, address: str) -> None:
    told = parameters(suite, WEIGHT)
    weight = {
        "resourceType": "Observation", "status": "final", "effectiveDateTime": told["at"],
        "code": {"coding": [{"system": "http://loinc.org", "code": "29463-7"}]},
        "valueQuantity": {"value": told["value"], "unit": told["unit"], "system": "http://unitsofmeasure.org",
                          "code": told["unit"]},
    }  # fmt: skip
    sent = json.dumps({"search": _search(told["patient"]), "weight": weight})

    def process(number: int) -> list[bool]:
        command = [sys.executable, "-c", EIGHT, address, sent, str(number)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
        assert ended.returncode == 0, ended.stderr
        outcomes: list[bool] = json.loads(ended.stdout)
        return outcomes

    with ThreadPoolExecutor(8) as threads:
        found = [outcome for outcomes in threads.map(process, range(8)) for outcome in outcomes]
    assert found == [True] * 64
    episodes = [episode for episode in folder.episodes() if episode.agent_kind == "session"]
    assert len({episode.agent for episode in episodes}) == len(episodes) == 64
    for episode in episodes:
        assert len(episode.changes) == 1
        assert episode.agent in (episode.changes[0].after or "")
        assert episode.self_check is not None and episode.self_check.agrees
