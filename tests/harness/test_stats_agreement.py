"""Agreement and detectors: against scikit-learn, statsmodels and krippendorff, and the degenerate tables."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from statsmodels.stats.inter_rater import cohens_kappa

from harness.stats import Cells, Estimate, agreement, detector, krippendorff_alpha

tables = st.tuples(*[st.integers(0, 40)] * 4)
CERTAIN = "both always say the same one thing, so chance agreement is 1"


def votes_of(cells: tuple[int, int, int, int]) -> tuple[list[int], list[int]]:
    a = [1] * (cells[0] + cells[1]) + [0] * (cells[2] + cells[3])
    b = [1] * cells[0] + [0] * cells[1] + [1] * cells[2] + [0] * cells[3]
    return a, b


def test_the_worked_example() -> None:
    """Margins 20.9 % and 6.4 % with agreement 77.6 % leave one table, and this is what it says."""
    a, b, agree = 20.9, 6.4, 77.6
    both = (a + b - (100 - agree)) / 2
    cells = Cells(both, a - both, b - both, 100 - a - b + both)
    assert cells == pytest.approx((2.45, 18.45, 3.95, 75.15))
    result = agreement({"all": cells})
    assert result.agreement.value == pytest.approx(0.776)
    assert result.cohen_kappa.value == pytest.approx(0.09, abs=0.005)
    assert result.cohen_kappa_max.value == pytest.approx(0.41, abs=0.005)
    assert result.positive_agreement.value == pytest.approx(0.18, abs=0.005)
    assert cells.fail_pass / b == pytest.approx(0.62, abs=0.005), "of the judge's passes, ungrounded for the predicate"


@given(tables)
@example((5, 0, 0, 0))
@example((0, 0, 0, 7))
@example((3, 4, 0, 0))
@example((0, 3, 0, 0))
@example((0, 0, 0, 0))
def test_cohen_kappa_is_that_of_scikit_learn_and_statsmodels(cells: tuple[int, int, int, int]) -> None:
    result = agreement({0: Cells(*cells)}).cohen_kappa
    if not sum(cells):
        assert result == Estimate(None, None, "no episode is scored by both")
        return
    a, b = votes_of(cells)
    if len({*a, *b}) == 1:
        assert result == Estimate(None, None, CERTAIN)
        return
    assert result.value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    with np.errstate(all="ignore"):  # its z value is 0/0 where one rater is constant
        theirs = cohens_kappa(np.reshape(cells, (2, 2)))
    assert result.value == pytest.approx(theirs.kappa, abs=1e-12)
    assert agreement({0: Cells(*cells)}).cohen_kappa_max.value == pytest.approx(theirs.kappa_max, abs=1e-12)


@given(tables)
@example((5, 0, 0, 0))
@example((0, 0, 0, 7))
def test_raw_positive_and_negative_agreement(cells: tuple[int, int, int, int]) -> None:
    a, b, c, d = cells
    result = agreement({0: Cells(*cells)})
    if not sum(cells):
        assert result.agreement.why == "no episode is scored by both"
        return
    assert result.agreement.value == pytest.approx((a + d) / sum(cells))
    # The F1 of one rater against the other is the positive agreement; with the classes swapped, the negative one.
    first, second = votes_of(cells)
    if a + b + c:
        f1 = precision_recall_fscore_support(first, second, average="binary", zero_division=0)[2]
        assert result.positive_agreement.value == pytest.approx(f1)
    else:
        assert result.positive_agreement == Estimate(None, None, "neither ever says pass")
    if b + c + d:
        f1 = precision_recall_fscore_support(first, second, average="binary", zero_division=0, pos_label=0)[2]
        assert result.negative_agreement.value == pytest.approx(f1)
    else:
        assert result.negative_agreement == Estimate(None, None, "neither ever says fail")


@given(tables)
def test_ac1_takes_chance_from_the_mean_of_the_margins(cells: tuple[int, int, int, int]) -> None:
    if not sum(cells):
        return
    a, b = votes_of(cells)
    share = (sum(a) + sum(b)) / (2 * len(a))
    chance = sum(p * (1 - p) for p in (share, 1 - share)) / (2 - 1)  # Gwet 2008, two categories
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / len(a)
    assert agreement({0: Cells(*cells)}).ac1.value == pytest.approx((observed - chance) / (1 - chance))


def test_ac1_of_a_published_table() -> None:
    """Gwet (2008), table 1: 118 agree on yes, 5 and 2 disagree, none agree on no; AC1 0.94 beside a kappa below 0."""
    result = agreement({0: Cells(118, 5, 2, 0)})
    assert result.ac1.value == pytest.approx(0.9408, abs=5e-4)
    assert result.cohen_kappa.value == pytest.approx(-0.0234, abs=5e-4)


def test_intervals_resample_clusters_and_repeat_themselves() -> None:
    generator = np.random.default_rng(3)
    clusters = {name: Cells(*generator.integers(1, 20, 4).tolist()) for name in "abcdefghijkl"}
    one = agreement(clusters)
    assert one == agreement(clusters)
    assert one.clusters == 12
    for estimate in (one.agreement, one.positive_agreement, one.negative_agreement, one.cohen_kappa, one.ac1):
        assert estimate.value is not None and estimate.ci95 is not None
        assert estimate.ci95[0] < estimate.value < estimate.ci95[1]
    assert agreement(clusters, seed=2).cohen_kappa.ci95 != one.cohen_kappa.ci95
    # Few large clusters are less certain than the same episodes one by one.
    singles = {
        (name, cell, i): Cells(*(float(cell == c) for c in range(4)))
        for name, cells in clusters.items()
        for cell, count in enumerate(cells)
        for i in range(int(count))
    }
    alone = agreement(singles)
    assert alone.agreement.value == pytest.approx(one.agreement.value)
    assert np.ptp(alone.agreement.ci95 or ()) < np.ptp(one.agreement.ci95)


def test_an_interval_is_withheld_where_the_draws_often_leave_the_number_undefined() -> None:
    clusters = {i: Cells(0, 0, 0, 9) for i in range(9)} | {"odd": Cells(1, 0, 0, 8)}
    result = agreement(clusters).positive_agreement
    assert result.value == 1.0
    assert result.ci95 is None
    assert result.why is not None and "of the bootstrap draws" in result.why


def test_clusters_without_an_episode_do_not_count() -> None:
    filled = {1: Cells(4, 1, 0, 2), 2: Cells(1, 2, 3, 4)}
    assert agreement({0: Cells(0, 0, 0, 0), **filled, 3: Cells(0, 0, 0, 0)}) == agreement(filled)
    assert agreement({0: Cells(0, 0, 0, 0)}).clusters == 0


def test_negative_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        agreement({0: Cells(-1, 0, 0, 2)})


def test_no_table_at_all_is_undefined() -> None:
    assert agreement({}).cohen_kappa == Estimate(None, None, "no episode is scored by both")


ratings = st.lists(st.lists(st.sampled_from([None, "yes", "no", "cannot tell"]), min_size=4, max_size=4), min_size=1)


@given(ratings)
def test_alpha_is_that_of_krippendorff(votes: list[list[str | None]]) -> None:
    ours = krippendorff_alpha(votes, draws=20)
    paired = [vote for row in votes if sum(v is not None for v in row) > 1 for vote in row if vote is not None]
    if not paired:
        assert ours == Estimate(None, None, "no unit has two votes")
    elif len(set(paired)) == 1:
        assert (ours.value, ours.why) == (
            None,
            "all votes that can be paired are the same, so there is nothing to disagree about",
        )
    else:
        codes = {"yes": 0.0, "no": 1.0, "cannot tell": 2.0, None: np.nan}
        data = np.array([[codes[vote] for vote in row] for row in votes]).T
        assert ours.value == pytest.approx(
            krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"), abs=1e-9
        )


def test_alpha_clusters_units_and_says_what_it_cannot() -> None:
    votes = [[True, True, False], [True, True, True], [False, None, False], [None, None, True], [True, False, None]]
    by_unit, by_pair = krippendorff_alpha(votes), krippendorff_alpha(votes, ["a", "a", "b", "b", "c"])
    assert by_unit.value == by_pair.value
    assert by_unit.ci95 is not None
    assert by_pair == krippendorff_alpha(votes, ["a", "a", "b", "b", "c"])
    assert krippendorff_alpha(votes, ["a"] * 5).why == "one cluster cannot be resampled"
    with pytest.raises(ValueError, match="one cluster"):
        krippendorff_alpha(votes, ["a"])


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
@example(0, 0, 4, 3)
@example(0, 3, 0, 3)
def test_detector_is_that_of_scikit_learn(hits: int, false_alarms: int, misses: int, rest: int) -> None:
    ours = detector(hits=hits, false_alarms=false_alarms, misses=misses)
    if hits + misses == 0:
        assert {ours.precision.why, ours.recall.why, ours.f1.why, ours.why} == {"no incorrect answers"}
        return
    truth = [1] * (hits + misses) + [0] * (false_alarms + rest)
    flags = [1] * hits + [0] * misses + [1] * false_alarms + [0] * rest
    precision, recall, f1, _ = precision_recall_fscore_support(truth, flags, average="binary", zero_division=np.nan)
    assert ours.recall.value == pytest.approx(recall)
    assert ours.f1.value == pytest.approx(f1)
    if hits + false_alarms:
        assert ours.precision.value == pytest.approx(precision)
        assert ours.why is None
    else:
        assert (ours.precision.value, ours.why) == (None, "nothing was flagged")


@pytest.mark.parametrize("counts", [(-1, 5, 5), (5, -1, 5), (5, 5, -1)])
def test_detector_refuses_negative_counts(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        detector(hits=counts[0], false_alarms=counts[1], misses=counts[2])
