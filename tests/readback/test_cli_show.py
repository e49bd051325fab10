"""`readback show`: what stands in a run folder, on the terminal and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.runfolder import RunFolder
from harness.trace import Call, Change, Text
from harness.verdict import Clause, Evidence
from tests.readback.command import readback
from tests.readback.hand import ABOUT, Run, task

PATIENT = '{"resourceType":"Patient","id":"p1","telecom":[{"value":"555"}],"multipleBirthInteger":%s}'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three episodes of two tasks by two agents."""
    run = Run([task("weight/0001a"), task("phone/0002a", requires=("state", "answer"))])
    run.play(
        "weight/0001a",
        "oracle",
        says={"state": "pass", "message": "pass"},
        calls=(
            Call(
                position=1, step=1, name="fhir_create", arguments={"type": "Observation"}, status="ok",
                result={"status": 201, "headers": {}, "body": {"resourceType": "Observation", "id": "1000"}},
            ),
        ),
        changes=[Change(verb="create", reference="Observation/1000", before=None, after='{"a":1.00,"b":[true]}')],
        clauses=[Clause(name="creates[0].patient", outcome="pass")],
    )  # fmt: skip
    run.play(
        "weight/0001a",
        "gpt",
        says={"state": "fail WRONG_UNIT", "message": "pass"},
        texts=(Text(step=1, text="I will \x1b[31mwrite\u202e it."),),
        note="all\x07 good",
        clauses=[
            Clause(
                name="creates[0].dose", outcome="fail", label="WRONG_UNIT", expected="2 g", actual="2 mg",
                evidence=Evidence(call=3, resource="MedicationRequest/m1", path="dosageInstruction[0]"),
            )
        ],
    )  # fmt: skip
    run.play(
        "phone/0002a",
        "gpt",
        ending="provider_error",
        claim=None,
        error="503 from the provider",
        says={"state": "unscored"},
        changes=[Change(verb="update", reference="Patient/p1", before=PATIENT % "1", after=PATIENT % "1.0")],
    )
    with RunFolder.create(tmp_path / "run", {**ABOUT, "planned": 3}, run.tasks) as folder:
        folder.store([(e, [v for v in run.verdicts if v.episode == e.id]) for e in run.episodes])
    return tmp_path / "run"


def test_the_list_has_a_row_for_each_episode(run: Path) -> None:
    ended = readback("show", run)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "episode  task              agent   ending          success   labels",
        "0000     ehr/weight/0001a  oracle  finished        pass",
        "0001     ehr/weight/0001a  gpt     finished        fail      WRONG_UNIT",
        "0002     ehr/phone/0002a   gpt     provider_error  unscored",
    ]


def test_below_the_list_each_reason_of_an_error_stands_once(tmp_path: Path) -> None:
    errors = [
        "Traceback (most recent call last):\n  File 'a.py', line 3\n    raise X\nmine.Lost: no\npatient \x1b[31m",
        "503 from the provider",
        "503 from the provider",
        "x" * 301,
    ]
    run = Run([task("phone/0001a")])
    for number, error in enumerate(errors):
        run.play(
            "phone/0001a", f"gpt{number}", ending="provider_error", claim=None, error=error, says={"state": "unscored"}
        )
    with RunFolder.create(tmp_path / "run", {**ABOUT, "planned": 4}, run.tasks) as folder:
        folder.store([(e, [v for v in run.verdicts if v.episode == e.id]) for e in run.episodes])
    assert readback("show", tmp_path / "run").err.splitlines() == [
        "provider_error: mine.Lost: no patient ‹U+001B›[31m (0000)",
        "provider_error: 503 from the provider (2 episodes, such as 0001)",
        f"provider_error: {'x' * 300}… (0003)",
    ]


def test_of_a_long_error_the_end_is_shown_in_whole_lines(tmp_path: Path) -> None:
    run = Run([task("phone/0001a")])
    error = "\n".join(f"line {number:04}" for number in range(1000))
    run.play("phone/0001a", "gpt", ending="harness_error", claim=None, error=error, says={"state": "unscored"})
    with RunFolder.create(tmp_path / "run", {**ABOUT, "planned": 1}, run.tasks) as folder:
        folder.store([(e, [v for v in run.verdicts if v.episode == e.id]) for e in run.episodes])
    shown = readback("show", tmp_path / "run", "0000").out.splitlines()
    at = shown.index("Error")
    assert shown[at + 1 : at + 3] == ["  … (8,999 more characters; --full shows all)", "  line 0900"]
    assert "  line 0000" in readback("show", tmp_path / "run", "0000", "--full").out.splitlines()


