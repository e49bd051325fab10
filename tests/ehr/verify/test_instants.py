from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ehr.verify import Create, Expected, hours
from ehr.verify import instant as instant_clause
from ehr.verify.instants import duration, instant
from tests.ehr.verify.build import CLOCK, ORDER, Chart, finding, labels, order, potassium, state

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15T12:00:00Z",
        "2026-01-15T12:00:00+00:00",
        "2026-01-15T12:00:00-00:00",
        "2026-01-15T12:00:00.000Z",
        "2026-01-15T12:00Z",
        "2026-01-15T17:30:00+05:30",
        "2026-01-14T22:00:00-14:00",
        "2026-01-15T12:00:00.0000009Z",
    ],
)
def test_one_moment_has_many_spellings(text: str) -> None:
    assert instant(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15T12:00:01Z",
        "2026-01-15T12:00:00.001Z",
        "2026-01-15T12:00:00-08:00",
        "2026-01-16T12:00:00Z",
    ],
)
def test_another_moment_is_another(text: str) -> None:
    assert instant(text) not in (None, NOON)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15",
        "2026-01",
        "2026-01-15T12:00:00",
        "2026-01-15T12:00:00.000",
        "2026-01-15 12:00:00Z",
        "2026-02-30T12:00:00Z",
        "2026-01-15T25:00:00Z",
        "2026-01-15T12:00:00+25:00",
        "0001-01-01T00:00:00+14:00",
        "2026-01-15T12:00:00Z\n",
        "2026-01-15T10:15 or so",
        "２０２６-01-15T12:00:00Z",
        "",
        None,
        20260115,
        {"start": "2026-01-15T12:00:00Z"},
    ],
)
def test_a_date_a_time_without_zone_and_nonsense_are_no_moment(text: object) -> None:
    assert instant(text) is None


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT1H", timedelta(hours=1)),
        ("PT0S", timedelta()),
        ("PT3600S", timedelta(hours=1)),
        ("P1DT12H", timedelta(hours=36)),
        ("PT1H30M5S", timedelta(hours=1, minutes=30, seconds=5)),
        ("P2D", timedelta(days=2)),
    ],
)
def test_durations_of_fixed_length_are_read(text: str, length: timedelta) -> None:
    assert duration(text) == length


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P1M", "P1Y", "1H", "PT1.5H", "-PT1H", "P1W"])
def test_other_durations_are_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration of days, hours"):
        duration(text)


@pytest.mark.parametrize(
    "authored",
    ["2026-01-15T10:15:00Z", "2026-01-15T15:45:00+05:30", "2026-01-15T09:15:00Z", "2026-01-15T11:15:00.000Z"],
)
def test_a_moment_inside_the_window_passes_both_edges_included(authored: str) -> None:
    assert labels(ORDER, order(authoredOn=authored)) == ()


@pytest.mark.parametrize(
    "authored",
    [
        "2026-01-15T11:15:00.001Z",
        "2026-01-15T09:14:59Z",
        "2026-01-15T10:15:00-08:00",
        "2026-01-15",
        "2026-01-15T10:15:00",
        None,
    ],
)
def test_a_moment_outside_a_date_alone_a_time_without_zone_or_none_is_wrong_time(authored: str | None) -> None:
    assert labels(ORDER, order(authoredOn=authored)) == ("WRONG_TIME",)


def test_a_choice_of_time_goes_by_its_stem_and_a_period_is_no_moment() -> None:
    expected = Expected(
        creates=(Create(type="Observation", clauses=(instant_clause("when", "effective", CLOCK, within=hours(0)),)),)
    )
    assert labels(expected, potassium(effectiveDateTime="2026-01-15T11:15:00+01:00")) == ()
    assert labels(expected, potassium(effectiveDateTime=None, effectiveInstant="2026-01-15T10:15:00Z")) == ()
    assert labels(expected, potassium(effectiveDateTime=None, effectivePeriod={"start": CLOCK})) == ("WRONG_TIME",)


def test_every_moment_at_the_path_must_be_inside() -> None:
    expected = Expected(
        creates=(
            Create(type="Observation", clauses=(instant_clause("when", "effective.event", CLOCK, within=hours(1)),)),
        )
    )

    def timed(*events: str) -> tuple[str, ...]:
        return labels(expected, potassium(effectiveDateTime=None, effectiveTiming={"event": list(events)}))

    assert timed(CLOCK, "2026-01-15T10:45:00Z") == ()
    assert timed(CLOCK, "2026-01-16T10:45:00Z") == ("WRONG_TIME",)


def test_the_finding_names_the_time_that_was_found_and_where() -> None:
    chart = Chart()
    chart.create(order(authoredOn="2026-01-15"))
    clause = finding(state(chart, ORDER), "creates[0].when")
    assert (clause.label, clause.actual) == ("WRONG_TIME", "2026-01-15")
    assert clause.expected == "2026-01-15T10:15:00+00:00 ± PT3600S"
    assert clause.evidence is not None
    assert (clause.evidence.resource, clause.evidence.path) == ("MedicationRequest/1000", "authoredOn")
