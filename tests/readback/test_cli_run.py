"""`readback run`, `resume`, `score`, `report`: from a name to a table, whatever is asked for wrongly."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validator_for

from harness.runfolder import RunFolder
from harness.task import Task
from readback.schemas import schema
from tests.readback.command import finished, readback, started
from tests.support import ROOT

BASELINES = ["oracle", "idle", "blind", "phantom", "careless", "stutter"]
TEMPLATES = ["--task", "patient-age", "--task", "record-weight", "--per-template", "2"]


def agent_module(folder: Path, name: str, body: str) -> None:
    text = f"def agent(instruction, tools, *, system, clock):\n    {body}\n"
    (folder / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def timeless(line: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "started": None, "ended": None} for call in line["calls"]]
    return {**line, "started": None, "ended": None, "calls": calls}


def test_without_an_agent_the_baselines_play_and_it_says_where_the_run_is(here: Path, small_record: Path) -> None:
    ended = readback("run", "ehr", "--record", small_record, *TEMPLATES)
    assert ended.code == 0
    assert "runs/ehr-1: 24 of 24 episodes scored" in ended.out
    for name in BASELINES:
        assert name in ended.out
    assert not [line for line in ended.out.splitlines() if line != line.rstrip()], "blanks at the end of a line"
    assert "The run is in runs/ehr-1, its report in runs/ehr-1/report.html." in ended.err
    assert "readback show runs/ehr-1 --failed" in ended.err
    assert sorted(path.name for path in Path("runs/ehr-1").iterdir() if not path.name.startswith(".")) == [
        "episodes.jsonl", "report.html", "run.json", "tasks.jsonl", "verdicts.jsonl",
    ]  # fmt: skip


def test_each_run_has_a_folder_of_its_own(here: Path, small_record: Path) -> None:
    for _ in range(2):
        assert readback("run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "idle").code == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["ehr-1", "ehr-2"]


def test_what_to_do_next_is_said_as_a_shell_takes_it(here: Path, small_record: Path) -> None:
    agent_module(here, "absent", 'raise OSError("not today")')
    run = ["run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "python:absent:agent"]
    ended = readback(*run, "--out", "of Ann's")
    assert ended.code == 3
    told = [line.partition("readback ")[2] for line in ended.err.splitlines() if line.startswith("  ")]
    assert [shlex.split(line)[:2] for line in told] == [[word, "of Ann's"] for word in ("resume", "show", "show")]
    again = readback(*run, "--out", "of Ann's")
    assert shlex.split(again.sentence.partition("go on with it by readback ")[2]) == ["resume", "of Ann's"]


def test_two_runs_that_begin_at_once_have_two_folders(here: Path, small_record: Path) -> None:
    run = ["run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "idle"]
    with started(*run, cwd=here) as one, started(*run, cwd=here) as other:
        for process in (one, other):
            _, err = process.communicate()
            assert process.returncode == 0, err
    assert sorted(path.name for path in Path("runs").iterdir()) == ["ehr-1", "ehr-2"]


def test_json_is_the_one_thing_on_stdout_and_every_file_keeps_its_schema(here: Path, small_record: Path) -> None:
    ended = readback("run", "ehr", "--record", small_record, *TEMPLATES, "--out", "a", "--json")
    assert ended.code == 0
    assert ended.out.count("\n") == 1
    validator_for(schema("summary")).validate(ended.document)
    assert ended.document["run"] == "a"
    assert ended.document["episodes"] == {"planned": 24, "scored": 24, "unscored": 0, "missing": 0}
    rates = {row["agent"]: row["success"]["rate"] for row in ended.document["rows"]}
    assert list(rates) == BASELINES
    assert rates["oracle"] == 1
    assert rates["idle"] == 0
    validator_for(schema("run")).validate(json.loads(Path("a/run.json").read_text()))
    for name in ("task", "episode", "verdict"):
        validator = validator_for(schema(name))
        for line in lines(Path(f"a/{name}s.jsonl")):
            validator.validate(line)


def test_beside_any_agent_idle_and_blind_play(here: Path, small_record: Path) -> None:
    ended = readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "oracle", "--json")
    assert [row["agent"] for row in ended.document["rows"]] == ["oracle", "idle", "blind"]


def test_limit_spreads_over_templates_and_changes_the_digest(here: Path, small_record: Path) -> None:
    whole = readback("list", "tasks", "--record", small_record, "--json").document
    ended = readback("run", "ehr", "--record", small_record, "--agent", "idle", "--limit", "7", "--out", "a", "--json")
    assert ended.code == 0
    tasks = RunFolder.open("a").tasks()
    assert len(tasks) == 7
    assert len({task.template for task in tasks}) >= 4
    assert ended.document["suite_digest"] != whole["suite_digest"]


def test_seed_conditions_repeats_and_jobs(here: Path, small_record: Path) -> None:
    (here / "mine.txt").write_text("Be quick. It is now {clock}.")
    ended = readback(
        "run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "oracle", "--condition", "default",
        "--condition", "grounded", "--condition", "mine=mine.txt", "--repeats", "2", "--seed", "5", "--jobs", "2",
        "--out", "a", "--json",
    )  # fmt: skip
    assert ended.code == 0
    summary = ended.document
    assert summary["seed"] == 5
    assert [row["condition"] for row in summary["rows"] if row["agent"] == "oracle"] == ["default", "grounded", "mine"]
    assert summary["episodes"]["planned"] == 4 * 3 * 2 * 3
    about = json.loads(Path("a/run.json").read_text())
    assert about["conditions"]["mine"]["prompt"].startswith("Be quick.")
    assert about["repeats"] == 2


def test_the_same_seed_gives_the_same_bytes_whatever_the_jobs(here: Path, small_record: Path) -> None:
    for out, jobs in (("a", "1"), ("b", "3")):
        assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--out", out, "--jobs", jobs).code == 0
    assert Path("a/tasks.jsonl").read_bytes() == Path("b/tasks.jsonl").read_bytes()
    assert Path("a/verdicts.jsonl").read_bytes() == Path("b/verdicts.jsonl").read_bytes()
    timeless = [
        [
            {**line, "started": "", "ended": "", "calls": len(line["calls"])}
            for line in lines(Path(out, "episodes.jsonl"))
        ]
        for out in ("a", "b")
    ]
    assert timeless[0] == timeless[1]


def test_a_dry_run_says_what_would_be_played_and_plays_nothing(here: Path, small_record: Path) -> None:
    arguments = ["run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "openai:m", "--dry-run"]
    ended = readback(*arguments)
    assert ended.code == 0
    assert "tasks        4, of 2 templates" in ended.out
    assert "episodes     12" in ended.out
    assert "cost         the price of openai:m is unknown" in ended.out
    document = readback(*arguments, "--json").document
    validator_for(schema("plan")).validate(document)
    assert document["agents"] == [
        {"agent": "openai:m", "kind": "model", "episodes": 4},
        {"agent": "idle", "kind": "baseline", "episodes": 4},
        {"agent": "blind", "kind": "baseline", "episodes": 4},
    ]
    assert not Path("runs").exists()


def test_a_threshold_that_is_missed_is_exit_code_1(here: Path, small_record: Path) -> None:
    arguments = ["run", "ehr", "--record", small_record, *TEMPLATES, "--fail-under"]
    agent_module(here, "lazy", 'return {"outcome": "unclear"}')
    assert readback(*arguments, "success=0.0", "--agent", "python:lazy:agent").code == 0
    ended = readback(*arguments, "success=0.8", "--agent", "python:lazy:agent")
    assert ended.code == 1
    assert "threshold missed: python:lazy:agent (default): success is 0.000, under 0.8" in ended.err


def test_your_own_program_is_an_agent_and_what_it_prints_is_no_result(here: Path, small_record: Path) -> None:
    agent_module(
        here, "chatty", 'print("thinking"); tools["fhir_read"](type="Patient", id="x"); return {"outcome": "done"}'
    )
    ended = readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "python:chatty:agent", "--json")
    assert ended.code == 0
    row = ended.document["rows"][0]
    assert (row["agent"], row["kind"], row["endings"]) == ("python:chatty:agent", "program", {"finished": 4})
    assert ended.err.count("thinking") == 4


def test_a_program_that_closes_what_it_prints_to_and_goes_elsewhere_hurts_nobody(
    here: Path, small_record: Path
) -> None:
    close = "print(1, file=sys.stderr); sys.stdout.close(); sys.stderr.close(); "
    agent_module(here, "rude", f'import os, sys; {close}os.chdir("/"); return {{"outcome": "unclear"}}')
    ended = readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "python:rude:agent", "--out", "a")
    assert ended.code == 0
    assert ended.err.count("1\n") >= 4
    assert "The run is in a, its report in a/report.html." in ended.err
    assert Path.cwd() == here
    assert Path("a/report.html").is_file()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_process_without_stdout_or_stderr_plays_all_the_same(here: Path, small_record: Path, closed: str) -> None:
    command = "import sys; from readback.cli import main; sys.exit(main())"
    run = ["run", "ehr", "--record", str(small_record), "--task", "patient-age", "--agent", "idle", "--out", "a"]
    code = subprocess.call(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", command, *run],
        cwd=here, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert code == 0
    assert Path("a/report.html").is_file()


@pytest.mark.parametrize(
    ("body", "ending", "code"),
    [
        ('raise ValueError("boom")', "harness_error", 3),
        ("import sys; sys.exit(0)", "harness_error", 3),
        ("import time; time.sleep(60)", "wall_time", 3),
        ('return "done"', "bad_format", 0),
        ('return {"outcome": "certainly"}', "bad_format", 0),
        ("return None", "bad_format", 0),
    ],
)
def test_a_program_that_raises_returns_nonsense_or_never_returns(
    here: Path, small_record: Path, body: str, ending: str, code: int
) -> None:
    agent_module(here, "faulty", body)
    ended = readback(
        "run", "ehr", "--record", small_record, "--task", "patient-age", "--per-template", "1",
        "--agent", "python:faulty:agent", "--seconds", "0.2", "--json", "--fail-under", "success=0.9",
    )  # fmt: skip
    assert ended.document["rows"][0]["endings"] == {ending: 1}
    assert ended.code == (3 if code == 3 else 1), "unscored comes before a missed threshold"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["erh"], "there is no suite 'erh'; did you mean 'ehr'? See readback list suites"),
        (["ehr", "--limit", "0"], "invalid value for '--limit': '0' is not a whole number, 1 or more"),
        (["ehr", "--repeats", "1.5"], "invalid value for '--repeats': '1.5' is not a whole number, 1 or more"),
        (["ehr", "--jobs", "0"], "invalid value for '--jobs': '0' is not a whole number from 1 to 256"),
        (["ehr", "--seed", "one"], "invalid value for '--seed': 'one' is not a whole number, 0 or more"),
        (["ehr", "--budget", "-1"], "invalid value for '--budget': '-1' is not a number above 0"),
        (["ehr", "--budget", "nan"], "invalid value for '--budget': 'nan' is not a number above 0"),
        (["ehr", "--cache", "sometimes"], "invalid value for '--cache'"),
        (["ehr", "--record", "127.0.0.1:8080/fhir"], "there is no record at '127.0.0.1:8080/fhir'; the address of a"),
        (["ehr", "--agent", "orcale"], "there is no agent 'orcale'; did you mean 'oracle'"),
        (["ehr", "--agent", "openai:"], "'openai:' is no agent; write openai:MODEL or anthropic:MODEL or python:"),
        (["ehr", "--agent", "openai:gpt-x"], "OPENAI_API_KEY is not set, and OpenAI does not answer without a key"),
        (["ehr", "--agent", "anthropic:x"], "ANTHROPIC_API_KEY is not set"),
        (["ehr", "--agent", "openai:x", "--base-url", "localhost:80"], "the base URL 'localhost:80' is none; expected"),
        (["ehr", "--base-url", "http://localhost/v1"], "the base URL 'http://localhost/v1' is for the models of one"),
        (
            ["ehr", "--agent", "openai:x?temperature", "--base-url", "http://localhost/v1"],
            "'temperature' in 'openai:x",
        ),
        (
            ["ehr", "--agent", "openai:x?seed=1&seed=2", "--base-url", "http://localhost/v1"],
            "the setting 'seed' in 'openai:x?seed=1&seed=2' is given twice; give it once",
        ),
        (["ehr", "--agent", "python:nowhere:agent"], "'python:nowhere:agent': there is no module 'nowhere'"),
        (["ehr", "--agent", "python:json:agent"], "'python:json:agent': 'json' has no 'agent'; it has"),
        (["ehr", "--agent", "python:json"], "'python:json' does not name a program; expected python:MODULE:CALLABLE"),
        (["ehr", "--agent", "oracle", "--agent", "oracle"], "two agents are called 'oracle'; name each once"),
        (
            ["ehr", "--condition", "grunded"],
            "there is no condition 'grunded'; did you mean 'grounded'? Your",
        ),
        (["ehr", "--record", "none.record", "--condition", "grunded"], "there is no condition 'grunded'; did you mean"),
        (["ehr", "--condition", "mine=none.txt"], "the prompt 'none.txt' of condition 'mine' cannot be read: No such"),
        (["ehr", "--condition", "mine=empty.txt"], "the prompt 'empty.txt' of condition 'mine' is empty; write what"),
        (["ehr", "--condition", "mine=binary"], "the prompt 'binary' of condition 'mine' is no UTF-8 text"),
        (["ehr", "--condition", "mine="], "'mine=' is no condition; write NAME=FILE"),
        (
            ["ehr", "--condition", "default=text.txt"],
            "'default' is the suite's own condition; give your",
        ),
        (["ehr", "--condition", "default", "--condition", "default"], "the condition 'default' is named twice"),
        (["ehr", "--task", "warfarin"], "there is no task or template 'warfarin'; did you mean 'warfarin-inr'? See"),
        (["ehr", "--task", "ehr/warfarin-inr/9999a"], "there is no task 'ehr/warfarin-inr/9999a'; did you mean"),
        (["ehr", "--fail-under", "success"], "--fail-under: 'success' is no threshold; write MEASURE=RATE with one of"),
        (["ehr", "--fail-under", "success=80"], "--fail-under: '80' in 'success=80' is no rate; give a number from 0"),
        (["ehr", "--out", "text.txt"], "'text.txt' is there already; name another with --out"),
        (["ehr", "--out", "full"], "'full' is there already; name another with --out"),
        (["ehr", "--out", "/proc/self/run"], "'/proc/self/run' cannot be made: "),
        (["ehr", "--record", "none.record"], "there is no record at 'none.record'; build one with"),
        (["ehr", "--record", "text.txt"], "'text.txt' is no record: it does not begin as one"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_begun(
    here: Path, small_record: Path, arguments: list[str], sentence: str
) -> None:
    (here / "empty.txt").write_text("  \n")
    (here / "text.txt").write_text("text")
    (here / "binary").write_bytes(b"\xff\xfe\x00")
    (here / "full").mkdir()
    (here / "full/notes.txt").write_text("mine")
    if "--record" not in arguments:
        arguments = [*arguments, "--record", str(small_record)]
    ended = readback("run", *arguments, "--json")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.sentence.startswith(sentence)
    assert not (here / "runs").exists()
    assert (here / "full/notes.txt").read_text() == "mine"


def test_a_folder_that_holds_a_run_is_not_written_over(here: Path, small_record: Path) -> None:
    arguments = ["run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "idle", "--out", "a"]
    assert readback(*arguments).code == 0
    before = Path("a/episodes.jsonl").read_bytes()
    ended = readback(*arguments)
    assert ended.code == 2
    assert ended.sentence == "'a' is there already; go on with it by readback resume a"
    assert Path("a/episodes.jsonl").read_bytes() == before


def test_a_record_of_real_people_is_not_sent_to_another_machine_unasked(here: Path, small_record: Path) -> None:
    assert readback("record", "export", small_record, "--out", "all.ndjson").code == 0
    assert readback("record", "import", "all.ndjson", "--out", "real.record").code == 0
    arguments = ["run", "ehr", "--record", "real.record", *TEMPLATES, "--dry-run", "--agent", "openai:m"]
    ended = readback(*arguments)
    assert ended.code == 2
    assert ended.sentence == (
        "the record is not marked synthetic, and openai:m is at https://api.openai.com/v1: its patients' data would"
        " leave this machine; if that is allowed, say so with --allow-external"
    )
    assert readback(*arguments, "--base-url", "https://models.example/v1").code == 2
    assert readback(*arguments, "--allow-external").code == 0
    for address in ("http://127.0.0.1:9/v1", "http://localhost:9/v1", "http://[::1]:9/v1"):
        assert readback(*arguments, "--base-url", address).code == 0


def test_resuming_a_finished_run_does_nothing_and_says_so(here: Path, small_record: Path) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--out", "a").code == 0
    before = {path.name: path.read_bytes() for path in Path("a").glob("*.jsonl")}
    small = Path("a/episodes.jsonl").stat().st_mtime_ns
    ended = readback("resume", "a", "--json")
    assert ended.code == 0
    assert "a is finished: there is nothing left to play." in ended.err
    assert ended.document["episodes"]["scored"] == 24
    assert {path.name: path.read_bytes() for path in Path("a").glob("*.jsonl")} == before
    assert Path("a/episodes.jsonl").stat().st_mtime_ns == small


def test_resume_plays_only_what_is_missing_or_unscored(here: Path, small_record: Path) -> None:
    agent_module(here, "moody", 'raise OSError("not today")')
    arguments = ["run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "python:moody:agent", "--out", "a"]
    ended = readback(*arguments, "--json")
    assert ended.code == 3
    assert ended.document["rows"][0]["success"]["unscored"] == 4
    assert "readback resume a" in ended.err
    kept = {line["id"]: line for line in lines(Path("a/episodes.jsonl")) if line["agent"] != "python:moody:agent"}
    agent_module(here, "moody", 'return {"outcome": "unclear"}')
    ended = readback("resume", "a", "--json")
    assert ended.code == 0
    assert ended.document["rows"][0]["endings"] == {"finished": 4}
    after = {line["id"]: line for line in lines(Path("a/episodes.jsonl"))}
    assert len(after) == 12
    assert all(after[key] == line for key, line in kept.items())


def test_resume_wants_the_record_that_the_run_was_played_on(here: Path, small_record: Path) -> None:
    Path("a.record").write_bytes(small_record.read_bytes())
    assert readback("record", "build", "--patients", "2", "--out", "b.record").code == 0
    agent_module(here, "absent", 'raise OSError("not today")')
    run = ["run", "ehr", "--record", "a.record", *TEMPLATES, "--agent", "python:absent:agent", "--out", "a"]
    assert readback(*run).code == 3
    ended = readback("resume", "a", "--record", "b.record")
    assert ended.code == 2
    assert "was played on the record" in ended.sentence
    Path("a.record").rename("moved.record")
    assert readback("resume", "a").sentence == (
        "'a' was played on the record at 'a.record', which is not there; say where it is with --record"
    )
    assert readback("resume", "a", "--record", "moved.record").code == 3


@pytest.mark.parametrize("command", ["resume", "score"])
def test_a_run_whose_description_was_changed_is_named(here: Path, small_record: Path, command: str) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "idle", "--out", "a").code == 0
    about = json.loads(Path("a/run.json").read_text())
    for key in ("suite", "planned", "agents"):
        Path("a/run.json").write_text(json.dumps({name: value for name, value in about.items() if name != key}))
        ended = readback(command, "a")
        assert ended.code == 2
        assert ended.sentence.startswith(f"'a/run.json' does not describe a whole run ({key}: ")


@pytest.mark.parametrize("command", ["resume", "score", "show", "report"])
def test_what_is_no_run_is_named(here: Path, command: str) -> None:
    (here / "empty").mkdir()
    (here / "other").mkdir()
    (here / "other/run.json").write_text('{"format": "readback.run/7"}')
    (here / "torn").mkdir()
    (here / "torn/run.json").write_text('{"format": "readb')
    for name, words in (
        ("empty", "is no run folder"),
        ("none", "is no run folder"),
        ("other", "readback.run/7"),
        ("torn", "torn"),
    ):
        ended = readback(command, name)
        assert ended.code == 2
        assert words in ended.sentence


def test_score_needs_the_folder_alone(here: Path, small_record: Path) -> None:
    Path("gone.record").write_bytes(small_record.read_bytes())
    assert readback("run", "ehr", "--record", "gone.record", *TEMPLATES, "--out", "a").code == 0
    Path("gone.record").unlink()
    before = lines(Path("a/verdicts.jsonl"))
    summary = readback("resume", "a", "--json").document
    Path("a/verdicts.jsonl").write_text("")
    Path("a/report.html").unlink()
    ended = finished("score", "a", "--json", cwd=here, XDG_CACHE_HOME=str(here / "nothing"))
    assert ended.code == 0
    assert ended.document == summary
    assert lines(Path("a/verdicts.jsonl")) == before
    assert Path("a/report.html").is_file()
    assert "24 episodes were judged again" in ended.err
    assert not (here / "nothing").exists()


def test_where_a_judge_fails_score_says_so_and_what_was_said_before_stands(here: Path, small_record: Path) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "oracle", "--out", "a").code == 0
    before = lines(Path("a/verdicts.jsonl"))
    tasks = lines(Path("a/tasks.jsonl"))
    broken = next(task for task in tasks if task["kind"] == "write")
    broken["expected"] = {"creates": [5]}
    Path("a/tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    ended = readback("score", "a")
    assert ended.code == 3
    warning = f"warning: task {broken['id']!r}, agent 'oracle': the judge failed with 1 validation error for Expected"
    (said,) = [line for line in ended.err.splitlines() if line.startswith(warning)]
    assert "creates.0" in said
    assert "9 episodes were judged again." in ended.err
    assert "3 could not be judged; what was said of them before, if anything, stands." in ended.err
    assert lines(Path("a/verdicts.jsonl")) == before


@pytest.mark.parametrize(
    ("key", "value"), [("variants", [5]), ("seed", "one"), ("record", {"hash": 5}), ("suite_digest", [])]
)
def test_what_a_report_only_mentions_may_be_anything(here: Path, small_record: Path, key: str, value: Any) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--agent", "idle", "--out", "a").code == 0
    about = json.loads(Path("a/run.json").read_text())
    Path("a/run.json").write_text(json.dumps({**about, key: value}))
    assert readback("report", "a").code == 0
    assert readback("report", "a", "--markdown").code == 0


def test_report_writes_the_page_again(here: Path, small_record: Path) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--out", "a").code == 0
    Path("a/report.html").unlink()
    ended = readback("report", "a")
    assert (ended.code, ended.out) == (0, "a/report.html\n")
    assert "<html" in Path("a/report.html").read_text()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    here: Path, small_record: Path, ending: signal.Signals
) -> None:
    agent_module(here, "slow", 'import time; time.sleep(0.05); return {"outcome": "unclear"}')
    run = ["run", "ehr", "--record", small_record, "--task", "patient-age", "--agent", "python:slow:agent"]
    with started(*run, "--repeats", "6", "--out", "a", cwd=here) as process:
        while not Path("a/episodes.jsonl").exists() or Path("a/episodes.jsonl").read_bytes().count(b"\n") < 5:
            assert process.poll() is None
        process.send_signal(ending)
        _, err = process.communicate()
    assert process.returncode == 3
    assert "Traceback" not in err
    assert "readback resume a" in err
    kept = [line["id"] for line in lines(Path("a/episodes.jsonl"))]
    assert len(kept) >= 5
    ended = readback("resume", "a", "--json")
    assert ended.code == 0
    after = [line["id"] for line in lines(Path("a/episodes.jsonl"))]
    assert len(after) == len(set(after)) == 180
    assert set(kept) <= set(after)


def test_a_disk_that_is_full_loses_nothing_and_says_how_to_go_on(here: Path, small_record: Path) -> None:
    run = ["run", "ehr", "--record", str(small_record), "--task", "patient-age", "--out", "a"]
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY));"
        f"from readback.cli import main; sys.exit(main({run!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("readback: 'a' cannot be written: File too large; all that was stored before is kept")
    assert "readback resume a" in last
    kept = {str(line["id"]): line for line in lines(Path("a/episodes.jsonl"))}
    assert kept
    assert readback("resume", "a").code == 0
    after = {str(line["id"]): line for line in lines(Path("a/episodes.jsonl"))}
    assert len(after) == 60
    assert all(after[key] == line for key, line in kept.items())


def test_two_at_once_on_one_run_is_refused(here: Path, small_record: Path) -> None:
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, "--out", "a").code == 0
    with RunFolder.append("a"):
        for command in ("resume", "score"):
            ended = readback(command, "a")
            assert ended.code == 2
            assert "is being written by another process" in ended.sentence
        assert readback("show", "a").code == 0


def test_tasks_are_listed_without_what_would_give_them_away(here: Path, small_record: Path) -> None:
    document = readback("list", "tasks", "--record", small_record, *TEMPLATES, "--json").document
    validator_for(schema("tasks")).validate(document)
    assert [task["id"] for task in document["tasks"]] == [
        "ehr/patient-age/0001", "ehr/patient-age/0002", "ehr/record-weight/0001", "ehr/record-weight/0002"
    ]  # fmt: skip
    assert not any({"expected", "answer", "parameters"} & task.keys() for task in document["tasks"])
    told = readback("list", "tasks", "--record", small_record, *TEMPLATES, "--json", "--answers").document
    for task in told["tasks"]:
        assert Task.read(json.dumps(task)).expected is not None
    out = readback("list", "tasks", "--record", small_record, *TEMPLATES).out.splitlines()
    assert len(out) == 4
    assert out[0].startswith("ehr/patient-age/0001    read   ")


def test_suites_and_agents_are_listed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suites = readback("list", "suites", "--json").document
    validator_for(schema("suites")).validate(suites)
    assert list(suites["suites"][0]["baselines"]) == BASELINES
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    agents = readback("list", "agents", "--json").document
    validator_for(schema("agents")).validate(agents)
    ready = {agent["name"]: agent["ready"] for agent in agents["agents"]}
    assert ready["anthropic:MODEL"] is True
    assert ready["openai:MODEL"] is False
    assert ready["oracle"] is True
    assert "only with --fault" in next(a["about"] for a in agents["agents"] if a["name"] == "trusting")
    assert "(OPENAI_API_KEY is not set; another server, by --base-url, may need none)" in readback("list", "agents").out
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert "is not set" not in readback("list", "agents").out
