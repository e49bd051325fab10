"""`readback annotate`: a sheet written and read back from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.readback.command import readback
from tests.readback.test_cli_judge import a_run


def label(sheet: Path, path: Path, *labels: str) -> Path:
    """The sheet with these labels, as a spreadsheet would save it."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, text in zip(rows, labels, strict=False):
        row["label"] = text
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_sheet_is_written_and_its_labels_are_one_more_judge(here: Path) -> None:
    a_run(here / "a")
    assert readback("judge", "a", "--model", "scripted:overlap").code == 0
    made = readback("annotate", "a", "--sample", "3", "--out", "for-people", "--json")
    assert made.code == 0
    document = made.document
    assert (document["format"], document["sampled"], document["eligible"]) == ("readback.sheet-made/1", 3, 4)
    assert document["files"] == ["for-people/sheet.csv", "for-people/form.html"]
    assert [one["size"] for one in document["strata"]] == [2, 2]
    assert "readback annotate a --labels FILE" in made.err
    assert "episode" not in json.dumps(document["strata"]) + json.dumps(document["files"])
    label(Path("for-people/sheet.csv"), here / "set-a.csv", "supported", "not_supported", "cannot_tell")
    taken = readback("annotate", "a", "--labels", "set-a.csv", "--json")
    assert taken.code == 0
    assert taken.document["judge"] == "people:set-a"
    assert taken.document["labels"] == {"supported": 1, "not_supported": 1, "no_claim": 0, "cannot_tell": 1}
    config = taken.document["config"]
    verdicts = [json.loads(line) for line in (here / "a/verdicts.jsonl").read_text().splitlines()]
    assert sorted(one["outcome"] for one in verdicts if one["config"] == config) == ["fail", "pass", "unscored"]
    named = readback("annotate", "a", "--labels", "set-a.csv", "--as", "set-b")
    assert named.out == (
        "people:set-b: 3 of 3 items labelled: 1 supported, 1 not_supported, 0 no_claim, 1 cannot_tell\n"
    )


def test_the_words_say_what_was_drawn_and_where_it_is(here: Path) -> None:
    a_run(here / "a")
    made = readback("annotate", "a", "--sample", "9", "--seed", "3", "--rubric", "predicate", "--no-trace")
    assert made.code == 0
    head, stratum, sheet, form = made.out.splitlines()
    assert head.endswith(": 4 of 4 episodes")
    assert stratum == "no lens has judged them"
    assert Path(sheet).is_file()
    assert Path(form).is_file()
    assert "Only 4 episodes can be drawn from." in made.err


def test_the_strata_are_a_table_with_a_letter_for_each_lens(here: Path) -> None:
    agents = [{"name": "m", "kind": "model"}, {"name": "idle", "kind": "baseline"}]
    a_run(here / "a", agents=agents)
    assert readback("judge", "a", "--model", "scripted:overlap").code == 0
    assert readback("judge", "a", "--model", "scripted:coin?p=1").code == 0
    made = readback("annotate", "a", "--sample", "3", "--out", "s")
    assert made.out.splitlines()[1:6] == [
        "A judge scripted:coin?p=1 (a rule, no model), facts",
        "B judge scripted:overlap (a rule, no model), facts",
        "drawn  of            pass  fail  vacuous  unscored",
        "    2   2  disagree  A     B",
        "    1   2            A B",
    ]
    said = "Episodes of baselines are among them, which readback compare leaves out; --agent m draws from that agent's"
    assert said in made.err
    assert "baselines" not in readback("annotate", "a", "--sample", "3", "--agent", "m").err


def test_wrong_rows_are_named_one_by_one_and_nothing_is_taken(here: Path) -> None:
    a_run(here / "a")
    assert readback("annotate", "a", "--sample", "3", "--out", "s").code == 0
    label(Path("s/sheet.csv"), here / "x.csv", "yes", "supported", "no")
    ended = readback("annotate", "a", "--labels", "x.csv")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "readback: x.csv: row 2: 'yes' is no label; write supported, not_supported, no_claim or cannot_tell",
        "readback: x.csv: row 4: 'no' is no label; write supported, not_supported, no_claim or cannot_tell",
        "readback: nothing was taken; mend the file and read it again",
    ]
    assert not (here / "a/votes.jsonl").exists()
    assert (here / "a/verdicts.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say either --sample N, to write a sheet, or --labels FILE, to read one back"),
        (["--sample", "2", "--labels", "x.csv"], "say either --sample N"),
        (["--sample", "0"], "'0' is not a whole number from 1 to 10000"),
        (["--sample", "2", "--rubric", "x"], "there is no rubric 'x'; choose from facts, predicate"),
        (["--sample", "2", "--agent", "nobody"], "no sheet can be drawn from 'a': no episode claims anything"),
    ],
)
def test_a_mistake_is_one_sentence(here: Path, arguments: list[str], words: str) -> None:
    a_run(here / "a")
    ended = readback("annotate", "a", *arguments)
    assert ended.code == 2
    assert words in ended.sentence


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written_are_named(here: Path) -> None:
    a_run(here / "a")
    ended = readback("annotate", "a", "--labels", "none.csv")
    assert ended.code == 2
    assert ended.err == "readback: 'none.csv' cannot be read: No such file or directory; check the name\n"
    (here / "file").write_text("")
    ended = readback("annotate", "a", "--sample", "2", "--out", "file/sheet")
    assert ended.code == 2
    assert "file/sheet" in ended.sentence
