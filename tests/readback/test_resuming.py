"""Going on with what was begun on a machine that has other repositories now, or with another record."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.readback.command import readback
from tests.readback.test_cli_repositories import mine, place
from tests.readback.test_experiment import SMALL

__all__ = ["mine", "place"]

FEW = SMALL.replace('tasks = ["ferrytide"]', 'lock = "mine.lock"').replace('"oracle", "guess"', '"oracle"')


def torn(run: Path) -> None:
    """Lose the last episode."""
    lines = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (run / "episodes.jsonl").write_text("".join(lines[:-1]))


def test_a_run_goes_on_with_its_own_repositories_whichever_have_come_since(place: Path, mine: Path) -> None:
    assert readback("run", "repoqa", "--lock", mine, "--limit", 2, "--out", "a").code == 0
    torn(place / "a")
    assert readback("repos", "sync", "--lock", mine).code == 0
    ended = readback("resume", "a", "--json")
    assert ended.code == 0, ended.err
    assert "are not what they were" not in ended.err
    assert ended.document["episodes"] == {"planned": 12, "scored": 12, "unscored": 0, "missing": 0}


def test_a_repository_that_is_gone_is_named(place: Path, mine: Path) -> None:
    assert readback("repos", "sync", "--lock", mine).code == 0
    assert readback("run", "repoqa", "--lock", mine, "--limit", 2, "--out", "a").code == 0
    torn(place / "a")
    shutil.rmtree(place / "cache")
    assert readback("resume", "a").sentence == "there is no repository here 'mine'; bring it by readback repos sync"


def test_an_experiment_goes_on_likewise(place: Path, mine: Path) -> None:
    (place / "e.toml").write_text(FEW)
    assert readback("experiment", "e.toml").code == 0
    torn(place / "runs/small/repoqa")
    assert readback("repos", "sync", "--lock", mine).code == 0
    ended = readback("experiment", "e.toml", "--json")
    assert ended.code == 0, ended.err
    assert "are not what they were" not in ended.err
    assert ended.document["complete"] and ended.document["primary"]["pairs"] == 3


def test_an_experiment_on_another_record_is_refused(here: Path, small_record: Path) -> None:
    text = SMALL.replace('suite = "repoqa"\ntasks = ["ferrytide"]', 'suite = "ehr"\nrecord = "its.record"')
    text = text.replace('"CG"', '"success"').replace('a = { condition = "default" }', 'a = { agent = "idle" }')
    text = text.replace('b = { condition = "grounded" }', 'b = { agent = "oracle" }').replace(', "grounded"]', "]")
    text = text.replace("limit = 3", 'tasks = ["patient-age"]\nlimit = 1').replace('"guess"', '"idle"')
    (here / "e.toml").write_text(text)
    (here / "its.record").write_bytes(small_record.read_bytes())
    assert readback("experiment", "e.toml").code == 0
    (here / "its.record").unlink()
    assert readback("record", "build", "--patients", "2", "--out", "its.record").code == 0
    ended = readback("experiment", "e.toml")
    assert ended.code == 2
    assert "'runs/small/ehr' was played on the record sha256:" in ended.sentence
