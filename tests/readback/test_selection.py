"""Which tasks are played where not all are: spread over the templates, twins together, in the suite's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.task import Task
from readback.selection import limited
from tests.readback.hand import task

SUITE = [
    task("a/0001a", twin="a/0001b"), task("a/0001b", twin="a/0001a"), task("a/0002a", twin="a/0002b"),
    task("a/0002b", twin="a/0002a"), task("b/0001"), task("b/0002"), task("b/0003"), task("c/0001"),
]  # fmt: skip


def names(tasks: list[Task]) -> list[str]:
    return [task.id.removeprefix("ehr/") for task in tasks]


def test_each_template_gives_one_group_in_turn() -> None:
    assert names(limited(SUITE, 4)) == ["a/0001a", "a/0001b", "b/0001", "c/0001"]
    assert names(limited(SUITE, 6)) == ["a/0001a", "a/0001b", "a/0002a", "a/0002b", "b/0001", "c/0001"]


def test_a_pair_that_does_not_fit_is_passed_over() -> None:
    assert names(limited(SUITE, 1)) == ["b/0001"]
    assert names(limited(SUITE, 5)) == ["a/0001a", "a/0001b", "b/0001", "b/0002", "c/0001"]


def test_one_of_a_pair_is_played_where_there_is_nothing_else() -> None:
    assert names(limited(SUITE[:4], 1)) == ["a/0001a"]


@given(st.integers(1, 12))
def test_never_more_than_asked_for_and_always_in_order(limit: int) -> None:
    chosen = limited(SUITE, limit)
    assert 0 < len(chosen) <= limit
    assert chosen == [task for task in SUITE if task in chosen]
    assert len(chosen) >= min(limit, len(SUITE)) - 1
