"""What a chart says, in plain Python."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ehr.tasks import truth
from ehr.tasks.truth import Reading
from ehr.verify.units import convert
from tests.ehr.tasks.playing import result

NOW = datetime(2026, 1, 15, 10, 15, tzinfo=UTC)
K = ("2823-3",)


def readings(*rows: dict[str, object]) -> list[Reading]:
    return truth.readings(rows, K)


def test_the_latest_is_the_latest_by_time_whatever_its_place() -> None:
    found = readings(
        result("a", "2026-01-15T08:00:00+00:00", 4.1),
        result("b", "2026-01-15T09:00:00+00:00", 3.9),
        result("c", "2026-01-14T23:00:00+00:00", 4.4),
    )
    latest = truth.latest(found, until=NOW)
    assert latest is not None
    assert (latest.id, latest.value) == ("b", Decimal("3.9"))


def test_times_are_compared_as_instants() -> None:
    found = readings(
        result("early", "2026-01-15T09:30:00+02:00", 4.1), result("late", "2026-01-15T03:00:00-05:00", 3.9)
    )
    latest = truth.latest(found, until=NOW)
    assert latest is not None and latest.id == "late"


def test_both_ends_of_a_window_are_inside_and_what_lies_ahead_is_not() -> None:
    since = datetime(2026, 1, 14, 10, 15, tzinfo=UTC)
    found = readings(
        result("edge", "2026-01-14T10:15:00+00:00", 1),
        result("before", "2026-01-14T10:14:59+00:00", 2),
        result("now", "2026-01-15T10:15:00+00:00", 3),
        result("ahead", "2026-01-15T10:15:01+00:00", 4),
    )
    assert [reading.id for reading in truth.within(found, since=since, until=NOW)] == ["edge", "now"]


def test_of_two_of_one_time_the_one_reported_last_counts() -> None:
    at = "2026-01-15T08:00:00+00:00"
    found = readings(
        result("second", at, 4.4, issued="2026-01-15T09:40:00+00:00"),
        result("first", at, 4.1, issued="2026-01-15T08:30:00+00:00"),
        result("unreported", at, 4.0),
    )
    latest = truth.latest(found, until=NOW)
    assert latest is not None and latest.id == "second"


def test_rows_that_do_not_stand_have_no_value_or_are_of_another_test_are_no_readings() -> None:
    at = "2026-01-15T08:00:00+00:00"
    valueless = {key: value for key, value in result("x", at, 1).items() if key != "valueQuantity"}
    assert (
        readings(result("a", at, 1, status="entered-in-error"), result("b", at, 1, status="cancelled"), valueless) == []
    )
    assert readings(result("c", at, 1, code="2345-7")) == []
    assert [reading.id for reading in readings(result("d", at, 1, status="corrected"))] == ["d"]


@pytest.mark.parametrize(
    ("value", "unit", "target", "analyte", "expected"),
    [
        ("0.6", "mmol/L", "mg/dL", "magnesium", "1.4583"),
        ("10", "mmol/L", "mg/dL", "glucose", "180.16"),
        ("100", "umol/L", "mg/dL", "creatinine", "1.1312"),
        ("154", "[lb_av]", "kg", "weight", "69.85322498"),
        ("101.3", "[degF]", "Cel", "temperature", "38.5"),
        ("1.4", "mg/dL", "mg/dL", "magnesium", "1.4"),
    ],
)
def test_units_are_converted_as_the_lenses_convert_them(
    value: str, unit: str, target: str, analyte: str, expected: str
) -> None:
    reading = Reading("r", NOW, None, Decimal(value), unit)
    found = truth.converted(reading, target, analyte)
    assert found == Decimal(expected)
    other = convert(Decimal(value), unit, target, analyte=analyte if analyte not in ("weight", "temperature") else None)
    assert other is not None
    assert float(found) == pytest.approx(float(other), rel=2e-4)


@pytest.mark.parametrize(
    ("born", "today", "years"),
    [
        ("1961-01-15", date(2026, 1, 15), 65),
        ("1961-01-16", date(2026, 1, 15), 64),
        ("1961-01-14", date(2026, 1, 15), 65),
        ("1964-02-29", date(2026, 2, 28), 61),
        ("1964-02-29", date(2026, 3, 1), 62),
        ("2025-03-01", date(2026, 1, 15), 0),
        ("1928-06-01", date(2026, 1, 15), 97),
    ],
)
def test_ages_are_completed_years(born: str, today: date, years: int) -> None:
    assert truth.age(born, today) == years


def concept(code: str) -> dict[str, object]:
    return {"coding": [{"code": code}]}


@pytest.mark.parametrize(
    ("clinical", "verification", "is_active"),
    [
        ("active", "confirmed", True),
        ("recurrence", "confirmed", True),
        ("resolved", "confirmed", False),
        ("inactive", "confirmed", False),
        ("active", "refuted", False),
        ("active", "entered-in-error", False),
    ],
)
def test_what_is_active_stands_and_is_not_doubted(clinical: str, verification: str, is_active: bool) -> None:
    row = {"clinicalStatus": concept(clinical), "verificationStatus": concept(verification)}
    assert truth.is_active(row) is is_active
