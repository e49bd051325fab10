"""The tables: what they say, that they fit, and that nothing in a name can break them."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from harness.trace import Usage
from harness.visible import in_line, visible
from readback.summary import Summary, summarise
from readback.tables import Column, Grid, Screen, markdown, screen_of, show
from readback.tables.markdown import escaped
from readback.tables.terminal import fit
from readback.tables.words import interval, most, p_value, percent, seconds, signed, thousands, variant_words
from tests.readback.hand import ABOUT, READ, VARIANT, WROTE, Run, task

TEMPLATES = ("dose", "weight", "lab", "allergy")


def played(*agents: str, conditions: tuple[str, ...] = ("default",)) -> Run:
    """Every agent passes as many of 16 tasks as its place in the list, times two; baselines by their names."""
    names = [f"{template}/{i:04}{side}" for template in TEMPLATES for i in range(2) for side in "ab"]
    run = Run([task(name, twin=name[:-1] + ("b" if name.endswith("a") else "a")) for name in names])
    for place, agent in enumerate(agents, 1):
        kind = "baseline" if agent in ("oracle", "idle", "blind") else "model"
        for condition in conditions if kind == "model" else ("default",):
            for i, name in enumerate(names):
                done = i < 2 * place + 3 * (condition == "grounded") if kind == "model" else agent == "oracle"
                says = {"state": "pass" if done else "fail MISSING_WRITE", "message": "pass" if i % 2 else "fail"}
                usage = Usage(input=1000, output=50, calls=2, cost_usd=0.01) if kind == "model" else None
                run.play(name, agent, kind=kind, condition=condition, says=says, requests=[WROTE, READ], usage=usage)
    return run


def summary(run: Run, **about: object) -> Summary:
    return summarise({**ABOUT, **about}, run.tasks, run.episodes, run.verdicts, run="runs/a1")


def printed(screen: Screen, width: int = 120) -> str:
    stream = io.StringIO()
    show(screen, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def grid(screen: Screen, title: str) -> Grid:
    return next(one for one in screen.grids if one.title.startswith(title))


def test_the_success_grid_says_the_numbers_of_the_summary() -> None:
    success = grid(screen_of(summary(played("m", "oracle", "idle", "blind"))), "Success")
    assert [column.header for column in success.columns] == [
        "Agent", "Condition", "n", "Success", "95 %", "clustered", "Twins", "Read", "Write", "Withhold", "State",
    ]  # fmt: skip
    assert success.rows[0] == (
        "m", "default", "16", "12.5", "3.5–36.0", "0.0–52.3", "1/8", "–", "12", "–", "12",
    )  # fmt: skip
    assert [row[0] for row in success.rows] == ["m", "oracle", "idle", "blind"]
    assert success.baselines == 1
    assert success.rows[1][3] == "100.0"


def test_the_other_grids() -> None:
    screen = screen_of(summary(played("a", "b", "oracle", "idle", "blind", conditions=("default", "grounded"))))
    assert grid(screen, "Conduct").rows[0] == ("a", "default", "16/16", "14/16", "–", "MISSING_WRITE\u00a014")
    assert grid(screen, "What the message lens").rows[0][2:] == ("1", "7", "1", "7", "0")
    course = grid(screen, "Course")
    assert [row[0] for row in course.rows] == ["a", "a", "b", "b"], "baselines that merely finished have no course"
    assert course.rows[0][2:] == ("16.0k", "800", "32", "0.16", "–", "finished\u00a016")
    compared = grid(screen, "Paired")
    assert [row[0] for row in compared.rows] == [
        "a: grounded against default", "b against a, default", "b against a, grounded", "b: grounded against default",
    ]  # fmt: skip
    assert compared.rows[0][1:5] == ("16", "12.5", "31.2", "+18.8")
    assert "adjusts it over the 4 tested" in compared.notes[0]
    assert compared.notes[1].startswith("In 4 of 4 fewer than six clusters differ: p cannot fall to 0.05")


def test_one_comparison_is_told_of_alone() -> None:
    (compared,) = [one for one in screen_of(summary(played("a", "b", "idle", "blind"))).grids if "Paired" in one.title]
    assert "Holm" not in compared.notes[0], "there is nothing to adjust"
    assert compared.notes[1].startswith("Fewer than six clusters differ: p cannot fall to 0.05")


def test_what_a_program_asks_of_models_is_unknown_and_not_nothing() -> None:
    run = played("m", "idle", "blind")
    run.play("dose/0000a", "python:mine:agent", kind="program", says={"state": "pass"})
    course = grid(screen_of(summary(run)), "Course")
    used = {row[0]: row[2:5] for row in course.rows}
    assert used == {"m": ("16.0k", "800", "32"), "python:mine:agent": ("–", "–", "–")}
    assert course.notes == ("– Tokens, Calls: what an agent asks of models by itself is not counted.",)
    assert grid(screen_of(summary(played("m", "idle", "blind"))), "Course").notes == ()


@pytest.mark.parametrize(
    ("agents", "missing"), [(("m",), "`idle` and `blind`"), (("m", "idle"), "`blind`"), (("m", "blind"), "`idle`")]
)
def test_an_ehr_table_without_idle_and_blind_is_not_shown(agents: tuple[str, ...], missing: str) -> None:
    screen = screen_of(summary(played(*agents)))
    assert screen.grids == ()
    assert screen.withheld is not None
    assert f"this run lacks {missing}:" in screen.withheld
    for text in (printed(screen), markdown(screen)):
        assert "The table is not shown" in text
        assert "12.5" not in text


def test_another_suite_needs_no_such_baselines() -> None:
    assert screen_of(summary(played("m"), suite="other")).grids


def test_where_idle_and_blind_may_still_be_played_it_says_how() -> None:
    whole, part = (screen_of(summary(played("m"), planned=planned)).withheld or "" for planned in (16, 70))
    assert "worth. Run the suite again with --agent idle --agent blind beside its agents." in whole
    assert "worth. Go on with it by readback resume runs/a1, or, where they are not among its agents, run the" in part


@pytest.mark.parametrize("suite", ["ehr", "other"])
def test_an_empty_run_says_so(suite: str) -> None:
    run = Run([task("dose/0001a")])
    assert "no episode yet" in (screen_of(summary(run, suite=suite)).withheld or "")


def test_what_is_unscored_shows_its_bounds_and_over_five_percent_its_flag() -> None:
    run = played("m", "oracle", "idle", "blind")
    run.play("dose/0000a", "m", repeat=1, ending="provider_error", claim=None)
    one = screen_of(summary(run))
    assert grid(one, "Success").rows[0][0] == "m !"
    assert one.notes[0] == (
        "! m (default): 1 of 17 unscored, so success lies between 11.8 and 17.6 %:"
        " over 5 %, read the bounds and not the rate."
    )
    assert "finished\u00a016, provider_error\u00a01" in grid(one, "Course").rows[0]


def test_a_dash_of_the_clustered_error_is_said_to_be_about_that() -> None:
    notes = screen_of(summary(played("m", "oracle", "idle", "blind"))).notes
    same = "every cluster has the same rate, so no error can be estimated"
    assert f"– does not apply, or is undefined: clustered: {same}." in notes
    run = played("oracle", "idle", "blind")
    for done in run.tasks:
        run.play(done.id.removeprefix("ehr/"), "m", ending="provider_error", claim=None)
    (note,) = [note for note in screen_of(summary(run)).notes if note.startswith("– does not apply")]
    assert note == f"– does not apply, or is undefined: nothing was scored; clustered: {same}."


def test_a_fault_never_shares_a_grid_with_the_headline() -> None:
    run = played("m", "oracle", "idle", "blind")
    run.play("dose/0000a", "m", variant={**VARIANT, "fault": "lost_write"}, says={"state": "pass"})
    titles = [one.title for one in screen_of(summary(run)).grids if one.title.startswith("Success")]
    assert titles == [
        "Success (protocol tools, validation hapi), in %",
        "Success (fault lost_write, protocol tools, validation hapi), in %",
    ]


def test_several_repeats_show_the_chance_that_all_pass() -> None:
    run = played("m", "idle", "blind", "oracle")
    run.play("dose/0000a", "m", repeat=1, says={"state": "fail MISSING_WRITE"})
    success = grid(screen_of(summary(run)), "Success")
    at = [column.header for column in success.columns].index("pass^2")
    assert success.rows[0][at] == "0"


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_screen_fits_its_width(width: int) -> None:
    agents = ("openai:gpt-x", "anthropic:claude-with-a-long-name-20260101", "oracle", "idle", "blind")
    text = printed(screen_of(summary(played(*agents, conditions=("default", "grounded")))), width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert ("Left out for want of width: n, clustered, State." in text) == (width == 80)
    assert "\x1b" not in text
    assert "baselines:" in text, "the mark is a word, no colour"


def test_the_head_names_suite_record_and_what_is_missing() -> None:
    run = played("m", "oracle", "idle", "blind")
    head = screen_of(summary(run, planned=70)).head
    assert head == (
        "suite ehr · digest 5u1te · record 4ec04d (synthetic) · clock 2026-01-15T10:15:00+00:00 · seed 1",
        "runs/a1: 64 of 70 episodes scored, 6 not played yet",
    )
    real = {**ABOUT["record"], "synthetic": False}
    assert "(NOT synthetic)" in screen_of(summary(run, record=real)).head[0]
    bare = screen_of(summary(run, record=None, seed=None, suite_digest=None)).head
    assert bare[0] == "suite ehr · digest –"


def test_costs_that_are_not_known_are_never_zero() -> None:
    run = played("m", "oracle", "idle", "blind")
    run.play("dose/0000a", "m", repeat=1, says={"state": "pass"}, usage=Usage(input=5, calls=1))
    run.play("dose/0000a", "n", says={"state": "pass"}, usage=Usage(input=5, calls=1))
    run.play("dose/0000a", "own", kind="program", says={"state": "pass"})
    course = grid(screen_of(summary(run)), "Course")
    at = [column.header for column in course.columns].index("Cost $")
    assert {row[0]: row[at] for row in course.rows} == {"m": ">0.16", "n": "unknown", "own": "–"}


def test_verdicts_under_several_settings_are_named() -> None:
    run = played("m", "oracle", "idle", "blind")
    run.verdicts[0] = run.verdicts[0].model_copy(update={"config": "sha256:other"})
    assert any("several settings of: state." in note for note in screen_of(summary(run)).notes)


def test_columns_go_in_the_order_of_their_worth() -> None:
    wide = Grid("t", (Column("a"), Column("bb", keep=1), Column("cc", keep=2), Column("dd", keep=2)), (("1",) * 4,))
    assert fit(wide, 13) == (wide, ())
    assert fit(wide, 9)[1] == ("dd",)
    assert fit(wide, 5)[1] == ("cc", "dd")
    assert fit(wide, 0)[1] == ("bb", "cc", "dd")


def test_a_row_must_have_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="2 columns and a row of 1"):
        Grid("t", (Column("a"), Column("b")), (("x",),))


HOSTILE = "evil[bold red]\x1b[2J\u202e|`<script>\nnext"


def test_a_hostile_name_is_shown_and_does_nothing() -> None:
    screen = screen_of(summary(played(HOSTILE, "oracle", "idle", "blind")))
    text = printed(screen, 160)
    assert "evil[bold red]‹U+001B›[2J‹U+202E›|`<script>⏎next" in text
    assert "\x1b" not in text and "\u202e" not in text
    table = markdown(screen)
    assert r"evil\[bold red\]‹U+001B›\[2J‹U+202E›\|\`&lt;script&gt;⏎next" in table
    assert "<script>" not in table and "\x1b" not in table


def test_markdown_is_a_pipe_table_with_marked_baselines() -> None:
    text = markdown(screen_of(summary(played("m", "oracle", "idle", "blind"))))
    lines = text.splitlines()
    at = lines.index("| Agent | Condition | n | Success | 95 % | clustered | Twins | Read | Write | Withhold | State |")
    assert lines[at + 1] == "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    assert lines[at + 2].startswith("| m | default | 16 | 12.5 |")
    assert lines[at + 3].startswith("| oracle (baseline) | default | 16 | 100.0 |")
    assert r"**Success, in %**" in lines
    assert escaped("WRONG_UNIT*") == r"WRONG\_UNIT\*"


def test_numbers_in_words() -> None:
    assert [percent(x) for x in (None, 0, 1, 0.5, 0.004, 0.996)] == ["–", "0", "100", "50", "<1", ">99"]
    assert [percent(x, 1) for x in (0.0004, 0.9996, 0.1234)] == ["<0.1", ">99.9", "12.3"]
    assert (interval((0.1, 0.25)), interval(None)) == ("10.0–25.0", "–")
    assert (signed(-0.05), signed(0.05), signed(0), signed(None)) == ("−5.0", "+5.0", "+0.0", "–")
    assert [p_value(p) for p in (None, 0.0004, 0.04, 1)] == ["–", "<0.001", "0.040", "1.000"]
    assert [thousands(n) for n in (0, 999, 1000, 12_345, 4_100_000)] == ["0", "999", "1.0k", "12.3k", "4.1M"]
    assert [seconds(s) for s in (None, 0.014, 12.3)] == ["–", "0.01", "12"]
    assert most({"A": 3, "B": 2, "C": 1}, 2) == "A\u00a03, B\u00a02, +1\u00a0more"
    assert most({}, 2) == "–"
    assert variant_words({"b": "x", "a": 1, "c": None}) == "a 1, b x"
    assert variant_words({}) == "none"


def test_hidden_characters_become_visible_and_words_stay_words() -> None:
    assert visible("plain") == "plain"
    assert visible("naïve 漢字 👩\u200d⚕️ می\u200cخواهم\r\n\tx") == "naïve 漢字 👩\u200d⚕️ می\u200cخواهم\n\tx"
    assert visible("a\u202eb\u2066c\u200bd\ufeffe\x00f\x1bg\U000e0041h") == (
        "a‹U+202E›b‹U+2066›c‹U+200B›d‹U+FEFF›e‹U+0000›f‹U+001B›g‹U+E0041›h"
    )
    assert in_line("a\nb\tc") == "a⏎b c"


def test_the_content_of_the_tables_loads_no_rich() -> None:
    code = "import readback.tables, sys; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
