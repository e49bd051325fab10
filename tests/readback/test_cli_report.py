"""`readback report`: one page about several runs, and the same numbers as Markdown, LaTeX, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.runfolder import RunFolder
from readback.comparison.reading import source_of
from readback.results import results_of
from readback.tables import Column, Grid, Screen
from readback.tables.files import write_csv
from readback.tables.frames import Frame, frames_of
from readback.tables.latex import latex
from tests.readback import hand
from tests.readback.command import readback
from tests.readback.raters import Rated, question
from tests.readback.test_report import HOSTILE


def questions(path: Path) -> Path:
    run = Rated([question("r0/01", bucket="low"), question("r1/01", bucket="high")])
    for number in range(8):
        run.say(
            f"repoqa/r{number % 2}/01", condition="grounded" if number > 3 else "default", repeat=number % 4,
            answer="pass" if number % 3 else "fail WRONG_ANSWER", grounding="fail UNGROUNDED" if number % 2 else "pass",
            judge="pass ppppf",
        )  # fmt: skip
    return run.write(path)


def orders(path: Path, *baselines: str) -> Path:
    run = hand.Run([hand.task("dose/0001a")])
    run.play("dose/0001a", says={"state": "fail WRONG_UNIT", "message": "pass"})
    for name in baselines:
        run.play("dose/0001a", name, kind="baseline", says={"state": "fail MISSING_WRITE", "message": "fail"})
    with RunFolder.create(path, hand.ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes])
    return path


def test_one_run_has_its_report_in_its_folder(tmp_path: Path) -> None:
    path = questions(tmp_path / "a")
    ended = readback("report", path)
    assert (ended.code, ended.out, ended.err) == (0, f"{path / 'report.html'}\n", "")
    assert "Passed by judge" in (path / "report.html").read_text()


def test_several_runs_have_one_page(here: Path) -> None:
    questions(here / "a")
    orders(here / "b", "idle", "blind")
    ended = readback("report", "a", "b")
    assert (ended.code, ended.out) == (0, "readback-report.html\n")
    page = (here / "readback-report.html").read_text()
    assert "b: m (default)" in page and "a: m (grounded)" in page
    assert readback("report", "a", "b", "--out", "new/joint.html").out == "new/joint.html\n"
    below_a_file = readback("report", "a", "b", "--out", "a/run.json/joint.html")
    assert (below_a_file.code, below_a_file.sentence) == (2, "'a/run.json': File exists; name another place")
    assert readback("report", "a", "b", "--out", "joint.html").out == "joint.html\n"
    assert readback("report", "a", "--out", ".").sentence == "'.' is a folder; name the file, such as report.html"


def test_a_record_that_is_not_synthetic_is_warned_about(here: Path) -> None:
    run = Rated([question("r0/01")], {**hand.ABOUT, "record": {"hash": "h", "clock": "c", "synthetic": False}})
    run.write(here / "a")
    assert "careful: the record of a is not marked as synthetic" in readback("report", "a").err


def test_markdown_and_latex_hold_the_numbers_of_the_terminal(here: Path) -> None:
    orders(here / "b", "idle", "blind")
    shown = readback("report", "b", "--markdown").out
    assert "| m | default | 1 | 0.0 | 0.0–79.3 |" in shown
    assert "**Agreement**" in shown
    text = readback("report", "b", "--latex").out
    assert r"m & default & 1 & 0.0 & 0.0--79.3 &" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") >= 5
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\begin{table}")
    assert not (here / "b/report.html").exists()
    assert "give one of them" in readback("report", "b", "--latex", "--markdown").sentence


def test_a_table_that_is_withheld_is_withheld_in_every_form(here: Path) -> None:
    orders(here / "b")
    for form in ("--markdown", "--latex"):
        shown = readback("report", "b", form).out
        assert "The table is not shown" in shown
        assert "Agreement" not in shown and "0.0" not in shown
    readback("report", "b")
    assert "Comparison</h2>" not in (here / "b/report.html").read_text()


def test_latex_shows_untrusted_text_and_does_nothing_with_it() -> None:
    text = "\\input{/etc/passwd} $x$ & 50 % #1 a_b ~ ^ {y} \x1b \u202e"
    shown = latex(Screen((text,), (Grid(text, (Column(text),), ((text,),), (text,)),), (text,)))
    assert r"\textbackslash{}input\{/etc/passwd\} \$x\$ \& 50 \% \#1 a\_b \textasciitilde{}" in shown
    comments = [line for line in shown.splitlines() if line.startswith("% ")]
    assert len(comments) == 3, "what is said of the run stands in comments, a line each"
    rest = "\n".join(line for line in shown.splitlines() if not line.startswith("%"))
    assert r"\input" not in rest and "\x1b" not in shown and "\u202e" not in shown


def frames(path: Path) -> dict[str, Frame]:
    return {frame.name: frame for frame in frames_of(results_of([source_of(RunFolder.open(path))]))}


def test_frames_hold_each_number_unrounded(tmp_path: Path) -> None:
    found = frames(questions(tmp_path / "a"))
    assert [frame.name for frame in found.values()] == [
        "episodes", "verdicts", "rates", "labels", "quadrants", "differences", "raters", "agreement",
    ]  # fmt: skip
    for frame in found.values():
        kinds = {"text": str, "whole": int, "number": float, "truth": bool}
        assert frame.rows, frame.name
        for row in frame.rows:
            assert list(row) == list(frame.columns)
            for name, value in row.items():
                assert value is None or isinstance(value, kinds[frame.columns[name]]), (frame.name, name, value)
    rates = {(row["condition"], row["measure"]): row for row in found["rates"].rows}
    assert rates["default", "success"]["rate"] == 0.5
    assert rates["grounded", "lens grounding"]["fail"] == 2
    assert len(found["episodes"].rows) == 8
    assert found["verdicts"].rows[2]["votes_pass"] == 4
    agreement = found["agreement"].rows
    assert {row["by"] for row in agreement} == {None, "condition", "bucket"}
    assert agreement[0]["pass_pass"] == 4 and agreement[0]["fail_pass"] == 4
    quadrants = {(row["condition"], row["bucket"], row["cell"]): row["episodes"] for row in found["quadrants"].rows}
    assert sum(n for (c, b, _), n in quadrants.items() if (c, b) == ("default", None)) == 4
    assert {row["measure"] for row in found["differences"].rows} == {"success", "grounded", "grounded_answered", "CG"}


def test_csv_files_can_be_read_back_and_do_nothing_in_a_spreadsheet(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    assert readback("report", questions(tmp_path / "a"), "--csv", folder).code == 0
    read = list(csv.DictReader(io.StringIO((folder / "rates.csv").read_text(encoding="utf-8"))))
    assert read[0]["measure"] == "success" and float(read[0]["rate"]) == 0.5 and read[0]["bounds_low"] == ""
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", 'quote " comma , line \n', HOSTILE]
    frame = Frame("f", "", {"text": "text", "number": "number"}, tuple({"text": t, "number": -1.5} for t in texts))
    (path,) = write_csv([frame], tmp_path)
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert [row[0] for row in rows[1:]] == [f"'{t}" if t[0] in "=+-@\t\r" else t for t in texts]
    assert {row[1] for row in rows[1:]} == {"-1.5"}, "a number is a number"


def test_parquet_files_are_typed(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="the extra polars is not installed")
    folder = tmp_path / "parquet"
    assert readback("report", questions(tmp_path / "a"), "--parquet", folder).code == 0
    episodes = polars.read_parquet(folder / "episodes.parquet")
    assert episodes.schema["repeat"] == polars.Int64 and episodes.schema["correct"] == polars.Boolean
    assert episodes.height == 8
    assert polars.read_parquet(folder / "labels.parquet").height > 0


def test_without_polars_it_says_what_to_install(tmp_path: Path) -> None:
    path = questions(tmp_path / "a")
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "from readback.cli import main\n"
        f"sys.exit(main(['report', {str(path)!r}, '--parquet', {str(tmp_path / 'p')!r}]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert re.fullmatch(r"readback: Parquet needs the extra polars, .*readback-bench\[polars\].*\n", ended.stderr)
    assert not (tmp_path / "p").exists()
