"""The examples of docs/experiments.md run, and its tables name every key that a file may have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from readback.comparison.document import Comparison
from readback.experiment import read_experiment
from readback.experiment.document import ExperimentResult
from readback.experiment.file import Experiment, JudgeForm, Measure, PrimaryForm, RunForm, SideForm
from readback.schemas import schema
from tests.readback.command import readback
from tests.readback.test_cli_report import questions
from tests.support import ROOT

PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


def section(title: str) -> str:
    return PAGE.split(f"### {title}")[1].split("\n##")[0]


def test_the_commands_carry_out_the_experiments_that_come_along(here: Path, small_record: Path) -> None:
    """With fewer tasks, and on a small record; all else is as it is shipped."""
    (here / "experiments").mkdir()
    text = (ROOT / "experiments/grounding.toml").read_text()
    (here / "experiments/grounding.toml").write_text(text.replace("repeats = 2", "repeats = 2\nlimit = 1"))
    text = (ROOT / "experiments/ehr.toml").read_text().replace("per_template = 2", "")
    few = f'suite = "ehr"\nrecord = "{small_record}"\ntasks = ["record-weight"]\nper_template = 1'
    (here / "experiments/ehr.toml").write_text(text.replace('suite = "ehr"', few))
    told = commands(blocks("sh")[0])
    assert [words[0] for words in told] == ["experiment"] * 3
    for words in told:
        ended = readback(*words)
        assert ended.code == 0, (words, ended.err)
    assert (here / "runs/grounding/report.html").is_file()
    result = ExperimentResult.read((here / "runs/mine/result.json").read_text())
    assert result.complete and result.primary is not None


def test_the_file_that_is_shown_is_an_experiment(here: Path) -> None:
    (here / "mine.toml").write_text(blocks("toml")[0])
    (here / "prompt.txt").write_text("Name only what you have read.")
    assert readback("experiment", "mine.toml").code == 0
    (run,) = read_experiment(here / "mine.toml").runs
    assert run.conditions == ("default", "mine=prompt.txt")
    made = {path.name for path in (here / "runs/mine").iterdir()}
    told = re.findall(r"^\| `([\w.]+)` \|", PAGE.split("## What it makes")[1], re.MULTILINE)
    assert made == {*told, "repoqa"}


def test_the_commands_without_a_file_work(here: Path) -> None:
    pytest.importorskip("polars", reason="the extra polars is not installed")
    for name in ("a", "b"):
        questions(here / "runs" / name)
    for words in commands(blocks("sh")[1]):
        ended = readback(*words)
        assert ended.code == 0, (words, ended.err)
    assert (here / "both.html").is_file()
    assert (here / "numbers/agreement.csv").is_file()
    assert readback("report", "runs/a", "--latex").out.startswith("%")
    assert readback("report", "runs/a", "--parquet", "frames").code == 0
    assert Comparison.read(readback("compare", "runs/a", "runs/b", "--disagreements", "10", "--json").out).disagreements


def test_every_key_is_told_and_no_other() -> None:
    forms = {"`[primary]`": (PrimaryForm, SideForm), "`[[runs]]`": (RunForm,), "`[[judges]]`": (JudgeForm,)}
    for title, classes in forms.items():
        here = section(title)
        known = {name for form in classes for name in form.model_fields}
        for name in known:
            assert re.search(rf"`{name}\b", here), (title, name)
        rows = re.findall(r"^\| (`.*?) \|", here, re.MULTILINE)
        assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} <= known, title
    for measure in Measure.__args__:  # type: ignore[attr-defined]
        assert f"`{measure}`" in section("`[primary]`"), measure
    assert set(schema("experiment")["properties"]) == set(Experiment.model_fields)


def test_links_lead_somewhere() -> None:
    for target in [*re.findall(r"\]\(([^)#]+)", PAGE), *re.findall(r'src="([^"]+)"', PAGE)]:
        assert (ROOT / "docs" / target).exists(), target
