"""The command line itself: it starts fast, names what is wrong, and never shows a traceback."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema_rs import meta

from readback import schemas
from readback.cli import faults
from tests.readback.command import finished, readback
from tests.readback.raters import with_cells
from tests.support import ROOT

HEAVY = (
    "numpy",
    "scipy",
    "openai",
    "anthropic",
    "fhir",
    "fhirpathpy",
    "ucumvert",
    "pint",
    "jinja2",
    "rich",
    "regex",
    "requests",
)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom readback.cli import main\nassert main(['--help']) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout.startswith("Usage: readback [OPTIONS] COMMAND")


@pytest.mark.parametrize("command", [["run"], ["record", "build"], ["show"], ["list", "tasks"]])
def test_the_help_of_a_command_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        f"import sys\nfrom readback.cli import main\nassert main({[*command, '--help']!r}) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_ctrl_c_before_there_was_anything_to_end_is_a_sentence() -> None:
    code = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from readback.cli import main
sys.exit(main(["--help"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "readback: interrupted\n")


def test_no_argument_shows_the_help_and_is_a_usage_error() -> None:
    ended = readback()
    assert ended.code == 2
    assert "Usage: readback" in ended.err


def test_the_version_is_the_packages() -> None:
    assert readback("--version").out == "readback 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["vrify"], "no such command 'vrify'. Did you mean 'verify'? See readback --help"),
        (["verify"], "missing argument 'CASES.jsonl'; see readback verify --help"),
        (["verify", "--jsn"], "no such option: --jsn (Possible options: --json); see readback verify --help"),
        (
            ["session", "close", "s-1", "--outcome", "finished"],
            "invalid value for '--outcome': 'finished' is not one of 'done', 'not_done', 'unclear'; see",
        ),
        (
            ["session", "close", "s-1", "--server", "127.0.0.1:8080"],
            "'127.0.0.1:8080' is no address of a server; write it with http://, such as http://127.0.0.1:8080",
        ),
        (["schema", "epsiode"], "there is no schema 'epsiode'; did you mean 'episode'"),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_right_one(arguments: list[str], sentence: str) -> None:
    ended = readback(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.sentence.startswith(sentence)


def test_every_schema_is_one_and_lets_later_keys_pass() -> None:
    names = readback("schema").out.split()
    assert names == list(schemas.NAMES)
    for name in names:
        schema = json.loads(readback("schema", name).out)
        meta.validate(schema)
        assert "additionalProperties" not in schema or schema["additionalProperties"] is not False
        if name not in schemas.READ:
            assert schema["properties"]["format"]["const"] == f"readback.{name}/1"


def test_every_exception_that_is_a_sentence_exists() -> None:
    for name in faults.SENTENCES:
        module, _, attribute = name.rpartition(".")
        assert issubclass(getattr(importlib.import_module(module), attribute), Exception), name


def test_a_fault_of_ours_is_one_sentence_and_its_traceback_is_kept(tmp_path: Path) -> None:
    code = "import sys\nfrom readback.cli import app, main\n@app.app.command('break')\ndef _(): 1 / 0\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "break"],
        cwd=ROOT, env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    (kept,) = tmp_path.glob("readback-fault-*.txt")
    assert done.stderr == (
        "readback: this is a fault of readback's own (ZeroDivisionError); its traceback is in"
        f" {str(kept)!r}: please report it with that file and the command\n"
    )
    assert "ZeroDivisionError: division by zero" in kept.read_text()


def test_a_reader_that_goes_away_does_not_end_the_command(tmp_path: Path) -> None:
    code = "import sys; from readback.cli import main; sys.exit(main(['schema', 'summary']))"
    line = f"{sys.executable} -c {code!r} 2>err | head -c 10; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout.endswith("0\n")
    assert (tmp_path / "err").read_text() == ""


def test_a_reader_that_goes_away_from_the_tables_does_not_end_the_command(tmp_path: Path) -> None:
    with_cells({("pass", "pass"): 3, ("pass", "fail"): 2}).write(tmp_path / "a")
    code = "import sys; from readback.cli import main; sys.exit(main(['compare', 'a', '--disagreements', '2']))"
    line = f"{sys.executable} -c {code!r} 2>err | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.stdout, (tmp_path / "err").read_text()) == ("0\n", "")


def on_a_terminal(folder: Path, *command: str) -> str:
    """What a terminal is sent by a command, to the end of it."""
    ours, theirs = pty.openpty()
    code = f"import sys; from readback.cli import main; sys.exit(main({command!r}))"
    environment = {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment, stdout=theirs, stderr=theirs):
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # a terminal that nobody writes to any more
            while chunk := os.read(ours, 65_536):
                written += chunk
    os.close(ours)
    return written.decode()


def bare(text: str) -> str:
    """Text without what moves the cursor and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_on_a_terminal_progress_is_drawn_and_cleared_and_the_result_is_whole(tmp_path: Path) -> None:
    text = on_a_terminal(tmp_path, "record", "build", "--patients", "12")
    assert "reading resources" in text
    assert "\x1b[?25h" in text, "the cursor is back"
    assert "record     records/synthetic-12-seed1.record" in bare(text)


def test_on_a_terminal_programs_print_above_the_progress(tmp_path: Path, small_record: Path) -> None:
    body = 'print("to stdout"); print("to stderr", file=sys.stderr); return {"outcome": "unclear"}'
    (tmp_path / "mine.py").write_text(f"import sys\n\ndef agent(instruction, tools, *, system, clock):\n    {body}\n")
    run = ["run", "ehr", "--record", str(small_record), "--task", "patient-age", "--agent", "python:mine:agent"]
    text = bare(on_a_terminal(tmp_path, *run))
    assert text.count("to stdout\r\n") == text.count("to stderr\r\n") == 10
    assert "The run is in runs/ehr-1, its report in runs/ehr-1/report.html." in text


def test_a_terminal_that_knows_only_ascii_gets_escapes(tmp_path: Path) -> None:
    cases = tmp_path / "Fälle.jsonl"
    ended = finished("verify", cases, cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ended.code == 2
    assert "F\\xe4lle.jsonl" in ended.sentence


def test_tables_come_out_where_only_ascii_is_known(tmp_path: Path, small_record: Path) -> None:
    run = ["run", "ehr", "--record", small_record, "--task", "patient-age", "--per-template", "1", "--out", "a"]
    ended = finished(*run, cwd=tmp_path, LC_ALL="C", PYTHONUTF8="0")
    assert ended.code == 0
    assert "oracle" in ended.out
    assert "\\u2013" in ended.out
    assert finished("show", "a", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0").code == 0
