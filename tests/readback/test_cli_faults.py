"""`readback run ehr --fault` and `--validation full`: in rows of their own, with what an agent noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from readback.schemas import schema
from readback.summary import read_threshold, shortfalls
from readback.summary.document import Summary
from tests.readback.command import readback

FEW = ["--task", "patient-age", "--task", "record-weight", "--task", "change-telephone", "--per-template", "2"]
TRUSTING_FAILS = ("lost_write", "dropped_field", "http_429", "http_503", "conflict")


@pytest.mark.parametrize(
    "fault", ["lost_write", "dropped_field", "http_429", "http_503", "conflict", "other_writer", "slow"]
)
def test_each_fault_has_rows_that_show_who_looked(here: Path, small_record: Path, fault: str) -> None:
    ended = readback("run", "ehr", "--record", small_record, *FEW, "--fault", fault, "--json")
    assert ended.code == 0, ended.err
    rows = {row["agent"]: row for row in ended.document["rows"]}
    assert list(rows) == ["oracle", "idle", "blind", "phantom", "careless", "stutter", "trusting"]
    assert {row["variant"]["fault"] for row in rows.values()} == {fault}
    oracle, trusting, idle = rows["oracle"], rows["trusting"], rows["idle"]
    assert oracle["success"]["rate"] == 1.0
    assert oracle["false_done"]["false"] == 0
    assert idle["success"]["rate"] == 0.0
    written = 0 if fault == "slow" else 4
    assert oracle["own_readback"]["read_back"] == oracle["own_readback"]["wrote"]
    assert oracle["own_readback"]["wrote"] >= written
    refused = {"http_429": 4, "http_503": 4, "conflict": 4, "other_writer": 2}.get(fault, 0)
    assert oracle["repaired_writes"] == {"refused": refused, "repaired": refused}
    if fault in TRUSTING_FAILS:
        assert trusting["split"]["write"]["pass"] == 0
        assert trusting["false_done"]["false"] == 4
    if fault == "other_writer":
        assert trusting["labels"] == {"LOST_UPDATE": 2}
    if fault == "lost_write":
        assert trusting["labels"] == {"PHANTOM_SUCCESS": 4}
        assert oracle["claims"] == {"not_done": 4, "done": 2}


def test_the_table_names_the_fault_and_says_that_it_is_no_headline(here: Path, small_record: Path) -> None:
    ended = readback("run", "ehr", "--record", small_record, *FEW, "--fault", "conflict", "--fault", "slow")
    assert ended.code == 0, ended.err
    assert "Success (fault conflict, protocol tools, validation hapi), in %" in ended.out
    assert "Conduct (fault slow, protocol tools, validation hapi)" in ended.out
    said = " ".join(ended.out.split())
    assert "Fault slow: a write is carried out, and its answer comes too late (504);" in said
    assert "No headline figure." in said
    again = readback("score", "runs/ehr-1", "--json")
    assert again.code == 0
    assert all(row["success"]["rate"] == 1.0 for row in again.document["rows"] if row["agent"] == "oracle")


def test_thresholds_pass_over_faults_where_there_are_other_rows() -> None:
    from readback.summary import summarise
    from tests.readback.hand import ABOUT, VARIANT, Run, task

    run = Run([task("a/0001")])
    run.play("a/0001", says={"state": "pass"})
    run.play("a/0001", says={"state": "fail PHANTOM_SUCCESS"}, variant={**VARIANT, "fault": "lost_write"})

    def of(episodes: int) -> Summary:
        return summarise(ABOUT, run.tasks, run.episodes[-episodes:], run.verdicts, run="r")

    assert shortfalls(of(2), [read_threshold("success=1")]) == []
    assert len(shortfalls(of(1), [read_threshold("success=1")])) == 1


def test_full_validation_is_played_beside_the_usual_and_the_difference_is_said(here: Path, small_record: Path) -> None:
    (here / "sloppy.py").write_text(
        "def agent(instruction, tools, *, system, clock):\n"
        "    import re\n"
        "    mrn = re.search(r'MRN (\\d+)', instruction)\n"
        "    if not mrn or 'weigh' not in instruction:\n"
        "        return {'outcome': 'unclear'}\n"
        "    tools['fhir_create'](type='Observation', resource={'resourceType': 'Observation', 'nonsense': 1})\n"
        "    return {'outcome': 'unclear'}\n"
    )
    run = ["run", "ehr", "--record", small_record, *FEW, "--validation", "full"]
    ended = readback(*run, "--agent", "oracle", "--agent", "python:sloppy:agent", "--out", "a", "--json")
    assert ended.code == 0, ended.err
    ways = {(row["agent"], row["variant"]["validation"]) for row in ended.document["rows"]}
    assert {("oracle", "hapi"), ("oracle", "full"), ("idle", "full")} <= ways
    oracle = next(one for one in ended.document["validation"] if one["agent"] == "oracle")
    assert oracle == {
        "agent": "oracle", "condition": "default", "fault": None, "pairs": 6, "only_hapi": 0, "only_full": 0,
    }  # fmt: skip
    shown = readback("score", "a").out
    assert "Validation full against hapi, conclusions that differ: " in shown.replace("\n", " ")
    assert "oracle (default) 0 of 6" in " ".join(shown.split())
    assert "Validation full against hapi" in Path("a/report.html").read_text()


def test_what_cannot_be_injected_is_said(here: Path, small_record: Path) -> None:
    ended = readback("run", "ehr", "--record", small_record, "--fault", "lost_writ")
    assert ended.code == 2 and "there is no fault 'lost_writ'; did you mean 'lost_write'" in ended.err
    ended = readback("run", "ehr", "--record", small_record, "--validation", "strict")
    assert ended.code == 2 and "there is no validation 'strict'; choose from full, hapi" in ended.err
    ended = readback("run", "ehr", "--record", small_record, "--fault", "slow", "--fault", "slow")
    assert ended.code == 2 and "named twice" in ended.err
    for asked in (["--fault", "slow"], ["--validation", "full"]):
        ended = readback("run", "ehr", "--record", "http://127.0.0.1:9/fhir", *asked)
        assert ended.code == 2 and "validates as it is set up, and has no faults" in ended.err
    ended = readback("run", "ehr", "--record", small_record, "--agent", "trusting")
    assert ended.code == 2 and "there is no agent 'trusting'" in ended.err
    assert not Path("runs").exists()


def test_a_run_under_a_fault_is_resumed_under_it(here: Path, small_record: Path) -> None:
    run = ["run", "ehr", "--record", small_record, "--task", "record-weight", "--per-template", "2", "--fault", "slow"]
    assert readback(*run, "--out", "a").code == 0
    episodes = Path("a/episodes.jsonl").read_text().splitlines()
    Path("a/episodes.jsonl").write_text("\n".join(episodes[:5]) + "\n")
    ended = readback("resume", "a", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["episodes"]["scored"] == 14
    assert {json.loads(line)["variant"]["fault"] for line in Path("a/episodes.jsonl").read_text().splitlines()} == {
        "slow"
    }


def test_the_faults_are_listed(here: Path) -> None:
    ended = readback("list", "faults", "--json")
    faults = {fault["name"]: fault["recoverable"] for fault in ended.document["faults"]}
    assert len(faults) == 7 and [name for name, can in faults.items() if not can] == ["lost_write"]
    assert "not recoverable" in readback("list", "faults").out
    assert schema("faults")["title"] == "FaultList"


def test_a_suite_is_validated_under_a_fault(here: Path, small_record: Path) -> None:
    few = ["--record", small_record, "--task", "record-weight", "--per-template", "2"]
    ended = readback("validate", "ehr", *few, "--fault", "http_503", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["successes"]["trusting"] == 0 and ended.document["successes"]["oracle"] == 2
    ended = readback("validate", "ehr", *few, "--fault", "http_418")
    assert ended.code == 2 and "there is no fault 'http_418'" in ended.err
