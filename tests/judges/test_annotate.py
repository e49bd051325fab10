"""Sheets for people: drawn over disagreements, blinded, and read back whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.runfolder import RunFolder
from harness.verdict import Verdict
from judges.annotate import CSV, FORM, Annotation, Taken
from judges.judging import Judging, Wanted
from judges.labels import LABELS, LabelsError, read_labels, setting_of, vote_of
from judges.sheet import Candidate, Sheet, SheetError, candidates, draw, strata_of
from judges.writing import COLUMNS, plain_cell, safe_cell
from tests.judges.build import KEY, call, episode, run
from tests.judges.injections import INJECTIONS
from tests.judges.oracle import always, judge_of


def verdict(number: int, lens: str, outcome: str) -> Verdict:
    reason = "nobody knows" if outcome == "unscored" else None
    return Verdict(episode=episode(number).id, lens=lens, config=f"sha256:{lens}", outcome=outcome, reason=reason)  # type: ignore[arg-type]


def folder_of(path: Path, table: Sequence[tuple[str, str]]) -> RunFolder:
    """A run whose nth episode has these outcomes of `answer` and `grounding`."""
    blinded = {"agent": "openai:gpt-x", "condition": "strict-x"}
    episodes = [episode(number, [f"src/{number}.py"], **blinded) for number in range(1, len(table) + 1)]
    verdicts = [
        verdict(number, lens, outcome)
        for number, row in enumerate(table, 1)
        for lens, outcome in zip(("answer", "grounding"), row, strict=True)
    ]
    return run(path, episodes, verdicts)


TABLE = [("pass", "fail")] * 6 + [("fail", "pass")] * 2 + [("pass", "pass")] * 20 + [("fail", "fail")] * 12


def written(folder: RunFolder, number: int = 9, **more: Any) -> tuple[Sheet, Path]:
    given_: dict[str, Any] = {"seed": 1, "rubric": "facts", "trace": True, "wanted": Wanted(), **more}
    return Annotation(folder).write(number, **given_)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def test_two_thirds_are_of_disagreements_and_strata_share_them_evenly(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, _ = written(folder)
    assert [(one.lenses, one.disagree, one.size, one.sampled) for one in sheet.strata] == [
        ({"answer": "pass", "grounding": "fail"}, True, 6, 4),
        ({"answer": "fail", "grounding": "pass"}, True, 2, 2),
        ({"answer": "pass", "grounding": "pass"}, False, 20, 2),
        ({"answer": "fail", "grounding": "fail"}, False, 12, 1),
    ]
    assert Counter(item.stratum for item in sheet.items) == {0: 4, 1: 2, 2: 2, 3: 1}
    assert (sheet.eligible, len(sheet.items)) == (40, 9)
    assert len({item.item for item in sheet.items}) == len({item.episode for item in sheet.items}) == 9


@given(
    st.lists(st.tuples(st.sampled_from(["pass", "fail", "vacuous"]), st.sampled_from(["pass", "fail"])), max_size=60),
    st.integers(1, 70),
    st.integers(0, 3),
)
@example([("pass", "fail")] * 9 + [("pass", "pass")], 6, 0)  # too few agree
@example([("pass", "fail")] + [("pass", "pass")] * 9, 6, 0)  # too few disagree
def test_as_many_are_drawn_as_there_can_be_each_once_and_the_shares_hold(
    table: list[tuple[str, str]], number: int, seed: int
) -> None:
    found = [Candidate(f"e{at}", (("a", a), ("b", b))) for at, (a, b) in enumerate(table)]
    drawn = draw(found, number, seed)
    assert len(drawn) == min(number, len(found))
    assert len({one.episode for one, _ in drawn}) == len(drawn)
    strata = strata_of(found, drawn)
    assert sum(one.size for one in strata) == len(found)
    assert sum(one.sampled for one in strata) == len(drawn)
    for one, place in drawn:
        assert strata[place].lenses == dict(one.lenses)
    disagreeing = sum(one.disagree for one in found)
    share = sum(one.disagree for one, _ in drawn)
    assert share == min(disagreeing, max(-(-2 * number // 3), number - (len(found) - disagreeing)))
    for kind in (True, False):
        sampled = [one.sampled for one in strata if one.disagree == kind and one.sampled < one.size]
        most = max((one.sampled for one in strata if one.disagree == kind), default=0)
        assert all(most - one <= 1 for one in sampled), "no stratum that has more waits behind another"
    assert draw(found, number, seed) == drawn
    assert draw(found[::-1], number, seed) == drawn


def test_judges_are_lenses_of_their_own_and_people_are_not(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", [("pass", "pass")] * 3) as folder:
        Judging(folder, [judge_of(always("hm"), votes=1)], key=KEY).judge()
        annotation = Annotation(folder)
        sheet, out = written(folder, 3)
        assert sheet.strata[0].lenses == {
            "answer": "pass", "grounding": "pass", "judge oracle:m, facts": "unscored",
        }  # fmt: skip
        taken(annotation, sheet, out, ["supported"] * 3)
        said = candidates([episode(1).id], folder.verdicts(), annotation.votes.judges())
    assert dict(said[0].lenses) == sheet.strata[0].lenses


def test_another_seed_draws_another_sheet_and_the_same_one_the_same_bytes(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        first, out = written(folder, out=tmp_path / "a")
        again, _ = written(folder, out=tmp_path / "b")
        other, _ = written(folder, seed=2, out=tmp_path / "c")
        assert list(Annotation(folder).votes.sheets()) == [first.sheet, other.sheet]
    assert first == again
    assert (out / CSV).read_bytes() == (tmp_path / "b" / CSV).read_bytes()
    assert (out / FORM).read_bytes() == (tmp_path / "b" / FORM).read_bytes()
    assert {item.episode for item in first.items} != {item.episode for item in other.items}


def test_the_files_are_blind(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, out = written(folder)
    for name in (CSV, FORM):
        text = (out / name).read_text("utf-8-sig")
        for word in ("openai", "gpt-x", "sha256:0", "grounding", "strict-x", "toy/where"):
            assert word not in text, (name, word)
        for item in sheet.items:
            assert item.item in text
    assert out == tmp_path / "r/sheets" / sheet.sheet
    order = [int(rows["answer"].split("src/")[1].split(".")[0]) for rows in rows_of(out / CSV)]
    assert order != sorted(order), "the order tells nothing of the strata"


def test_the_sheet_shows_what_a_judge_is_shown(tmp_path: Path) -> None:
    calls = (call(1, result={"content": "class Parser:\n  pass"}), call(2, status="error", result={"error": "no"}))
    one = episode(1, ["src/1.py", {"line": 3}], calls=calls, note="I read it.")
    with run(tmp_path / "r", [one]) as folder:
        sheet, out = written(folder, 1)
    (row,) = rows_of(out / CSV)
    assert tuple(row) == COLUMNS
    assert row == {
        "sheet": sheet.sheet, "item": sheet.items[0].item,
        "question": "Where is Parser defined?\n(It was 2026-01-15T10:15:00+00:00.)",
        "answer": 'outcome: done\nanswer: src/1.py\nanswer: {\n "line": 3\n}\nnote: I read it.',
        "trace": "1. read_file (ok) path: src/parser.py\n→ content: class Parser:\n  pass\n"
        "2. read_file (error) path: src/parser.py\n→ error: no",
        "label": "", "failed": "", "comment": "",
    }  # fmt: skip
    page = (out / FORM).read_text()
    assert "class Parser:\n  pass" in page
    assert "is every factual claim in what it said at the end supported" in page


def test_a_trace_that_does_not_fit_into_a_cell_says_where_the_rest_is(tmp_path: Path) -> None:
    calls = tuple(call(number, result="x" * 9_000) for number in range(1, 8))
    with run(tmp_path / "r", [episode(1, calls=calls)]) as folder:
        _, out = written(folder, 1)
    (row,) = rows_of(out / CSV)
    assert len(row["trace"]) < 32_767
    assert row["trace"].endswith("(4 more calls do not fit in here; form.html shows them)")
    assert (out / FORM).read_text().count("x" * 9_000) == 7


def test_without_the_trace_there_is_none(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        _, out = written(folder, trace=False)
    assert "class Parser" not in (out / FORM).read_text() + (out / CSV).read_text("utf-8-sig")


def test_only_what_claims_something_is_drawn(tmp_path: Path) -> None:
    episodes = [episode(1), episode(2, (), claim="unclear"), episode(3, (), claim="done"), episode(4, ending="auth")]
    with run(tmp_path / "r", episodes) as folder:
        assert {item.episode for item in written(folder)[0].items} == {episode(1).id, episode(3).id}
        assert {item.episode for item in written(folder, rubric="predicate")[0].items} == {episode(1).id}
        assert written(folder, wanted=Wanted(agents=("m",)))[0].eligible == 2
        with pytest.raises(SheetError, match="no episode claims anything"):
            written(folder, wanted=Wanted(agents=("nobody",)))


@pytest.mark.parametrize("name", INJECTIONS)
def test_whatever_a_trace_holds_is_text_on_the_sheet(tmp_path: Path, name: str) -> None:
    text = INJECTIONS[name]
    one = episode(1, [text], note=text, calls=(call(1, name=text[:99], arguments={text: text}, result={text: [text]}),))
    with run(tmp_path / "r", [one]) as folder:
        _, out = written(folder, 1)
    page = (out / FORM).read_text()
    head, _, rest = page.partition("<main>")
    body, _, script = rest.rpartition("</main>")
    allowed = {"details", "summary", "p", "b", "kbd", "article", "h2", "small", "h3", "h4", "code", "pre", "dl", "dt",
               "dd", "fieldset", "legend", "div", "label", "input", "button", "textarea"}  # fmt: skip
    assert set(re.findall(r"</?([a-zA-Z!][\w-]*)", body)) <= allowed
    assert "onerror" not in re.sub(r">[^<]*<", "><", body)
    assert not set(body) & set("\u202e\u200b\x1b\x00\u2028\U000e0041")
    assert page.count("<script>") == page.count("</script>") == 1
    assert "default-src &#39;none&#39;" in head
    assert script.count("</script>") == 1
    (row,) = rows_of(out / CSV)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0"])
def test_a_cell_is_no_formula_and_comes_back_as_it_was(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert plain_cell(safe_cell(text)) == text
    assert safe_cell("src/a.py") == plain_cell("src/a.py") == "src/a.py"
    assert plain_cell("'tis") == "'tis"


def labelled(path: Path, sheet: Sheet, labels: Sequence[str], **more: str) -> Path:
    """The file that somebody sends back: a label an item."""
    lines = ["sheet,item,label,failed,comment"]
    for item, label in zip(sheet.items, labels, strict=False):
        failed = more.get("failed", "src") if label == "not_supported" else ""
        lines.append(f'{sheet.sheet},{item.item},{label},{failed},"{more.get("comment", "")}"')
    path.write_text("\n".join(lines) + "\n")
    return path


def taken(annotation: Annotation, sheet: Sheet, out: Path, labels: Sequence[str], name: str = "set-a") -> Taken:
    return annotation.take(labelled(out / "back.csv", sheet, labels), name)


def test_labels_are_the_votes_and_verdicts_of_one_more_judge(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 4)
        found = taken(annotation, sheet, out, LABELS)
        verdicts = [one for one in folder.verdicts() if one.lens == "judge"]
        votes = list(annotation.votes.votes())
        (setting,) = annotation.votes.judges().values()
    of = {one.episode: one for one in verdicts}
    outcomes = [of[item.episode].outcome for item in sheet.items]
    assert outcomes == ["pass", "fail", "vacuous", "unscored"]
    assert (setting.name, setting.kind, setting.sheet, setting.votes) == ("people:set-a", "people", sheet.sheet, 1)
    assert {one.config for one in verdicts} == {setting.config} == {found.setting.config}
    assert (len(found.labels), found.blank, found.kept) == (4, 0, 0)
    by_episode = {one.episode: one for one in votes}
    no = by_episode[sheet.items[1].episode]
    assert (no.judge, no.said, no.failed, no.model, no.flags) == ("people:set-a", "not_supported", ("src",), None, ())
    assert by_episode[sheet.items[3].episode].fault == "cannot_tell"
    assert [by_episode[sheet.items[at].episode].flags for at in (0, 2, 3)] == [()] * 3
    assert setting.prompt.startswith("You check the answer of an agent")


def test_several_people_are_several_judges_and_a_corrected_file_replaces_the_first(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 3)
        first = taken(annotation, sheet, out, ["supported"] * 3)
        other = taken(annotation, sheet, out, ["no_claim"] * 3, "set-b")
        again = taken(annotation, sheet, out, ["not_supported", "", "supported"])
        said = {(one.config, one.episode): one.outcome for one in folder.verdicts() if one.lens == "judge"}
    assert first.setting.config == again.setting.config != other.setting.config
    assert [said[again.setting.config, item.episode] for item in sheet.items] == ["fail", "pass", "pass"]
    assert [said[other.setting.config, item.episode] for item in sheet.items] == ["vacuous"] * 3
    assert (len(again.labels), again.blank, again.kept) == (2, 1, 1)


def test_items_left_blank_are_counted_and_so_are_those_of_them_that_were_labelled_before(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 3)
        first = taken(annotation, sheet, out, ["supported", "", ""])
        second = taken(annotation, sheet, out, ["", "supported", ""])
        other = taken(annotation, sheet, out, ["", "supported", ""], "set-b")
    assert [(one.blank, one.kept) for one in (first, second, other)] == [(2, 0), (2, 1), (2, 0)]


def test_what_a_person_could_not_see_is_in_doubt_for_people_too(tmp_path: Path) -> None:
    with run(tmp_path / "r", [episode(1, calls=(call(1, cut_by="recorder"),))]) as folder:
        sheet, out = written(folder, 1)
        found = taken(Annotation(folder), sheet, out, ["not_supported"])
        without, _ = written(folder, 1, trace=False)
    assert sheet.items[0].doubt == "the recorder cut the result of call 1"
    assert without.items[0].doubt is None, "nobody who sees no call misses one"
    assert (found.verdicts[0].outcome, found.verdicts[0].label) == ("unscored", "TRACE_CUT")


def test_a_whole_sheet_comes_back_from_a_spreadsheet(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, out = written(folder, 2)
        rows = rows_of(out / CSV)
        for row, label in zip(rows, (" Supported ", "NOT_SUPPORTED"), strict=True):
            row["label"] = label
        rows[1]["failed"] = "'=1+1"
        for comma, mark in ((";", "utf-8-sig"), ("\t", "utf-8"), (",", "utf-8")):
            with (out / "back.csv").open("w", encoding=mark, newline="") as file:
                writer = csv.DictWriter(file, [*COLUMNS, "extra"], delimiter=comma)
                writer.writeheader()
                writer.writerows([*rows, {}])
            _, labels, blank = read_labels(out / "back.csv", {sheet.sheet: sheet})
            assert [(one.label, one.failed) for one in labels] == [("supported", ""), ("not_supported", "=1+1")]
            assert blank == []


def changed(sheet: Sheet, row: int, column: int, text: str) -> str:
    lines = [["sheet", "item", "label", "failed", "comment"]]
    lines += [[sheet.sheet, item.item, "supported", "", ""] for item in sheet.items]
    lines[row][column] = text
    return "\n".join(",".join(line) for line in lines)


@pytest.mark.parametrize(
    ("row", "column", "text", "words"),
    [
        (1, 2, "yes", "row 2: 'yes' is no label; write supported, not_supported, no_claim or cannot_tell"),
        (2, 1, "i-0000000000", "row 3: there is no item 'i-0000000000' on sheet 's-"),
        (2, 1, "", "row 3: there is no item ''"),
        (3, 0, "s-other", "row 4: it is of sheet 's-other', and the others of 's-"),
        (1, 3, "src", "row 2: it names what fails, and its label is 'supported'; only not_supported goes with that"),
        (1, 4, "x" * 5_000, "row 2: 'comment' has more than 4000 characters"),
        (1, 4, "a,b", "row 2: it has 6 cells, and the heading 5"),
        (0, 2, "labels", "must have one column 'label'; its columns are 'sheet, item, labels, failed, comment'"),
        (0, 3, "item", "must have one column 'item'"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_taken(
    tmp_path: Path, row: int, column: int, text: str, words: str
) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 3)
        before = {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
        (out / "back.csv").write_text(changed(sheet, row, column, text))
        with pytest.raises(LabelsError) as caught:
            annotation.take(out / "back.csv", "set-a")
        assert {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == before
    assert len(caught.value.problems) == 1
    assert words in caught.value.problems[0]


@pytest.mark.parametrize("label", ["supported", "no_claim", "cannot_tell", ""])
def test_only_what_is_not_supported_names_what_fails(tmp_path: Path, label: str) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, out = written(folder, 1)
    row = f"{sheet.sheet},{sheet.items[0].item}"
    (out / "back.csv").write_text(f"sheet,item,label,failed\n{row},{label},src\n")
    with pytest.raises(LabelsError, match=f"its label is '{label or 'missing'}'; only not_supported goes with that"):
        read_labels(out / "back.csv", {sheet.sheet: sheet})
    (out / "back.csv").write_text(f"sheet,item,label,failed\n{row},not_supported,src\n")
    _, (found,), _ = read_labels(out / "back.csv", {sheet.sheet: sheet})
    assert found.failed == "src"
    setting = setting_of(sheet, "set-a")
    assert vote_of(found, setting).flags == ()
    assert vote_of(replace(found, failed=""), setting).flags == ("NO_CLAIM_NAMED",)


def test_every_wrong_row_has_its_sentence(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, out = written(folder, 5)
        one, two, three = (item.item for item in sheet.items[:3])
        (out / "back.csv").write_text(
            "item,label,sheet\n"
            f"{one},supported,{sheet.sheet}\n{one},supported,{sheet.sheet}\n{two},maybe,{sheet.sheet}\n\n"
            f"{three},no_claim,{sheet.sheet},\n{three},,{sheet.sheet}\n"
        )
        with pytest.raises(LabelsError) as caught:
            Annotation(folder).take(out / "back.csv", "set-a")
    assert caught.value.problems == (
        f"row 3: item {one!r} stands in row 2 already",
        "row 4: 'maybe' is no label; write supported, not_supported, no_claim or cannot_tell",
        "row 6: it has 4 cells, and the heading 3",
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "must have one column 'sheet'"),
        (b"sheet,item,label\n", "has no rows"),
        (
            b"sheet,item,label\ns-none,i-1,supported\n",
            "is of no sheet of this run: it names 's-none', and this run has s-",
        ),
        (b"sheet,item,label\n,i-1,supported\n", "is of no sheet of this run: it names none"),
        ("sheet,item,label\n\xe4,\xf6,\xfc\n".encode("latin-1"), "is no UTF-8; save it as CSV UTF-8"),
        (b'sheet,item,label\n"s-1"x,i,supported\n', "is no CSV"),
        (b"PK\x03\x04\x00\x00", "must have one column"),
    ],
)
def test_a_file_that_is_no_sheet_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        written(folder)
        (tmp_path / "back.csv").write_bytes(content)
        with pytest.raises(LabelsError) as caught:
            Annotation(folder).take(tmp_path / "back.csv", "set-a")
    assert len(caught.value.problems) == 1
    assert words in caught.value.problems[0]
    with pytest.raises(LabelsError, match="cannot be read: No such file"):
        read_labels(tmp_path / "none.csv", {})
    with pytest.raises(LabelsError, match="cannot be read: Is a directory"):
        read_labels(tmp_path, {})


def test_labels_without_a_label_and_sets_without_a_name_are_refused(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 2)
        with pytest.raises(LabelsError, match="has no label yet"):
            taken(annotation, sheet, out, ["", ""])
        for name in ("", "a b", "../x", "x" * 41, "ü"):
            with pytest.raises(LabelsError, match="is no name of a set of labels"):
                taken(annotation, sheet, out, ["supported"], name)


def test_labels_of_an_episode_that_was_played_again_are_refused(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        annotation = Annotation(folder)
        sheet, out = written(folder, 2)
        number = int(sheet.items[0].episode[-4:], 16)
        folder.store([(episode(number, ["another"]), [])])
        with pytest.raises(LabelsError, match=f"item '{sheet.items[0].item}': its episode .* draw a new sheet"):
            taken(annotation, sheet, out, ["supported", "supported"])
        assert list(annotation.votes.votes()) == []
        assert taken(annotation, sheet, out, ["", "supported"]).blank == 1


def test_a_sheet_is_read_back_as_it_was(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, _ = written(folder)
        assert Annotation(folder).votes.sheets() == {sheet.sheet: sheet}
    line = json.loads((tmp_path / "r/sheets.jsonl").read_text())
    assert line["format"] == "readback.sheet/1"


def test_a_labelled_sheet_is_never_written_over(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        _, where = written(folder, out=tmp_path / "out")
        assert written(folder, out=tmp_path / "out")[1] == where, "the same blank sheet may be written again"
        labelled = (where / CSV).read_bytes().replace(b",,,", b",supported,,", 1)
        (where / CSV).write_bytes(labelled)
        with pytest.raises(SheetError, match=r"is another sheet, or was labelled; .* name another --out"):
            written(folder, out=tmp_path / "out")
        assert (where / CSV).read_bytes() == labelled


def test_a_heading_in_capitals_and_the_line_that_names_the_mark_are_read(tmp_path: Path) -> None:
    with folder_of(tmp_path / "r", TABLE) as folder:
        sheet, _ = written(folder)
        text = f"sep=;\r\nSheet;ITEM;Label\r\n{sheet.sheet};{sheet.items[0].item};supported\r\n"
        (tmp_path / "mine.csv").write_bytes(text.encode("utf-8-sig"))
        assert Annotation(folder).take(tmp_path / "mine.csv", "mine").verdicts
