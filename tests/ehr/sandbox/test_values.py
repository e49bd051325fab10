"""Dates, folded text and references, as search reads them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.sandbox.parameters.values import (
    DAY_MS,
    Span,
    folded,
    referenced_type,
    searched_date,
    split_reference,
    stored_date,
)

MARCH_1 = 18322  # days from 1970-01-01 to 2020-03-01


def test_a_day_a_month_and_a_year_are_all_of_it():
    assert stored_date("2020-03-01") == Span(MARCH_1 * DAY_MS, (MARCH_1 + 1) * DAY_MS - 1, MARCH_1, MARCH_1)
    assert stored_date("2020-03") == Span(MARCH_1 * DAY_MS, (MARCH_1 + 31) * DAY_MS - 1, MARCH_1, MARCH_1 + 30)
    year = stored_date("2020")
    assert year is not None and year.last_day - year.first_day == 365, "a leap year"
    assert stored_date("9999-12-31") is not None and stored_date("9999") is not None


def test_a_stored_time_is_one_instant_with_its_day_as_written():
    late = stored_date("2020-03-01T23:30:00-05:00")
    assert late is not None
    assert late.start == late.end == MARCH_1 * DAY_MS + int(28.5 * 3_600_000)
    assert late.first_day == late.last_day == MARCH_1
    assert stored_date("2020-03-01T00:00:00") == stored_date("2020-03-01T00:00:00Z"), "no zone is UTC"
    leap = stored_date("2016-12-31T23:59:60Z")
    assert leap is not None and leap.start == 17167 * DAY_MS
    fraction = stored_date("2020-03-01T00:00:00.1239Z")
    assert fraction is not None and fraction.start == MARCH_1 * DAY_MS + 123


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2020-13", "2020-02-30", "20-01-01", "2020-03-01T25:00:00Z", "2020-1-1"]
)
def test_what_is_no_date_is_none(text: str):
    assert stored_date(text) is None
    with pytest.raises(ValueError, match="is no date"):
        searched_date(text)


@pytest.mark.parametrize(
    ("text", "width"),
    [("2020-03-01T10:00:00.500Z", 0), ("2020-03-01T10:00:00Z", 999), ("2020-03-01T10:00Z", 59_999)],
)
def test_a_searched_time_is_as_wide_as_its_precision(text: str, width: int):
    date = searched_date(text)
    assert date.span.end - date.span.start == width
    assert not date.by_day
    assert searched_date("2020-03").by_day


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_an_instant_is_the_same_however_its_zone_is_written(moment: datetime, minutes: int):
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    found = stored_date(aware.isoformat())
    assert found is not None
    assert found.start == (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert found.first_day == (moment.date() - date(1970, 1, 1)).days


def test_text_is_folded():
    assert folded("Müller") == folded("MULLER") == "MULLER"
    assert folded("Straße") == "STRASSE"
    assert folded("a€b") == "A€B"
    assert folded("İstanbul") == "ISTANBUL"
    assert folded("O'Neil, 3") == "O'NEIL, 3"


@given(st.text())
def test_folding_twice_changes_nothing(text: str):
    once = folded(text)
    assert folded(once) == once or not text.isascii()


def test_references():
    assert split_reference("Patient/1") == split_reference("Patient/1/_history/4") == ("Patient", "1")
    for other in ("#p", "urn:uuid:1", "http://x/fhir/Patient/1", "Patient", "patient/1", "Patient/", ""):
        assert split_reference(other) is None
    assert referenced_type({"reference": "http://x/fhir/Patient/1/_history/2"}) == "Patient"
    assert referenced_type({"reference": "#p", "type": "Group"}) == "Group"
    assert referenced_type({"identifier": {}}) is None
