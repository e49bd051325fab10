"""`kill -9` at any moment of a run, then `resume`: no finished episode is lost, and none is played twice."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from harness.runfolder import RunFolder
from tests.readback.command import Ended, readback, started

KILLS = 20
EPISODES = 3 * 10 * 20
AGENT = """
import time

def agent(instruction, tools, *, system, clock):
    tools["fhir_search"](type="Patient", parameters={"name": "a"})
    time.sleep(0.03)
    return {"outcome": "unclear"}
"""


def finished_episodes(run: Path) -> dict[str, dict[str, Any]]:
    """The episodes that are there, whatever the last line looks like."""
    if not (run / "run.json").exists():
        return {}
    folder = RunFolder.open(run, warn=lambda sentence: None)
    return {episode.id: json.loads(episode.line()) for episode in folder.episodes()}


def test_kill_9_at_twenty_moments(here: Path, small_record: Path) -> None:
    (here / "mine.py").write_text(AGENT)
    run = Path("a")
    new = [
        "run", "ehr", "--record", small_record, "--task", "patient-age", "--per-template", "10", "--repeats", "20",
        "--agent", "python:mine:agent", "--out", run,
    ]  # fmt: skip
    chance = random.Random(9)
    kept: dict[str, dict[str, Any]] = {}
    moments = []
    for number in range(KILLS):
        made = (run / "run.json").exists()
        with started(*(["resume", run] if made else new), cwd=here) as process:
            if number % 4 == 0:  # at any moment, the start included
                time.sleep(chance.uniform(0, 1))
            else:  # while it plays
                enough = len(kept) + chance.randrange(1, 6)
                while process.poll() is None and lines_of(run) < enough:
                    time.sleep(chance.uniform(0, 0.02))
            process.kill()
            process.communicate()
        now = finished_episodes(run)
        assert {key: now[key] for key in kept} == kept, "a finished episode was lost, or played again"
        moments.append(len(now))
        kept = now
    assert 0 < len(kept) < EPISODES, f"the kills must fall into the run; it had {moments} episodes at each"
    ended: Ended = readback("resume", run, "--json")
    assert ended.code == 0
    assert ended.document["episodes"] == {"planned": EPISODES, "scored": EPISODES, "unscored": 0, "missing": 0}
    now = finished_episodes(run)
    assert {key: now[key] for key in kept} == kept
    ids = [json.loads(line)["id"] for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert len(ids) == len(set(ids)) == EPISODES


def lines_of(run: Path) -> int:
    """How many lines of episodes are there."""
    path = run / "episodes.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
