"""Crossings, fares and boards."""

from decimal import Decimal

import ferrytide
from ferrytide.sailing import next_departure
from ferrytide.water import curve as tides


class TestTimetable:
    def test_plan_crossings_only_at_high_water(self):
        curve = tides.TideCurve.from_extremes([(0.0, 0.4), (6.2, 3.9), (12.4, 0.5)])
        timetable = ferrytide.plan_crossings(ferrytide.Vessel("Marit", draught=1.6), curve, hours=12)
        assert len(timetable) > 0
        assert next_departure(timetable, 0).leaves > 2

    def test_parse_timetable_and_render_board_agree(self):
        text = "07:30 08:00 Marit\n09:00 09:30 Solveig"
        assert ferrytide.render_board(ferrytide.parse_timetable(text)) == text


def test_quote_fare():
    assert ferrytide.quote_fare(2, bicycles=1) == Decimal("99.00")
    assert ferrytide.apply_discount(Decimal(100), Decimal("0.4")) == 60
