"""The examples of docs/repoqa.md run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from repoqa.lockfile import read_lock
from tests.readback.command import readback
from tests.support import ROOT

TEXT = (ROOT / "docs" / "repoqa.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_lock_file_is_one(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    (tmp_path / "our.lock").write_text(block)
    assert [pin.name for pin in read_lock(tmp_path / "our.lock").repositories] == ["our-service", "our-library"]


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, block = blocks("python")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/repoqa.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3 and printed[0].startswith("In the ferrytide repository, where is the ")


def test_the_agent_reads_what_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, _ = blocks("python")
    (command,) = blocks("sh")
    (tmp_path / "mine.py").write_text(agent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ended = readback(*shlex.split(command)[1:], "--json")
    row = ended.document["rows"][0]
    assert row["success"]["pass"] == 4 and row["success"]["fail"] == 0


def test_the_commands_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    commands = [
        shlex.split(line.strip(), comments=True)[1:] for line in TEXT.splitlines() if line.startswith("    readback ")
    ]
    assert len(commands) >= 7
    offline = [command for command in commands if "ferrytide" in command]
    assert offline and all(readback(*command).code == 0 for command in offline)
    for command in commands:
        assert readback(*command[: 2 if command[0] == "repos" else 1], "--help").code == 0
        if command[0] == "run" and "--lock" not in command:
            ended = readback(*[word.replace("MODEL", "m") for word in command], "--dry-run", "--json")
            assert ended.code == 0 and ended.document["suite"] == "repoqa", ended.err
