"""A short fuzz of the REST surface; `make fuzz` runs the long one, of 100,000 requests."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz import CLOCK, WARD, Draw, Report, check, fuzz, note
from ehr.sandbox.record import Record


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as built:
        yield built


@pytest.mark.parametrize(("validation", "count"), [("hapi", 6000), ("full", 2000)])
def test_any_request_is_answered_in_time_without_a_fault_and_inside_its_fork(validation: str, count: int) -> None:
    report = fuzz(count, seed=20260115, validation=validation)
    assert report.faults == []
    assert report.requests == count
    assert {200, 201, 400, 404, 405, 422} <= report.statuses.keys(), "the fuzz reaches what it should"


@settings(max_examples=250, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_what_hypothesis_draws_is_answered_too(record: Record, random: Random, count: int) -> None:
    """Few requests at a time, so that one that fails is made small."""
    draw, report, fork = Draw(random), Report(), record.fork()
    for _ in range(count):
        request = draw.request()
        note(report, request, fork.handle(request), 0.0)
    check(fork, record, "hapi", report)
    assert report.faults == []


def test_the_same_seed_draws_the_same_requests() -> None:
    one, other = Draw(7), Draw(7)
    assert [one.request() for _ in range(200)] == [other.request() for _ in range(200)]