def test_a_call_that_is_wrapped_stands_below_its_name(tmp_path: Path) -> None:
    run = Run([task("phone/0001a")])
    call = Call(position=1, step=1, name="fhir_create", arguments={"a": "b" * 200}, status="ok", result="done")
    run.play("phone/0001a", "gpt", calls=(call,), says={"state": "pass"})
    with RunFolder.create(tmp_path / "run", {**ABOUT, "planned": 1}, run.tasks) as folder:
        folder.store([(e, [v for v in run.verdicts if v.episode == e.id]) for e in run.episodes])
    shown = readback("show", tmp_path / "run", "0000").out.splitlines()
    at = shown.index("Calls (1)")
    assert [line[:6] for line in shown[at + 1 : at + 4]] == ["  1. f", "     {", "     b"]
    assert max(map(len, shown)) <= 120


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--failed"], ["sha256:0001"]),
        (["--unscored"], ["sha256:0002"]),
        (["--failed", "--unscored"], ["sha256:0001", "sha256:0002"]),
        (["--agent", "gpt", "--task", "weight"], ["sha256:0001"]),
        (["--label", "WRONG_UNIT"], ["sha256:0001"]),
        (["--condition", "default"], ["sha256:0000", "sha256:0001", "sha256:0002"]),
        (["ehr/weight/0001a"], ["sha256:0000", "sha256:0001"]),
    ],
)
def test_options_narrow_the_list(run: Path, options: list[str], ids: list[str]) -> None:
    document = readback("show", run, *options, "--all", "--json").document
    if document["format"] == "readback.shown/1":
        assert [document["episode"]["id"]] == ids
    else:
        assert document["format"] == "readback.episodes/1"
        assert [episode["id"] for episode in document["episodes"]] == ids


@pytest.mark.parametrize("name", ["0000", "sha256:0000", "sha256:0000"[:-1]])
def test_an_episode_is_named_by_the_start_of_its_id(run: Path, name: str) -> None:
    ended = readback("show", run, name, "--agent", "oracle")
    assert ended.code == 0
    for expected in (
        "ehr/weight/0001a · oracle · default",
        "✓ succeeded; it requires state",
        "Do weight/0001a.",
        '1. fhir_create {"type":"Observation"}',
        '→ 201 {"resourceType":"Observation","id":"1000"}',
        "create Observation/1000",
        "+ a 1.00",
        "+ b[0] true",
        "✓ state pass",
        "✓ creates[0].patient",
    ):
        assert expected in ended.out


def test_a_failed_clause_says_what_was_expected_and_found_and_where(run: Path) -> None:
    out = readback("show", run, "0001").out
    assert "✗ failed; it requires state" in out
    assert "✗ state fail WRONG_UNIT" in out
    assert (
        "✗ creates[0].dose  WRONG_UNIT  expected 2 g, found 2 mg  [call 3 MedicationRequest/m1 dosageInstruction[0]]"
    ) in out
    assert "message pass  (not required)" in out


def test_what_an_agent_wrote_cannot_move_the_cursor_or_turn_the_text(run: Path) -> None:
    out = readback("show", run, "0001").out
    assert "I will ‹U+001B›[31mwrite‹U+202E› it." in out
    assert "all‹U+0007› good" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_an_update_shows_the_elements_that_differ_digit_by_digit(run: Path) -> None:
    out = readback("show", run, "0002").out
    assert "? unscored; it requires state and answer" in out
    assert "503 from the provider" in out
    changed = out[out.index("update Patient/p1") :].splitlines()[:4]
    assert [line.strip() for line in changed] == [
        "update Patient/p1", "- multipleBirthInteger 1", "+ multipleBirthInteger 1.0", ""
    ]  # fmt: skip


def test_one_episode_as_json_is_all_that_is_known_of_it(run: Path) -> None:
    document = readback("show", run, "0001", "--json").document
    assert document["format"] == "readback.shown/1"
    assert document["task"]["id"] == "ehr/weight/0001a"
    assert document["episode"]["format"] == "readback.episode/1"
    assert [verdict["lens"] for verdict in document["verdicts"]] == ["state", "message"]


def test_of_a_lens_that_judged_again_by_other_rules_the_last_verdict_is_shown(run: Path) -> None:
    with RunFolder.append(run) as folder:
        id = next(folder.episodes()).id
        before = folder.verdicts_of(id)
        judges = [
            before[0].model_copy(update={"lens": "judge", "config": f"judge {name}", "outcome": "pass"})
            for name in ("a", "b")
        ]
        older, again = (
            before[0].model_copy(update={"config": age, "outcome": "fail", "reason": f"by the {age} rules"})
            for age in ("older", "newer")
        )
        folder.store_verdicts([older, again, *judges])
    out = readback("show", run, id).out
    assert out.count("state ") == 1
    assert "by the newer rules" in out
    assert out.count("✓ judge pass") == 2
    assert len(readback("show", run, id, "--json").document["verdicts"]) == len(before) + 4
    assert readback("report", run).code == 0
    page = (run / "report.html").read_text()
    assert page.count("by the newer rules") == 1
    assert "by the older rules" not in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["9999"], "there is no episode '9999'"),
        (["ehr/weigth/0001a"], "there is no episode 'ehr/weigth/0001a'; did you mean 'ehr/weight/0001a'"),
        (["--agent", "orcale"], "there is no agent 'orcale'; did you mean 'oracle'?"),
        (["--condition", "defualt"], "there is no condition 'defualt'; did you mean 'default'?"),
        (["--label", "NONE"], "holds 3 episodes, and none is like that"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest_name(run: Path, arguments: list[str], sentence: str) -> None:
    ended = readback("show", run, *arguments)
    assert ended.code == 2
    assert sentence in ended.sentence
    assert ended.out == ""


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    ended = readback("show", tmp_path)
    assert ended.code == 2
    assert ended.sentence == (
        f"{str(tmp_path)!r} is no run folder (it has no run.json); name the folder that readback run made"
    )


def test_a_run_of_another_version_is_named(run: Path) -> None:
    (run / "run.json").write_text('{"format": "readback.run/9"}')
    ended = readback("show", run)
    assert ended.code == 2
    assert "'readback.run/9'" in ended.sentence
    assert "'readback.run/1'" in ended.sentence
