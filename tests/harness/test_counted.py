"""A count with what is counted."""

from __future__ import annotations

from harness.counted import counted


def test_one_is_one_and_everything_else_is_several() -> None:
    assert [counted(number, "vote") for number in (0, 1, 2)] == ["0 votes", "1 vote", "2 votes"]
    assert counted(1, "task agrees", "tasks agree") == "1 task agrees"
    assert counted(2, "task agrees", "tasks agree") == "2 tasks agree"
