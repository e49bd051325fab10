"""What tools put around the text of a file, and how it is taken away."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.marks import Pieces, pieces_of

CODE = "import os\n\n\ndef run(x):\n    return x"


def pieces(shown: str, first_line: int | None = None) -> Pieces:
    """The pieces; every character of one is the character it says it is in what was shown."""
    found = pieces_of(shown, first_line)
    for piece in found.pieces:
        for place, character in enumerate(piece.text):
            assert character == "\n" or shown[piece.shown_at(place)] == character
    return found


def texts(shown: str) -> list[str]:
    return [piece.text for piece in pieces(shown).pieces]


def numbered(code: str, form: str, first: int = 1) -> str:
    return "\n".join(form.format(number, line) for number, line in enumerate(code.split("\n"), first))


@pytest.mark.parametrize(
    "form",
    [
        "{}\t{}",
        "{:>6}\t{}",
        "{}: {}",
        "{}:{}",
        "{} | {}",
        "{:>4}|{}",
        "{}→{}",
        "L{}: {}",
        "{:05}| {}",
        "{:>4} {}",
        "{}. {}",
        "{}) {}",
    ],
)
@pytest.mark.parametrize("first", [1, 98])
def test_line_numbers_are_taken_away(form: str, first: int) -> None:
    (piece,) = pieces(numbered(CODE, form, first)).pieces
    assert [line for line in piece.text.split("\n") if line.strip()] == [line for line in CODE.split("\n") if line]
    assert piece.begins is (first == 1)


def test_a_single_numbered_line_is_one_where_the_call_asked_for_it() -> None:
    assert [piece.text for piece in pieces("12\tdef run(x):", 12).pieces] == ["def run(x):"]
    assert texts("12\tdef run(x):") == ["12\tdef run(x):"]


@pytest.mark.parametrize(
    "text", [CODE, "x = {\n    1: 'a',\n    7: 'b',\n}", "1\n", "def f(): ...", "x = ['truncated', 'a']"]
)
def test_a_file_without_marks_stays_as_it_is(text: str) -> None:
    assert (texts(text), pieces(text).cut) == ([text], False)


def test_numbers_are_the_files_own_unless_most_of_them_follow_one_another() -> None:
    table = "10: ten\n20: twenty\n30: thirty\n31: again"
    assert texts(table) == [table]
    assert texts("10: a\n11: b\n12: c\n20: d") == ["a\nb\nc", "d"]
    prose = "1: one\n2: two\nno number\nnone here\nnor here\n3: three"
    assert texts(prose) == [prose]


def test_a_jump_in_the_numbers_is_a_gap() -> None:
    assert texts("1\ta = 1\n2\tb = 2\n9\tc = 3\n10\td = 4") == ["a = 1\nb = 2", "c = 3\nd = 4"]


def test_a_tools_own_lines_around_numbered_ones_are_left_out() -> None:
    shown = "Here is the result of `cat -n` on /a.py:\n" + numbered(CODE, "{:>6}\t{}") + "\n\n(end of file)"
    assert texts(shown)[0].startswith("import os")
    assert "Here" not in texts(shown)[0]


@pytest.mark.parametrize(
    "shown",
    [
        f"```python\n{CODE}\n```",
        f"~~~\n{CODE}\n~~~",
        f"<file>\n{CODE}\n</file>",
        f'<file path="a.py">\n<content>\n{CODE}\n</content>',
    ],
)
def test_fences_and_tags_around_a_text_are_taken_away(shown: str) -> None:
    assert texts(shown) == [CODE]


@pytest.mark.parametrize(
    "mark",
    [
        "[... 40 lines truncated ...]",
        "... [truncated]",
        "… (120 more lines)",
        "<output truncated>",
        "[... Observation truncated due to length ...]",
        "... 12 lines omitted ...",
        "(content not shown)",
    ],
)
def test_a_mark_between_two_parts_is_a_gap_of_which_nobody_knows_who_made_it(mark: str) -> None:
    found = pieces(f"def a(): pass\n{mark}\ndef b(): pass\n")
    assert [piece.text.strip() for piece in found.pieces] == ["def a(): pass", "def b(): pass"]
    assert found.cut


@pytest.mark.parametrize("end", ["... [truncated]", "…", "[output truncated]", "<response clipped>", "..."])
def test_a_text_may_end_in_a_mark(end: str) -> None:
    found = pieces(f"def a():\n    return some_nam{end}")
    assert [piece.text for piece in found.pieces] == ["def a():\n    return some_nam"]
    assert found.cut


@pytest.mark.parametrize(
    "mark",
    [
        "(File has more lines. Use 'offset' to read beyond line 200)",
        "<response clipped><NOTE>To save on context only part of this file has been shown.</NOTE>",
        "(5 more lines above)",
        "(100 more lines below)",
    ],
)
def test_a_mark_that_tells_the_agent_how_to_go_on_is_the_tools(mark: str) -> None:
    found = pieces(f"def a(): pass\n{mark}\n")
    assert [piece.text.strip() for piece in found.pieces] == ["def a(): pass"]
    assert not found.cut


@settings(deadline=None)
@given(st.text(max_size=400), st.sampled_from(("{}\t{}", "{}: {}", "{}|{}", "{:>5}→{}")))
def test_numbers_that_were_put_before_any_lines_can_be_taken_away_again(text: str, form: str) -> None:
    lines = [f"x{line}" for line in text.replace("\r", " ").split("\n")] + ["y"]
    (piece,) = pieces(numbered("\n".join(lines), form)).pieces
    assert piece.text == "\n".join(lines)


@settings(deadline=None)
@given(st.text(alphabet="ab1:\t|[](). \n<>`→…truncated", max_size=300))
def test_pieces_are_parts_of_what_was_shown(shown: str) -> None:
    pieces(shown)


@pytest.mark.parametrize(
    "shown", ["1: a\n" * 50_000, "[truncated " * 50_000, "(\n" * 50_000, "... truncated\n" * 10_000]
)
def test_many_marks_are_read_in_bounded_time(shown: str) -> None:
    pieces_of(shown)
