"""The tests of significance against printed tables: critical values, and paper C's conclusions."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlfs_dask import stats
from mlfs_dask.evaluate.stats.critical import quantile

CASES = json.loads((Path(__file__).parents[1] / "cases" / "paper_c_ranks.json").read_text())
MEASURES = CASES["measures"]
K = range(2, 11)
QUANTILES = {
    ("nemenyi", 0.05): (1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164),
    ("nemenyi", 0.10): (1.645, 2.052, 2.291, 2.460, 2.589, 2.693, 2.780, 2.855, 2.920),
    ("bonferroni-dunn", 0.05): (1.960, 2.241, 2.394, 2.498, 2.576, 2.638, 2.690, 2.734, 2.773),
    ("bonferroni-dunn", 0.10): (1.645, 1.960, 2.128, 2.241, 2.326, 2.394, 2.450, 2.498, 2.539),
}


@pytest.mark.parametrize(("test", "alpha"), QUANTILES)
def test_quantiles_are_those_of_the_table(test, alpha):
    found = [quantile(test, k, alpha) for k in K]
    np.testing.assert_allclose(found, QUANTILES[test, alpha], atol=6e-4, rtol=0)


def beyond(post_hoc):
    """Pairs beyond the critical difference, the better method first."""
    return {
        (p.better, p.second if p.better == p.first else p.first, round(abs(p.difference), 2))
        for p in post_hoc.pairs
        if p.significant
    }


@pytest.mark.parametrize("measure", MEASURES)
def test_paper_c_table_2(measure):
    printed = MEASURES[measure]
    test = stats.friedman(
        printed["ranks"],
        higher_is_better=False,
        names=CASES["methods"],
        rows=CASES["datasets"],
    )
    # A printed rank is its own rank: every row is a permutation of 1..7.
    np.testing.assert_array_equal(test.ranking.ranks, printed["ranks"])
    np.testing.assert_allclose(test.ranking.average_ranks, printed["average"], atol=0.005)
    assert test.chi_square == pytest.approx(printed["chi_square"], abs=5e-4)
    assert test.f_statistic == pytest.approx(printed["f"], abs=5e-4)
    assert test.f_critical == pytest.approx(CASES["f_critical"], abs=5e-4)
    assert test.f_df == (6, 36)
    assert test.rejects is printed["rejects"] is (test.f_p_value < 0.05)
    post_hoc = stats.nemenyi(test.ranking)
    assert post_hoc.critical_difference == pytest.approx(CASES["critical_difference"], abs=5e-4)
    assert beyond(post_hoc) == {tuple(pair) for pair in printed["beyond"]}
    for pair in post_hoc.pairs:
        assert pair.significant is (pair.adjusted_p_value < 0.05)


@pytest.mark.parametrize("measure", MEASURES)
def test_paper_c_from_rounded_values_with_shared_ranks(measure):
    printed = MEASURES[measure]
    higher = measure == "average_precision"
    test = stats.friedman(printed["values"], higher_is_better=higher)
    assert test.f_statistic == pytest.approx(printed["f_of_values"], abs=5e-4)
    assert test.rejects is (measure != "hamming_loss")  # its conclusion hangs on the third decimal


def test_paper_c_table_3_shares_ranks():
    printed = CASES["binary"]
    from_errors = stats.rank_table(
        printed["errors"], higher_is_better=False, names=printed["methods"]
    )
    np.testing.assert_array_equal(from_errors.ranks, printed["ranks"])
    np.testing.assert_allclose(from_errors.average_ranks, [1.84, 2.09, 3.19, 2.88], atol=0.006)
    test = stats.friedman(from_errors)
    assert test.chi_square == pytest.approx(printed["chi_square"], abs=5e-4)
    assert test.f_statistic == pytest.approx(printed["f"], abs=5e-4)
    assert test.f_critical == pytest.approx(printed["f_critical"], abs=5e-4)
    assert test.rejects
    post_hoc = stats.nemenyi(from_errors)
    assert post_hoc.critical_difference == pytest.approx(printed["critical_difference"], abs=5e-4)
    assert beyond(post_hoc) == {tuple(pair) for pair in printed["beyond"]}


def test_paper_b_critical_values():
    rows = [[1, 2, 3, 4, 5]] * 5 + [[2, 1, 3, 4, 5]]
    test = stats.friedman(rows, higher_is_better=False, alpha=0.1)
    assert test.f_critical == pytest.approx(2.249, abs=5e-4)
    assert stats.critical_difference(5, 6, 0.1, "bonferroni-dunn") == pytest.approx(2.046, abs=5e-4)
    assert stats.bonferroni_dunn(test.ranking, "1", alpha=0.1).critical_difference == pytest.approx(
        2.046, abs=5e-4
    )
