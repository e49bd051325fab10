"""Which row a careless reader takes is foretold in plain Python; the flawed charts, over a real search, must agree."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ehr.tasks.baselines import NEAR_ORACLES
from ehr.tasks.careless import namesake_trap, reading_traps
from ehr.tasks.chart import Chart
from ehr.tasks.idshape import storage_place
from tests.ehr.tasks.playing import CLOCK, PEOPLE, a_world, callables, result

K = ("2823-3",)
NOW = datetime.fromisoformat(CLOCK)
WINDOW = timedelta(hours=24)
ABOUT_ROWS = ("page", "order", "id", "status", "window", "future", "edge", "tie")

ages = st.sampled_from([-300, -5, 0, 30, 30, 200, 600, 1439, 1440, 1441, 3000])
rows = st.builds(
    lambda id, age, lag, status: result(
        id, (NOW - timedelta(minutes=age)).isoformat(), 4.0, status=status,
        issued=(NOW - timedelta(minutes=age - lag)).isoformat(),
    ),
    id=st.text("abcdefghij0123456789", min_size=6, max_size=6),
    age=ages,
    lag=st.integers(1, 20),
    status=st.sampled_from(["final", "final", "final", "corrected", "entered-in-error", "cancelled"]),
)  # fmt: skip


def read(chart: Chart, else_ever: bool) -> tuple[bool, str | None]:
    found = chart.latest(PEOPLE[0], K, since=NOW - WINDOW)
    if found is None and else_ever:
        ever = chart.latest(PEOPLE[0], K)
        return False, ever.id if ever else None
    return True, found.id if found else None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        rows, max_size=7, unique_by=(lambda row: row["id"], lambda row: (row["effectiveDateTime"], row["issued"]))
    ),
    st.booleans(),
)
def test_the_traps_are_exactly_those_that_the_flawed_readers_fall_into(chart_rows: list[dict], else_ever: bool) -> None:
    foretold = reading_traps(chart_rows, K, until=NOW, since=NOW - WINDOW, else_ever=else_ever)
    with a_world(chart_rows) as world:
        tools = callables(world)
        right = read(Chart(tools, CLOCK), else_ever)
        fallen = {
            trap
            for flaw, trap in NEAR_ORACLES.items()
            if trap in ABOUT_ROWS and read(Chart(tools, CLOCK, frozenset({flaw})), else_ever) != right
        }
    assert foretold == fallen


def test_a_namesake_is_a_trap_where_the_other_is_listed_first() -> None:
    first, second = sorted(("p1", "p2"), key=storage_place)
    assert namesake_trap(second, first) == {"namesake"}
    assert namesake_trap(first, second) == frozenset()
    with a_world([]) as world:
        chart = Chart(callables(world), CLOCK, frozenset({"first_patient"}))
        people = [person["id"] for person in chart.people({"given": "Ada", "family": "Okafor"})]
        assert [id for id in people if id in ("p1", "p2")] == [first, second]
