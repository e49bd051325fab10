"""The fence: whatever is in the data, it stays between two lines that nobody could write, and nothing of it is lost."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.fence import KEY_BYTES, Fence, fence_for, one_line
from tests.judges.injections import INJECTIONS

KEY = bytes(range(KEY_BYTES))
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.sampled_from(sorted(INJECTIONS.values()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_is_one_line_that_hides_and_loses_nothing(value: Any) -> None:
    line = one_line(value)
    assert json.loads(line) == value
    assert len(line.splitlines()) == 1
    assert "<" not in line
    assert {unicodedata.category(letter) for letter in line} <= {
        "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
        "Sm", "Sc", "Sk", "So", "Zs",
    }  # fmt: skip


@given(st.lists(VALUES, max_size=5))
def test_between_the_two_lines_stands_the_data_and_nothing_else(values: list[Any]) -> None:
    lines = [one_line(value) for value in values]
    fence = fence_for(KEY, lines)
    around = fence.around(lines).split("\n")
    assert around == [fence.begin, *lines, fence.end]
    assert [number for number, line in enumerate(around) if fence.marker in line] == [0, len(around) - 1]
    assert [json.loads(line) for line in around[1:-1]] == values


def test_brackets_of_chat_templates_are_written_by_their_code_and_others_are_not() -> None:
    assert one_line("[INST] [/INST] [1] [a] [/a]") == r'"\u005bINST] \u005b/INST] [1] [a] [/a]"'
    assert one_line(["[TOOL_CALLS]", ["x"]]) == r'["\u005bTOOL_CALLS]",["x"]]'
    assert one_line("a < b, é, 漢, ✓") == r'"a \u003c b, é, 漢, ✓"'


def test_what_no_file_of_ours_holds_is_data_all_the_same() -> None:
    assert json.loads(one_line("half \ud800 a pair")).replace("\ufffd", "") == "half  a pair"
    assert json.loads(one_line({"n": 10**30})) == {"n": 10**30}


def test_the_marker_depends_on_the_key_and_on_every_character() -> None:
    markers = [
        fence_for(key, lines).marker
        for key in (KEY, KEY[::-1])
        for lines in (["a", "b"], ["a", "c"], ["ab"], ["a"], [])
    ]
    assert len(set(markers)) == len(markers)
    assert {len(marker) for marker in markers} == {32}
    assert fence_for(KEY, ["a", "b"]) == fence_for(KEY, ["a", "b"])


def test_a_marker_that_stands_in_the_data_is_not_taken() -> None:
    # Nobody can write a text that holds its own marker; a key that makes a short one shows what would be done.
    first = fence_for(KEY, ["text"])
    with pytest.raises(ValueError, match="would break the fence"):
        first.around([f"text {first.marker}"])
    assert fence_for(KEY, [f"text {first.marker}"]).marker != first.marker


@pytest.mark.parametrize("line", ["a\nb", "a\r", "\n"])
def test_more_than_a_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="would break the fence"):
        Fence("0" * 32).around([line])
