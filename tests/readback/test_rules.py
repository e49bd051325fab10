"""A judge that is a rule says so wherever it appears, and of several judges none passes for another."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from harness.runfolder import RunFolder
from harness.values import canonical
from readback.summary import Summary, summary_of
from readback.tables import screen_of
from tests.readback import hand
from tests.readback.command import readback
from tests.readback.test_cli_judge import a_run
from tests.readback.test_experiment import SMALL

RULE = "scripted:overlap (a rule, no model), facts"


@pytest.fixture
def run(here: Path) -> Path:
    """Four episodes of a small run, and one of each baseline without which there are no tables."""
    path = a_run(here / "a")
    with RunFolder.append(path) as folder:
        task = next(iter(folder.tasks()))
        played = next(iter(folder.episodes()))
        for name in ("idle", "blind"):
            more = {"id": f"sha256:{name}", "agent": name, "agent_kind": "baseline", "answer": ()}
            folder.store([(played.model_copy(update=more), [])])
        assert task.id == played.task
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def summary(path: Path) -> Summary:
    return summary_of(RunFolder.open(path))


def test_the_one_judge_of_a_run_that_is_a_rule_is_called_one(run: Path) -> None:
    assert readback("judge", run, "--model", "scripted:overlap").code == 0
    row = next(row for row in summary(run).rows if row.kind == "model")
    assert row.lenses["judge"].is_rule
    (config,) = row.judges
    assert row.judges[config] == row.lenses["judge"]
    grid = next(grid for grid in screen_of(summary(run)).grids if grid.title.startswith("Success"))
    assert grid.columns[-1].header == "Judge (a rule)"
    assert any("a rule shows that everything works" in note for note in screen_of(summary(run)).notes)


def test_in_every_form_of_the_report(run: Path) -> None:
    assert readback("judge", run, "--model", "scripted:overlap", "--rubric", "facts", "--rubric", "predicate").code == 0
    page = Path(readback("report", run).out.strip()).read_text()
    assert f"Passed by {RULE}" in page and "no model judged" not in page
    for form in ("--markdown", "--latex"):
        said = readback("report", run, form).out
        assert RULE in said
        named = [line for line in said.splitlines() if "scripted:overlap" in line]
        assert named and all("a rule" in line for line in named), [line for line in named if "a rule" not in line]
    folder = run.parent / "csv"
    assert readback("report", run, "--csv", folder).code == 0
    for name, column in (("raters", "rater"), ("verdicts", "rater"), ("agreement", "a_rater")):
        assert RULE in {row[column] for row in rows_of(folder / f"{name}.csv")}, name
    rates = [row for row in rows_of(folder / "rates.csv") if row["measure"] == "lens judge"]
    assert rates and {row["rule"] for row in rates} == {"true"}
    assert len({row["config"] for row in rates}) == 2


def test_in_the_comparison_and_its_document(run: Path) -> None:
    readback("judge", run, "--model", "scripted:overlap", "--model", "scripted:coin")
    ended = readback("compare", run, "--disagreements", "2")
    named = [line for line in ended.out.splitlines() if "scripted:" in line]
    assert named and all("a rule" in line for line in named), named
    document = readback("compare", run, "--disagreements", "2", "--json").document
    told = [*document["raters"], *(pair[side] for pair in document["pairs"] for side in "ab")]
    told += [opinion for one in document["disagreements"] for opinion in one["opinions"]]
    rules = [one for one in told if "scripted:" in one["name"]]
    assert rules and all("(a rule, no model)" in one["name"] for one in rules)
    assert all(rater["kind"] == "scripted" for rater in document["raters"] if rater["lens"] == "judge")


def test_of_several_judges_none_passes_for_the_other(run: Path) -> None:
    readback("judge", run, "--model", "scripted:overlap")
    readback("judge", run, "--model", "scripted:coin?p=1")
    document = json.loads(summary(run).model_dump_json())
    assert len(document["configs"]["judge"]) == 2
    row = next(row for row in document["rows"] if row["kind"] == "model")
    assert "judge" not in row["lenses"], "one rate for two judges would be that of neither"
    assert sorted(rate["pass"] for rate in row["judges"].values()) == [2, 4]
    assert not any("Judge" in column.header for grid in screen_of(summary(run)).grids for column in grid.columns)


def test_labels_of_every_judge_choose_an_episode(run: Path) -> None:
    """The overlap fails two; a judge that passes all comes after it."""
    readback("judge", run, "--model", "scripted:overlap")
    readback("judge", run, "--model", "scripted:coin?p=1")
    shown = readback("show", run, "--label", "UNSUPPORTED", "--json").document
    assert len(shown["episodes"]) == 2


def test_a_model_is_no_rule(here: Path) -> None:
    run = hand.Run([hand.task("dose/0001a")])
    run.play("dose/0001a", says={"state": "pass", "judge": "pass"})
    run.play("dose/0001a", "idle", kind="baseline", says={"state": "fail"})
    run.play("dose/0001a", "blind", kind="baseline", says={"state": "fail"})
    with RunFolder.create(here / "b", hand.ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes])
    (grid, *_) = screen_of(summary(here / "b")).grids
    assert grid.columns[-1].header == "Judge"
    assert canonical(summary(here / "b").model_dump(mode="json")).count(b'"is_rule":true') == 0


def test_a_rule_in_the_primary_comparison_is_called_one(here: Path) -> None:
    text = SMALL.replace('"CG"', '"pass"').replace('{ condition = "default" }', '{ lens = "grounding" }')
    (here / "e.toml").write_text(text.replace('{ condition = "grounded" }', '{ lens = "judge" }'))
    ended = readback("experiment", here / "e.toml", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["primary"]["rule"]
    assert "The judge is a rule and no model" in readback("experiment", here / "e.toml").out
    assert "The judge is a rule and no model" in (here / "runs/small/report.html").read_text()
