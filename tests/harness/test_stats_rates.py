"""Rates: against statsmodels, against brute force, and what is undefined."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from harness.stats import Estimate, bounds, clustered, pass_k, undefined, wilson

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_is_the_interval_of_statsmodels(pair: tuple[int, int]) -> None:
    passed, scored = pair
    estimate = wilson(passed, scored)
    assert estimate.value == passed / scored
    assert estimate.ci95 == pytest.approx(proportion_confint(passed, scored, 0.05, method="wilson"), abs=1e-12)


def test_wilson_of_a_known_count() -> None:
    assert wilson(31, 218).ci95 == pytest.approx((0.102, 0.195), abs=5e-4)


def test_wilson_never_claims_certainty_from_a_clean_sweep() -> None:
    assert wilson(10, 10).ci95 == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson(0, 10).ci95 == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_a_rate_of_nothing_is_undefined_and_says_why() -> None:
    assert wilson(0, 0) == Estimate(None, None, "nothing was scored")


@pytest.mark.parametrize(("passed", "scored"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(passed: int, scored: int) -> None:
    with pytest.raises(ValueError, match="between 0 and scored"):
        wilson(passed, scored)


def test_an_undefined_estimate_must_say_why() -> None:
    with pytest.raises(ValueError, match="say why"):
        Estimate(None)
    with pytest.raises(ValueError, match="no interval"):
        Estimate(None, (0.0, 1.0), "because")
    assert undefined("because").why == "because"


clusters = st.lists(st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2)


@given(clusters)
def test_clustered_error_is_that_of_an_intercept_with_clustered_covariance(pairs: list[tuple[int, int]]) -> None:
    result = clustered(dict(enumerate(pairs)))
    if len({passed / scored for passed, scored in pairs}) == 1:
        assert (result.se, result.ci95) == (None, None)
        assert result.why == "every cluster has the same rate, so no error can be estimated"
        return
    outcomes = [float(i < passed) for passed, scored in pairs for i in range(scored)]
    groups = [g for g, (_, scored) in enumerate(pairs) for _ in range(scored)]
    fit = sm.OLS(outcomes, np.ones(len(outcomes))).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    low, high = fit.conf_int()[0]
    assert result.value == pytest.approx(fit.params[0], abs=1e-12)
    assert result.se == pytest.approx(fit.bse[0], rel=1e-6)
    assert result.ci95 == pytest.approx((max(0.0, low), min(1.0, high)), abs=1e-6)
    assert result.clusters == len(pairs)


def test_clusters_in_which_nothing_was_scored_do_not_count() -> None:
    assert clustered({"a": (1, 2), "b": (2, 2), "c": (0, 0)}) == clustered({"a": (1, 2), "b": (2, 2)})


def test_one_cluster_gives_a_rate_and_no_error() -> None:
    result = clustered({"a": (3, 4)})
    assert (result.value, result.se, result.ci95, result.clusters) == (0.75, None, None, 1)
    assert result.why == "one cluster cannot show how clusters differ"


def test_no_clusters_give_nothing() -> None:
    result = clustered({})
    assert (result.value, result.se, result.why) == (None, None, "nothing was scored")


def test_bounds_are_all_failed_and_all_passed() -> None:
    assert bounds(31, 187, 2) == (31 / 220, 33 / 220)
    assert bounds(3, 1, 0) == (0.75, 0.75)
    assert bounds(0, 0, 0) is None


@given(st.lists(st.integers(0, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))), st.integers(1, 6))
def test_pass_k_is_the_share_of_draws_of_k_repeats_that_all_pass(tasks: list[tuple[int, int]], k: int) -> None:
    estimate, over = pass_k(tasks, k)
    shares = []
    for passed, scored in tasks:
        drawn = list(itertools.combinations([i < passed for i in range(scored)], k))
        if drawn:
            shares.append(sum(all(draw) for draw in drawn) / len(drawn))
    assert over == len(shares)
    if shares:
        assert estimate.value == pytest.approx(sum(shares) / len(shares))
    else:
        assert estimate.value is None
        assert estimate.why


def test_pass_k_falls_with_k_and_leaves_out_tasks_with_too_few_repeats() -> None:
    tasks = [(4, 4), (2, 4), (1, 1)]
    assert pass_k(tasks, 1) == (Estimate((1 + 0.5 + 1) / 3), 3)
    assert pass_k(tasks, 2) == (Estimate((1 + 1 / 6) / 2), 2)
    assert pass_k(tasks, 5) == (undefined("no task was scored 5 times"), 0)
    with pytest.raises(ValueError, match="at least 1"):
        pass_k(tasks, 0)


def test_importing_statistics_loads_neither_numpy_nor_scipy_nor_anything_else_of_ours() -> None:
    code = (
        "import harness.stats, sys\n"
        "ours = [m for m in sys.modules if m.startswith('harness.') and not m.startswith('harness.stats')]\n"
        "print(ours + sorted({'numpy', 'scipy', 'pydantic'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
