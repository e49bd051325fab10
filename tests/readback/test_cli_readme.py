"""What README.md and docs/agents.md show is true: their commands and their Python run, and their output looks so."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from readback.cli.app import app
from tests.harness.provider import Provider, Say
from tests.readback.command import Ended, readback
from tests.support import ROOT

PAGES = ("README.md", "docs/agents.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
NAMES = (
    "run", "resume", "score", "show", "report", "validate", "verify", "schema", "list", "record", "serve", "session",
    "judge", "annotate", "compare", "experiment", "repos", "ground",
)  # fmt: skip


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((ROOT / page).read_text()) if kind == language]


def commands(page: str) -> Iterator[list[str]]:
    """Each `readback ...` line of the page's shell blocks."""
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "readback":
                yield words[1:]


@pytest.fixture
def world(here: Path, small_record: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Provider, Provider]]:
    """A folder with everything that the pages speak of, and two providers of models."""
    finish = Say(calls=[("finish", {"outcome": "unclear"})])
    (here / "mine.py").write_text(blocks("docs/agents.md", "python")[0])
    sys.modules.pop("mine", None)
    (here / "bundles").mkdir()
    (here / "bundles/one.ndjson").write_text(
        '{"resourceType":"Patient","id":"p1","meta":{"lastUpdated":"2026-01-01T00:00:00Z"}}\n'
    )
    (here / "trace.json").write_text(blocks("docs/grounding.md", "json")[0])
    lines = (ROOT / "tests/ehr/verify/cases.jsonl").read_text().splitlines(keepends=True)
    (here / "CASES.jsonl").write_text("".join(lines[:3]))
    with Provider("openai", finish) as openai, Provider("anthropic", finish) as anthropic:
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        monkeypatch.setenv("OPENAI_BASE_URL", openai.base_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "right")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", anthropic.base_url)
        yield here, openai, anthropic


def played(words: list[str], record: Path, openai: Provider) -> Ended:
    """The command as it stands, on a small record, with few tasks, and the page's addresses and models made real."""
    words = [re.sub(r"http://127\.0\.0\.1:\d+/v1", openai.base_url, word) for word in words]
    if words[:2] == ["run", "repoqa"]:  # of the repository that needs no network
        return readback(*words, "--task", "ferrytide", "--limit", "2")
    if words[0] in ("run", "validate") or words[:2] == ["list", "tasks"]:
        words += [] if "--record" in words else ["--record", str(record)]
        if words[:2] != ["run", "ehr"] or "--agent" in words:
            words += ["--task", "patient-age", "--per-template", "2"]
        else:
            words += ["--per-template", "2"]
    if words[0] == "experiment":  # as it stands it plays more than a thousand episodes
        words = [*words[:1], str(ROOT / words[1]), "--dry-run"]
    if "--budget" in words:  # no model of a test has a price
        place = words.index("--budget")
        del words[place : place + 2]
    return readback(*words)


def test_every_command_of_the_readme_does_what_it_says(world: Any, small_record: Path) -> None:
    here, openai, anthropic = world
    assert readback("run", "ehr", "--record", small_record, "--per-template", "2").code == 0
    ran = []
    for words in commands("README.md"):
        if words[0] == "repos":  # needs a network
            continue
        ended = played(words, small_record, openai)
        assert ended.code == 0, (words, ended.err)
        ran.append(words[0])
    assert {"run", "show", "validate", "list", "verify", "record", "ground", "judge", "compare"} <= set(ran)
    assert {"annotate", "experiment", "report"} <= set(ran)
    assert openai.requests
    assert anthropic.requests
    assert (here / "ward.record").is_file()


def test_every_command_of_the_page_on_agents_does_what_it_says(world: Any, small_record: Path) -> None:
    _, openai, _ = world
    for words in commands("docs/agents.md"):
        ended = played(words, small_record, openai)
        assert ended.code == 0, (words, ended.err)


def test_the_agent_of_the_page_answers_what_it_can(world: Any, small_record: Path) -> None:
    ended = readback(
        "run", "ehr", "--record", small_record, "--task", "patient-age", "--task", "record-weight",
        "--agent", "python:mine:agent", "--json",
    )  # fmt: skip
    row = ended.document["rows"][0]
    assert row["endings"] == {"finished": 20}
    assert row["split"]["read"]["pass"] > 0
    assert row["split"]["write"]["pass"] == 0


def test_the_python_of_the_readme_runs(here: Path, small_record: Path) -> None:
    agent, summary = blocks("README.md", "python")
    assert readback("run", "ehr", "--record", small_record, "--task", "patient-age").code == 0
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(summary, "README.md", "exec"), {})
    assert out.getvalue().startswith("oracle default 1.0 (")
    assert len(out.getvalue().splitlines()) == 6
    (here / "short.py").write_text(agent)
    sys.modules.pop("short", None)
    ended = readback(
        "run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "python:short:agent", "--json"
    )
    assert ended.document["rows"][0]["endings"] == {"finished": 10}


def test_the_output_that_the_readme_shows_has_the_shape_of_the_real_one(here: Path, small_record: Path) -> None:
    (shown,) = blocks("README.md", "text")
    real = readback("run", "ehr", "--record", small_record, "--per-template", "2").out
    for text in (shown, real):
        assert re.search(r"^suite ehr · digest [0-9a-f]{12} · record [0-9a-f]{12} \(synthetic\) · clock ", text, re.M)
        assert re.search(r"^runs/ehr-1: (\d+) of \1 episodes scored$", text, re.M)
    assert headings(shown) == headings(real)[: len(headings(shown))]
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert rows == ["oracle", "idle", "blind", "phantom", "careless", "stutter"] * len(headings(shown))


def headings(text: str) -> list[list[str]]:
    """The columns of each table."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line.startswith("Agent ")]


def test_every_command_is_written_about() -> None:
    registered = [command.name for command in app.registered_commands]
    groups = [group.name for group in app.registered_groups]
    assert set(NAMES) <= set(registered) | set(groups)
    text = " ".join((ROOT / page).read_text() for page in PAGES)
    for name in NAMES:
        assert f"readback {name}" in text, name


def test_every_link_of_the_pages_leads_somewhere() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text()
        for target in re.findall(r"\]\(([^)#\s]+)\)|src=\"([^\"]+)\"", text):
            path = target[0] or target[1]
            if not path.startswith("http"):
                assert ((ROOT / page).parent / path).exists(), f"{page}: {path}"
