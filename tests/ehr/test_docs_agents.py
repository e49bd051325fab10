"""The examples of docs/agents.md beyond a single command: bash with curl, Python over HTTP, the OpenAI SDK's loop."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehr.sandbox import Record
from ehr.serve import sessions_app
from ehr.sessions import Sessions, about_sessions
from ehr.tasks import synthetic
from ehr.tasks.suite import draw_suite
from harness.runfolder import RunFolder
from tests.ehr.test_serve import served
from tests.harness.provider import Provider, Say
from tests.support import ROOT

PAGE = (ROOT / "docs/agents.md").read_text()


def block(language: str, beginning: str) -> str:
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M) if beginning in text]
    assert len(found) == 1, (language, beginning, len(found))
    return found[0]


def ran(command: list[str], folder: Path, **environment: str) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, **environment}
    ended = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    path = tmp_path_factory.mktemp("records") / "small.record"
    with Record.build(synthetic.generate(patients=40, seed=5), path, clock=synthetic.CLOCK, synthetic=True) as built:
        yield built


@pytest.fixture
def server(record: Record, tmp_path: Path) -> Iterator[tuple[str, RunFolder]]:
    suite = draw_suite(record, seed=1, templates=["patient-age", "record-weight"], per_template=1)
    about = about_sessions(suite, command=["x"], options={})
    with (
        RunFolder.create(tmp_path / "run", about, suite.tasks) as folder,
        served(lambda address: sessions_app(Sessions(suite, folder, address))) as address,
    ):
        yield address, folder


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_bash_with_curl(server: tuple[str, RunFolder], tmp_path: Path) -> None:
    address, folder = server
    said = ran(["bash", "-eu", "-c", block("bash", "session open")], tmp_path, READBACK_SERVER=address)
    assert "body weight" in said or "weight" in said
    assert said.endswith(block("text", "ehr/record-weight/0001: success")), said
    (episode,) = (episode for episode in folder.episodes() if episode.agent == "from-bash")
    assert [call.name for call in episode.calls] == ["GET", "POST", "GET"]


def test_python_over_http(server: tuple[str, RunFolder], tmp_path: Path) -> None:
    address, folder = server
    said = ran([sys.executable, "-c", block("python", "from-python")], tmp_path, READBACK_SERVER=address)
    assert "patients" in said
    assert "False [('state', 'pass', []), ('answer', 'fail', ['NO_ANSWER']), ('message', 'pass', []), " in said
    assert "('grounding', 'vacuous', [])]" in said
    assert "from-python" in {episode.agent for episode in folder.episodes()}


def test_the_loop_of_the_openai_sdk(record: Record, tmp_path: Path) -> None:
    (tmp_path / "openai_loop.py").write_text(block("python", "from openai import OpenAI"))
    search = Say(calls=[("fhir_search", {"type": "Patient", "parameters": {"_count": "1"}})])
    finish = Say(calls=[("finish", {"outcome": "not_done", "answer": [], "note": "looked"})])
    command = block("bash", "python:openai_loop:agent").split()
    assert command[0] == "readback"
    more = ["--record", str(record.path), "--task", "patient-age", "--limit", "1", "--out", "run"]
    with Provider("openai", search, finish) as provider:
        ran(
            command[: command.index("--limit")] + more,
            tmp_path,
            OPENAI_API_KEY="right",
            OPENAI_BASE_URL=provider.base_url,
        )
    with RunFolder.open(tmp_path / "run") as folder:
        episode = next(episode for episode in folder.episodes() if episode.agent == "python:openai_loop:agent")
    assert (episode.ending, episode.claim, episode.note) == ("finished", "not_done", "looked")
    assert [call.name for call in episode.calls] == ["fhir_search"]
