"""A chart read through the tools: each care, and what its lack does."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from ehr.tasks.chart import FLAWS, Chart, ChartError, Result
from tests.ehr.tasks.playing import CLOCK, PEOPLE, a_chart, a_world, callables, result

K = ("2823-3",)
P1 = PEOPLE[0]


def latest_id(result: Result | None) -> str | None:
    return result.id if result else None


def test_a_person_is_found_by_name_and_birth_date_among_namesakes() -> None:
    told = {"given": "Ada", "family": "Okafor", "birth_date": "1967-11-23"}
    with a_chart([]) as chart:
        assert chart.patient(told)["id"] == "p2"
        assert chart.patient({"mrn": "10000001"})["id"] == "p1"


def test_nobody_is_found_rather_than_somebody_like_them() -> None:
    with a_chart([]) as chart, pytest.raises(ChartError, match="no patient is found"):
        chart.patient({"given": "Ada", "family": "Okafor", "birth_date": "1967-11-24"})


def test_without_the_birth_date_the_first_of_the_name_is_taken() -> None:
    told = {"given": "Ada", "family": "Okafor", "birth_date": "1967-11-24"}
    with a_chart([], "first_patient") as chart:
        assert chart.patient(told)["id"] in ("p1", "p2", "p3")


def test_results_come_from_all_pages() -> None:
    rows = [result(f"o{n}", f"2026-01-{1 + n // 10:02d}T08:{n:02d}:00+00:00", 4) for n in range(45)]
    with a_chart(rows) as chart:
        assert len(chart.results(P1, K)) == 45
    with a_chart(rows, "first_page") as chart:
        assert len(chart.results(P1, K)) == 20


ROWS = [
    result("older", "2026-01-14T22:00:00+00:00", 4.0),
    result("latest", "2026-01-15T08:00:00+00:00", 3.9),
    result("error", "2026-01-15T09:00:00+00:00", 2.9, status="entered-in-error"),
    result("ahead", "2026-01-15T11:00:00+00:00", 5.9),
    result("other", "2026-01-15T09:30:00+00:00", 120, "mg/dL", "2345-7"),
]


def test_the_latest_stands_and_is_not_ahead_of_the_clock() -> None:
    with a_chart(ROWS) as chart:
        assert latest_id(chart.latest(P1, K)) == "latest"
    with a_chart(ROWS, "ignore_status") as chart:
        assert latest_id(chart.latest(P1, K)) == "error"
    with a_chart(ROWS, "ignore_future") as chart:
        assert latest_id(chart.latest(P1, K)) == "ahead"


def test_place_and_id_are_not_time() -> None:
    with a_chart(ROWS, "first_row") as chart:
        assert latest_id(chart.latest(P1, K)) in ("older", "latest")
    with a_chart([*ROWS, result("zzz", "2026-01-10T08:00:00+00:00", 1)], "newest_id") as chart:
        assert latest_id(chart.latest(P1, K)) == "zzz"


def test_the_window_has_both_ends() -> None:
    rows = [result("edge", "2026-01-14T10:15:00+00:00", 4.0), result("before", "2026-01-14T10:14:00+00:00", 4.1)]
    day = timedelta(hours=24)
    with a_chart(rows) as chart:
        assert [found.id for found in chart.results(P1, K, since=chart.now - day)] == ["edge"]
    with a_chart(rows, "open_edge") as chart:
        assert chart.results(P1, K, since=chart.now - day) == []
    with a_chart(rows, "ignore_window") as chart:
        assert len(chart.results(P1, K, since=chart.now - day)) == 2


def test_of_two_of_one_time_the_one_reported_last_is_taken() -> None:
    at = "2026-01-15T08:00:00+00:00"
    rows = [
        result("one", at, 4.0, issued="2026-01-15T08:20:00+00:00"),
        result("two", at, 4.1, issued="2026-01-15T09:20:00+00:00"),
        result("three", at, 4.2, issued="2026-01-15T08:40:00+00:00"),
    ]
    with a_chart(rows) as chart:
        assert latest_id(chart.latest(P1, K)) == "two"


def test_values_are_converted_unless_the_unit_is_not_read() -> None:
    rows = [result("mg", "2026-01-15T08:00:00+00:00", 0.6, "mmol/L", "2601-3")]
    with a_chart(rows) as chart:
        found = chart.latest(P1, ("2601-3",))
        assert found is not None
        assert float(chart.number(found, "mg/dL", "magnesium")) == pytest.approx(1.4583)
    with a_chart(rows, "ignore_unit") as chart:
        assert chart.number(found, "mg/dL", "magnesium") == Decimal("0.6")


def test_a_unit_that_cannot_be_converted_is_unclear() -> None:
    rows = [result("x", "2026-01-15T08:00:00+00:00", 4, "/min")]
    with a_chart(rows) as chart:
        found = chart.latest(P1, K)
        assert found is not None
        with pytest.raises(ChartError, match="cannot be converted"):
            chart.number(found, "mmol/L")


def test_a_write_is_read_back_and_says_which_version_it_replaces() -> None:
    with a_world([]) as world:
        chart = Chart(callables(world), CLOCK)
        chart.create(
            {"resourceType": "Flag", "status": "active", "code": {"text": "x"}, "subject": {"reference": "Patient/p1"}}
        )
        chart.update(chart.patient({"mrn": "10000001"}), birthDate="1961-04-03")
        requests = world.evidence().requests
    writes = [(n, request) for n, request in enumerate(requests) if request.method in ("POST", "PUT")]
    assert [requests[n + 1].method for n, _ in writes] == ["GET", "GET"]
    assert writes[1][1].headers["If-Match"] == 'W/"1"'


def test_what_the_server_refuses_is_unclear() -> None:
    with a_chart([]) as chart, pytest.raises(ChartError, match="fhir_read answered 404"):
        chart.read("Patient/nobody")


def test_unknown_flaws_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown flaws \['haste'\]"):
        Chart({}, CLOCK, frozenset({"haste"}))
    assert len(FLAWS) == 11
