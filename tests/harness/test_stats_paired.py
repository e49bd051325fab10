"""Paired differences: against statsmodels and brute force, and the size of the tests by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests

from harness.stats import Estimate, holm, mcnemar, paired, sign_flip
from harness.stats.differences import difference_in_differences
from harness.stats.resampling import percentile_interval


def by_enumeration(sums: list[float]) -> float:
    seen = abs(sum(sums))
    flips = [
        abs(sum(s * x for s, x in zip(signs, sums, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    return sum(flip >= seen - 1e-9 for flip in flips) / len(flips)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9))
def test_sign_flip_is_the_share_of_all_flips_at_least_as_far_out(sums: list[int]) -> None:
    result = sign_flip(sums)
    assert result.method == "exact"
    assert result.p == pytest.approx(by_enumeration([float(x) for x in sums]), abs=1e-12)


@given(st.lists(st.sampled_from([-0.7, -0.25, 0.1, 0.3, 1.9]), min_size=2, max_size=9))
def test_sign_flip_takes_differences_that_are_no_whole_numbers(sums: list[float]) -> None:
    assert sign_flip(sums).p == pytest.approx(by_enumeration(sums), abs=1e-12)


def test_sign_flip_is_exact_for_counts_in_any_number_of_clusters() -> None:
    # 200 clusters of +1 or -1: the sum is 2X - 200 with X binomial, so p is a sign test's.
    from scipy.stats import binomtest

    result = sign_flip([1] * 115 + [-1] * 85)
    assert result.method == "exact"
    assert result.p == pytest.approx(binomtest(115, 200, 0.5).pvalue, rel=1e-9)


def test_sign_flip_draws_flips_where_there_are_too_many_sums() -> None:
    generator = np.random.default_rng(5)
    sums = [float(x) for x in generator.normal(0.3, 1, 40)]
    result = sign_flip(sums)
    assert result.method == "monte carlo"
    z = sum(sums) / np.sqrt(sum(x * x for x in sums))
    from scipy.stats import norm

    assert result.p == pytest.approx(2 * norm.sf(abs(z)), abs=0.01)
    assert sign_flip(sums) == result
    assert sign_flip(sums, seed=2).p != result.p


def test_drawn_flips_never_give_a_p_of_0() -> None:
    """All forty clusters moved one way: no drawn flip is as far out, and p is one in all that were drawn and seen."""
    result = sign_flip([1 + float(x) for x in np.random.default_rng(5).random(40)])
    assert (result.method, result.p, result.smallest) == ("monte carlo", 1 / 100_001, 1 / 100_001)


def test_sign_flip_says_the_smallest_p_that_so_few_clusters_can_give() -> None:
    assert sign_flip([3, 4, 5, 6, 7]).p == sign_flip([3, 4, 5, 6, 7]).smallest == 1 / 16
    assert sign_flip([3, 4, 0, 0]).smallest == 1 / 2
    assert sign_flip([0, 0, 0]).p == 1.0


@pytest.mark.parametrize(("sums", "why"), [([4], "one cluster cannot be tested"), ([], "there is no cluster")])
def test_sign_flip_needs_two_clusters(sums: list[int], why: str) -> None:
    assert (sign_flip(sums).p, sign_flip(sums).why) == (None, why)


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_exact_test_of_statsmodels(only_a: int, only_b: int) -> None:
    theirs = mcnemar_of_statsmodels([[7, only_a], [only_b, 3]], exact=True).pvalue if only_a + only_b else 1.0
    assert mcnemar(only_a, only_b).value == pytest.approx(theirs, rel=1e-9, abs=1e-300)


def test_mcnemar_of_a_large_table_does_not_overflow() -> None:
    assert mcnemar(30_000, 30_000).value == 1.0
    assert mcnemar(0, 60_000).value == 0.0


@settings(max_examples=25)  # theirs collects garbage in every call
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(thousandths: list[int]) -> None:
    values = [p / 1000 for p in thousandths]
    assert holm(values) == pytest.approx(list(multipletests(values, method="holm")[1]), abs=1e-12)


def test_holm_does_not_count_what_is_undefined() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]
    assert holm([]) == []
    assert holm([None]) == [None]


def test_paired_counts_each_side_and_takes_b_minus_a() -> None:
    pairs = [("x", True, True), ("x", False, True), ("y", True, False), ("y", False, True), ("z", False, True)]
    result = paired(pairs)
    assert (result.pairs, result.clusters, result.only_a, result.only_b) == (5, 3, 1, 3)
    assert (result.rate_a, result.rate_b) == (2 / 5, 4 / 5)
    assert result.difference.value == pytest.approx(2 / 5)
    assert result.sign_flip.p == by_enumeration([1.0, 0.0, 1.0])
    assert result.mcnemar == mcnemar(1, 3)


def test_the_two_sides_may_change_places() -> None:
    generator = np.random.default_rng(2)
    pairs = [(g, bool(generator.random() < 0.4), bool(generator.random() < 0.6)) for g in range(12) for _ in range(9)]
    one, other = paired(pairs), paired([(g, b, a) for g, a, b in pairs])
    assert one.difference.ci95 is not None and other.difference.ci95 is not None
    assert other.difference.value == pytest.approx(-one.difference.value)  # type: ignore[operator]
    assert other.difference.ci95 == pytest.approx((-one.difference.ci95[1], -one.difference.ci95[0]))
    assert (other.sign_flip.p, other.mcnemar) == (one.sign_flip.p, one.mcnemar)


def test_the_bootstrap_interval_resamples_whole_clusters() -> None:
    # Ten clusters of ten, each moving as a whole: as uncertain as ten pairs, not as a hundred.
    pairs = [(g, False, g < 5) for g in range(10) for _ in range(10)]
    low, high = paired(pairs).difference.ci95 or (0, 0)
    assert (low, high) == (0.2, 0.8)
    assert paired(pairs) == paired(pairs)


def test_each_draws_difference_is_over_its_own_pairs() -> None:
    # A cluster of nine pairs that all get worse and one of a single pair that does not: -1, -0.9 or 0 in each draw.
    found = paired([("large", True, False)] * 9 + [("small", True, True)]).difference
    assert (found.value, found.ci95) == (pytest.approx(-0.9), pytest.approx((-1.0, 0.0)))


def test_clusters_that_differ_and_make_up_for_each_other_have_an_interval() -> None:
    found = paired([("up", False, True), ("down", True, False)]).difference
    assert (found.value, found.ci95, found.why) == (0.0, (-1.0, 1.0), None)


def test_an_interval_is_the_middle_95_percent_of_the_draws() -> None:
    assert percentile_interval(np.arange(1001) / 1000) == (pytest.approx((0.025, 0.975)), None)


def test_an_interval_is_withheld_where_over_5_percent_of_the_draws_are_undefined() -> None:
    draws = np.arange(2000.0)
    draws[:100] = np.nan
    assert percentile_interval(draws)[0] is not None, "100 of 2000 are 5 %, not over it"
    draws[:120] = np.nan
    assert percentile_interval(draws) == (None, "undefined in 6% of the bootstrap draws")


def test_draws_that_are_all_the_same_have_no_interval_and_close_ones_have() -> None:
    same = (None, "every bootstrap draw is the same, so no interval can be estimated")
    rounded = np.full(100, 0.3)
    rounded[0] += 1e-15
    assert percentile_interval(np.full(100, 0.3)) == percentile_interval(rounded) == same
    assert percentile_interval(np.linspace(0.3, 0.301, 100))[0] is not None


def test_a_difference_of_differences_draws_each_group_by_itself() -> None:
    """Drawn alike, two equal groups would differ in no draw, and the interval would claim certainty."""
    pairs = [(f"{group}{n}", group == "k", True, n % 2 == 0) for group in "ku" for n in range(12)]
    found = difference_in_differences(pairs).difference
    low, high = found.ci95 or (0.0, 0.0)
    error = (2 * 0.25 / 12) ** 0.5
    assert found.value == 0.0
    assert (low, high) == (pytest.approx(-1.96 * error, abs=0.1), pytest.approx(1.96 * error, abs=0.1))


def test_a_difference_of_differences_takes_each_draws_rate_over_its_own_pairs() -> None:
    # A cluster of nine pairs that all get worse and one of a single pair that does not: -1, -0.9 or 0 in each draw.
    pairs = [("large", True, True, False)] * 9 + [("small", True, True, True)]
    pairs += [(name, False, True, True) for name in "ab"]
    found = difference_in_differences(pairs)
    assert (found.first.pairs, found.first.clusters, found.first.difference) == (10, 2, pytest.approx(-0.9))
    assert found.difference.value == pytest.approx(-0.9)
    assert found.difference.ci95 == pytest.approx((-1.0, 0.0))


@pytest.mark.parametrize("is_first", [True, False])
def test_a_group_of_one_cluster_leaves_a_difference_of_differences_without_an_interval(is_first: bool) -> None:
    pairs = [("alone", is_first, True, False), ("x", not is_first, True, True), ("y", not is_first, True, False)]
    found = difference_in_differences(pairs).difference
    assert found.value == (-0.5 if is_first else 0.5)
    assert (found.ci95, found.why) == (None, "a group of one cluster cannot be resampled")
    empty = difference_in_differences([("alone", is_first, True, False)]).difference
    missing = "second" if is_first else "first"
    assert (empty.value, empty.why) == (None, f"the {missing} group has no pair that is scored on both sides")


def test_no_pair_no_cluster_and_no_difference_are_told_apart() -> None:
    nothing = paired([])
    assert nothing.difference == Estimate(None, None, "no pair is scored on both sides")
    assert (nothing.sign_flip.p, nothing.mcnemar.value) == (None, None)
    one = paired([("x", True, False), ("x", True, True)])
    assert one.difference == Estimate(-0.5, None, "one cluster cannot be resampled")
    assert (one.sign_flip.p, one.sign_flip.why) == (None, "one cluster cannot be tested")
    same = paired([("x", True, True), ("y", False, False)])
    assert same.difference == Estimate(0.0, None, "no cluster differs, so no interval can be estimated")
    assert (same.sign_flip.p, same.mcnemar.value) == (1.0, 1.0)


@pytest.mark.parametrize(("spread", "mcnemar_over"), [(1.0, 0.10), (1.5, 0.18)])
def test_size_of_the_tests_where_templates_move_as_a_whole(spread: float, mcnemar_over: float) -> None:
    """20 templates of 10 pairs; prompts differ by template, not on average. The null is true in every draw."""
    generator, draws = np.random.default_rng(11), 2000
    flips = mcnemars = 0
    for _ in range(draws):
        hardness, effect = generator.normal(0, spread, (2, 20))
        chance_a = 1 / (1 + np.exp(-(hardness - effect / 2)))
        chance_b = 1 / (1 + np.exp(-(hardness + effect / 2)))
        a = generator.random((20, 10)) < chance_a[:, None]
        b = generator.random((20, 10)) < chance_b[:, None]
        flip = sign_flip([int(x) for x in b.sum(1) - a.sum(1)]).p
        exact = mcnemar(int((a & ~b).sum()), int((b & ~a).sum())).value
        assert flip is not None and exact is not None
        flips += flip <= 0.05
        mcnemars += exact <= 0.05
    assert 0.03 <= flips / draws <= 0.06, "the sign-flip test holds its level"
    assert mcnemars / draws >= mcnemar_over, "and McNemar's test does not"
