"""The assignment against brute force: every one-to-one assignment of small sets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.verify.assignment import assign

Scores = list[list[tuple[int, int]]]


def brute_force(scores: Sequence[Sequence[tuple[int, ...]]]) -> list[int | None]:
    """Of all assignments with as many pairs as can be: the largest sums, rank by rank; then the earliest columns."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    places: list[int | None] = [*range(columns), *[None] * max(0, rows - columns)]
    late = columns  # a row without a column comes after every column

    def value(chosen: Sequence[int | None]) -> tuple[list[int], list[int]]:
        pairs = [scores[row][column] for row, column in enumerate(chosen) if column is not None]
        sums = [-sum(rank) for rank in zip(*pairs, strict=True)]
        return sums, [late if column is None else column for column in chosen]

    best: tuple[int | None, ...] = min(permutations(places, rows), key=value)
    return list(best)


def _matrices(largest: int) -> st.SearchStrategy[Scores]:
    def of_shape(shape: tuple[int, int]) -> st.SearchStrategy[Scores]:
        pair = st.tuples(st.integers(0, 1), st.integers(0, 3))
        return st.lists(
            st.lists(pair, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )  # fmt: skip

    return st.tuples(st.integers(1, largest), st.integers(1, largest)).flatmap(of_shape)


@settings(max_examples=400, deadline=None)
@given(_matrices(5))
def test_the_assignment_is_the_one_that_brute_force_finds(scores: Scores) -> None:
    assert assign(scores) == brute_force(scores)


@settings(max_examples=50, deadline=None)
@given(_matrices(40))
def test_a_large_assignment_is_one_to_one_and_as_full_as_can_be(scores: Scores) -> None:
    taken = [column for column in assign(scores) if column is not None]
    assert len(taken) == len(set(taken)) == min(len(scores), len(scores[0]))


def test_ties_go_to_the_first_row_and_the_first_column() -> None:
    same = (1, 1)
    assert assign([[same, same], [same, same]]) == [0, 1]
    assert assign([[same], [same]]) == [0, None]
    assert assign([[same, same], [same, same], [same, same]]) == [0, 1, None]
    assert assign([[same, same, same]]) == [0]


def test_the_first_count_outweighs_any_sum_of_the_second() -> None:
    assert assign([[(0, 1000), (1, 0)]]) == [1]
    assert assign([[(0, 1000), (1, 0)], [(0, 1000), (1, 0)]]) == [0, 1]
    assert assign([[(1, 0), (0, 9)], [(1, 0), (0, 0)]]) == [1, 0]


def test_nothing_to_assign() -> None:
    assert assign([]) == []
    assert assign([[], []]) == [None, None]
