"""A short fuzz of the REST surface; `benchmarks/fuzz.py` runs the long one."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import Draw, fuzz


@pytest.mark.parametrize(("validation", "count"), [("hapi", 6000), ("full", 2000)])
def test_any_request_is_answered_in_time_without_a_fault_and_inside_its_fork(validation: str, count: int) -> None:
    report = fuzz(count, seed=20260115, validation=validation)
    assert report.faults == []
    assert report.requests == count
    assert {200, 201, 400, 404, 405, 422} <= report.statuses.keys(), "the fuzz reaches what it should"


def test_the_same_seed_draws_the_same_requests() -> None:
    one, other = Draw(7), Draw(7)
    assert [one.request() for _ in range(200)] == [other.request() for _ in range(200)]
