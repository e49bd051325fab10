"""A suite is plugged in by a line in the registry; every command then knows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema_rs import validator_for

from readback import registry
from readback.cli.faults import FaultError, faults_kept_in
from readback.cli.progress import Meter
from readback.registry import Choices
from readback.schemas import schema
from tests.readback.command import readback


@pytest.fixture
def toy(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(registry.SUITES, "toy", "tests.readback.toy")
    return here


def test_a_suite_that_is_plugged_in_is_run_and_resumed_and_scored_and_shown(toy: Path) -> None:
    ended = readback("run", "toy", "--out", "a", "--json")
    assert ended.code == 0
    assert [(row["agent"], row["success"]["rate"]) for row in ended.document["rows"]] == [("oracle", 1), ("idle", 0)]
    assert "counting on" in ended.err
    assert "warning: template 'lower' cannot be drawn in full on this record: a tally only rises" in ended.err
    assert "is finished" in readback("resume", "a").err
    assert readback("score", "a").code == 0
    assert "tally/raise/0002" in readback("show", "a", "--agent", "oracle").out
    assert "✓ succeeded" in readback("show", "a", "tally/raise/0002", "--agent", "oracle").out


def test_a_suites_conditions_are_known_before_it_is_opened(here: Path, small_record: Path) -> None:
    chosen = {"ehr": Choices(record=small_record, tasks=("patient-age",)), "repoqa": Choices(tasks=("ferrytide",))}
    for name, choices in chosen.items():
        source = registry.suite_source(name)
        with source.open(choices) as suite:
            assert list(source.conditions) == list(suite.conditions)


def test_a_name_that_is_like_no_other_has_no_suggestion(here: Path) -> None:
    assert readback("schema", "nope").sentence == "there is no schema 'nope'; see readback schema"
    assert "did you mean 'vote'?" in readback("schema", "votes").sentence


def test_an_unknown_suite_is_told_with_its_nearest_names(toy: Path) -> None:
    assert readback("run", "tox").sentence == "there is no suite 'tox'; did you mean 'toy'? See readback list suites"
    assert "toy  counting" in readback("list", "suites").out


def test_a_run_of_a_suite_that_is_not_there_any_more_is_told(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert readback("run", "toy", "--agent", "idle", "--out", "a").code == 0
    monkeypatch.delitem(registry.SUITES, "toy")
    ended = readback("score", "a")
    assert ended.code == 2
    assert ended.sentence.startswith("there is no suite 'toy'")


def test_validate_names_the_task_that_is_unsound(toy: Path) -> None:
    ended = readback("validate", "toy")
    assert ended.code == 1
    assert ended.out == "tally/raise/0002: idle: expected failure; it‹U+001B›[31m succeeds\n"
    assert ended.err.endswith("toy is not sound: 1 problem in 1 of 3 tasks.\n")
    document = readback("validate", "toy", "--json").document
    validator_for(schema("validation")).validate(document)
    assert document["problems"][0]["task"] == "tally/raise/0002"


def test_validate_says_that_the_real_suite_is_sound(here: Path, small_record: Path) -> None:
    arguments = ["validate", "ehr", "--record", small_record, "--task", "patient-age", "--per-template", "2"]
    ended = readback(*arguments)
    assert ended.code == 0, ended.out
    assert ended.out.endswith("did what they must.\n")
    document = readback(*arguments, "--json").document
    validator_for(schema("validation")).validate(document)
    assert document["sound"] is True
    assert document["successes"]["oracle"] == 2
    assert document["successes"]["idle"] == 0


def test_a_fault_of_ours_in_a_run_is_kept_in_its_folder(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match=r"ZeroDivisionError.*fault\.txt"), faults_kept_in(tmp_path):
        json.dumps(1 / 0)
    assert "ZeroDivisionError: division by zero" in (tmp_path / "fault.txt").read_text()


def test_a_fault_is_kept_elsewhere_where_the_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FaultError) as caught, faults_kept_in(tmp_path / "gone"):
        raise KeyError("boom")
    kept = Path(re.findall(r"is in '([^']+)'", str(caught.value))[0])
    assert "KeyError: 'boom'" in kept.read_text()
    kept.unlink()


def test_a_mistake_of_the_user_is_no_fault(tmp_path: Path) -> None:
    with pytest.raises(registry.UnknownNameError), faults_kept_in(tmp_path):
        registry.suite_source("nothing")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_a_line_each_tenth_but_not_more_often_than_every_two_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    time = 0.0
    with Meter("work", 100, unit="things", now=lambda: time) as meter:
        for done, at in ((5, 1.0), (30, 1.5), (31, 3.0), (32, 6.0), (40, 6.5), (41, 6.6), (42, 38.0), (100, 38.5)):
            time = at
            meter.at(done)
    assert capsys.readouterr().err.splitlines() == [
        "work: 31 of 100 things (3 s)",
        "work: 40 of 100 things (6 s)",
        "work: 42 of 100 things (38 s)",
    ]


def test_where_the_end_is_not_known_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    time = 0.0
    with Meter("work", unit="things", now=lambda: time) as meter:
        for done, at in ((1000, 5.0), (2000, 31.0), (3000, 60.0), (4000, 61.5)):
            time = at
            meter.at(done)
    assert capsys.readouterr().err.splitlines() == [
        "work: 2000 things so far (31 s)",
        "work: 4000 things so far (62 s)",
    ]


def test_a_record_that_no_task_can_be_drawn_from_is_refused_with_the_reason(here: Path) -> None:
    patient = here / "patient.json"
    patient.write_text('{"resourceType": "Patient", "id": "a"}')
    clock = ("--clock", "2026-01-15T10:15:00+00:00")
    assert readback("record", "import", patient, "--out", "empty.record", *clock).code == 0
    for command in (("run", "ehr"), ("validate", "ehr"), ("serve", "ehr", "--port", 0)):
        ended = readback(*command, "--record", "empty.record")
        assert (ended.code, ended.out) == (2, "")
        assert ended.sentence == (
            "ehr has no task here: the record has no living patient with a full name, a birth date and an MRN;"
            " name another record, or other tasks"
        )
    listed = readback("list", "tasks", "--record", "empty.record")
    assert listed.code == 0
    (warning,) = listed.err.splitlines()
    assert " templates cannot be drawn in full on this record: the record has no living patient" in warning
    assert "(patient-lookup, patient-age, " in warning
