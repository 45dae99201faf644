"""The tests of significance against plain twins and scipy, and what they do at the edges."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mlfs_dask
from mlfs_dask import stats
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.stats import critical, signed_ranks
from reference import stats as twin

TIED = st.integers(0, 4).map(float)
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7)


def tables(elements=TIED, shapes=SHAPES):
    return hnp.arrays(np.float64, shapes, elements=elements)


def untied(n, k, seed=0):
    """Rows without equal values, the first methods a little better."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(k) / k, (n, 1)), axis=1) - 0.05 * np.arange(k)


# ------------------------------------------------------------------------------------ ranks


@given(table=tables(), higher=st.booleans())
def test_ranks_are_the_twins(table, higher):
    ranked = stats.rank_table(table, higher_is_better=higher)
    expected = [twin.ranks_of(row, higher) for row in table.tolist()]
    np.testing.assert_array_equal(ranked.ranks, expected)
    np.testing.assert_allclose(
        ranked.average_ranks, twin.average_ranks(table.tolist(), higher), rtol=1e-14
    )
    k = table.shape[1]
    assert (ranked.ranks.sum(axis=1) == k * (k + 1) / 2).all()


def test_ranks_not_sort_orders_on_a_non_involutive_permutation():
    assert stats.rank_table([[0.2, 0.9, 0.5]] * 2).ranks[0].tolist() == [3, 1, 2]
    assert stats.rank_table([[30, 10, 40, 20]] * 2).ranks[0].tolist() == [2, 4, 1, 3]


def test_a_row_of_equal_values_has_equal_ranks():
    ranked = stats.rank_table([[3, 2, 1], [5, 5, 5]])
    assert ranked.ranks.tolist() == [[1, 2, 3], [2, 2, 2]]


def test_names_come_from_the_table_or_are_counted():
    assert stats.rank_table({"A": [1, 2], "B": [3, 4]}).names == ("A", "B")
    assert stats.rank_table([[1, 2], [3, 4]]).names == ("1", "2")

    class Frame:
        columns, index = ("x", "y"), ("emotions", "yeast")

        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0], [4.0, 3.0]])

    ranked = stats.rank_table(Frame())
    assert (ranked.names, ranked.rows) == (("x", "y"), ("emotions", "yeast"))
    assert ranked.ranks.tolist() == [[2, 1], [1, 2]]
    assert not ranked.ranks.flags.writeable


def test_rows_with_missing_cells_are_refused_or_dropped_by_name():
    table = [[3, 2, 1], [1, None, 2], [9, 7, 8], [float("nan"), 1, 1]]
    named = {"names": "ABC", "rows": ["r1", "r2", "r3", "r4"]}
    with pytest.raises(InputError, match="'B' on 'r2', 'A' on 'r4'"):
        stats.friedman(table, **named)
    test = stats.friedman(table, missing="drop", **named)
    assert test.ranking.dropped == ("r2", "r4")
    assert test.ranking.rows == ("r1", "r3")
    full = stats.friedman([table[0], table[2]])
    assert (test.chi_square, test.f_statistic) == (full.chi_square, full.f_statistic)
    with pytest.raises(InputError, match=r"1 row without a missing cell"):
        stats.friedman(table[:2], missing="drop", names="ABC", rows=["r1", "r2"])


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ([[1], [2]], {}, "1 column"),
        ([[1, 2]], {}, "1 row"),
        (np.empty((0, 3)), {}, "0 row"),
        ([1, 2, 3], {}, "1 dimension"),
        ([["a", "b"], ["c", "d"]], {}, "not a table of numbers"),
        ([[1, 2], [3]], {}, "not a table of numbers"),
        ([[1, math.inf], [2, 3]], {}, "row '1', column '2': an infinite value"),
        ([[1, 2], [3, 4]], {"names": ["A"]}, "1 name for 2"),
        ([[1, 2], [3, 4]], {"names": ["A", "A"]}, "names there twice: 'A'"),
        ([[1, 2], [3, 4]], {"missing": "ignore"}, "missing = 'ignore'"),
        ([[1, 2], [3, 4]], {"alpha": 0.0}, "alpha = 0.0"),
        ([[1, 2], [3, 4]], {"alpha": "0.05"}, "alpha = '0.05'"),
        ([[1, 2], [3, 4]], {"alpha": math.nan}, "alpha = nan"),
        ({"A": [1, 2], "B": [1]}, {}, "different lengths"),
    ],
)
def test_impossible_tables_are_refused(table, options, words):
    with pytest.raises(InputError, match=words):
        stats.friedman(table, **options)


def test_a_ranked_table_is_not_read_again():
    ranked = stats.rank_table([[1, 2], [3, 4]])
    with pytest.raises(InputError, match="ranked before"):
        stats.friedman(ranked, higher_is_better=False)
    with pytest.raises(InputError, match="no method of the table is named 'C'"):
        stats.bonferroni_dunn(ranked, "C")


# --------------------------------------------------------------------------------- Friedman


@given(table=tables())
def test_friedman_is_the_twins(table):
    test = stats.friedman(table)
    chi_square, f = twin.friedman(twin.average_ranks(table.tolist(), True), len(table))
    assert test.chi_square == pytest.approx(chi_square, abs=1e-9)
    if math.isinf(f):
        assert math.isinf(test.f_statistic)
    else:
        assert test.f_statistic == pytest.approx(f, rel=1e-8, abs=1e-9)
    assert 0 <= test.f_p_value <= 1
    assert 0 <= test.chi_square_p_value <= 1
    assert test.rejects is (test.f_p_value < 0.05)
    assert stats.friedman(table, higher_is_better=False).chi_square == test.chi_square


@pytest.mark.filterwarnings("ignore:.*invalid value.*:RuntimeWarning")
@given(table=tables(shapes=hnp.array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=7)))
def test_friedman_is_scipys_with_and_without_ties(table):
    test = stats.friedman(table, tie_correction=True)
    theirs = scipy.stats.friedmanchisquare(*table.T)
    if test.tie_factor == 0:  # all equal: 0 / 0 there
        assert (test.chi_square, test.f_statistic, test.rejects) == (0, 0, False)
        return
    assert test.chi_square == pytest.approx(theirs.statistic, abs=1e-9)
    assert test.chi_square_p_value == pytest.approx(theirs.pvalue, abs=1e-9)
    plain = stats.friedman(table)
    assert plain.chi_square == pytest.approx(test.chi_square * test.tie_factor, abs=1e-12)
    assert plain.chi_square <= test.chi_square
    if test.tie_factor == 1:
        assert plain.chi_square == test.chi_square


@pytest.mark.parametrize("correction", [False, True])
def test_identical_rankings_reject_with_an_infinite_f(correction):
    for k in (2, 3, 7, 40):
        for n in (2, 3, 7, 11):
            test = stats.friedman([list(range(k))] * n, tie_correction=correction)
            assert test.f_statistic == math.inf
            assert test.f_p_value == 0
            assert test.rejects
            assert test.chi_square == n * (k - 1)


def test_alpha_changes_the_verdict():
    table = untied(7, 4, seed=3)
    p_value = stats.friedman(table).f_p_value
    assert stats.friedman(table, alpha=min(0.999, p_value * 1.01)).rejects
    assert not stats.friedman(table, alpha=p_value * 0.99).rejects


# -------------------------------------------------------------------------- after Friedman


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
@pytest.mark.parametrize("k", [2, 3, 6, 15, 40])
def test_quantiles_are_the_twins(k, alpha):
    assert critical.quantile("nemenyi", k, alpha) == pytest.approx(
        twin.range_quantile(alpha, k), abs=1e-6
    )
    assert critical.quantile("bonferroni-dunn", k, alpha) == pytest.approx(
        twin.normal_quantile(alpha / (2 * (k - 1))), abs=1e-8
    )


@given(table=tables(), alpha=st.sampled_from([0.5, 0.1, 0.05]))
def test_nemenyi_and_its_groups_are_the_twins(table, alpha):
    found = stats.nemenyi(table, alpha=alpha)
    n, k = table.shape
    limit = stats.critical_difference(k, n, alpha)
    assert found.critical_difference == limit
    averages = found.ranking.average_ranks.tolist()
    assert len(found.pairs) == k * (k - 1) // 2
    for pair in found.pairs:
        a, b = int(pair.first) - 1, int(pair.second) - 1
        assert pair.difference == averages[a] - averages[b]
        assert pair.significant is (abs(pair.difference) > limit)
        assert pair.adjusted_p_value >= pair.p_value - 1e-9
        if abs(abs(pair.difference) - limit) > 1e-9:
            assert pair.significant is (pair.adjusted_p_value < alpha)
    groups = {frozenset(int(name) - 1 for name in group) for group in found.groups}
    assert groups == twin.maximal_groups(averages, limit)


def test_a_difference_equal_to_the_limit_is_not_significant(monkeypatch):
    monkeypatch.setattr("mlfs_dask.evaluate.stats.posthoc.quantile", lambda *_: 2.0)
    monkeypatch.setattr("mlfs_dask.evaluate.stats.posthoc.standard_error", lambda *_: 1.0)
    found = stats.nemenyi([[1, 2, 3, 4]] * 4)
    assert found.critical_difference == 2
    beyond = [(p.first, p.second) for p in found.pairs if p.significant]
    assert beyond == [("1", "4")]


@given(table=tables(), alpha=st.sampled_from([0.5, 0.1, 0.05]))
def test_a_control_is_compared_with_all_others(table, alpha):
    found = stats.bonferroni_dunn(table, "2", alpha=alpha)
    k = table.shape[1]
    assert [pair.second for pair in found.pairs] == ["2"] * (k - 1)
    assert [pair.first for pair in found.pairs] == [str(i + 1) for i in range(k) if i != 1]
    assert found.groups == ()
    for pair in found.pairs:
        tail = twin.normal_tail(abs(pair.z))
        assert pair.p_value == pytest.approx(2 * tail, abs=1e-12)
        assert pair.adjusted_p_value == pytest.approx(min(1, 2 * tail * (k - 1)), abs=1e-12)
        assert pair.significant is (abs(pair.difference) > found.critical_difference)


def test_two_methods_are_one_pair_whatever_the_test():
    table = untied(9, 2, seed=1)
    nemenyi, dunn = stats.nemenyi(table), stats.bonferroni_dunn(table, "2")
    assert nemenyi.critical_difference == pytest.approx(dunn.critical_difference, abs=1e-9)
    assert nemenyi.pairs[0].adjusted_p_value == pytest.approx(dunn.pairs[0].p_value, abs=1e-9)
    assert stats.holm(table).pairs[0].adjusted_p_value == dunn.pairs[0].p_value


@given(
    p_values=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    alpha=st.sampled_from([0.3, 0.05]),
)
def test_holm_rejects_what_the_step_down_rejects(p_values, alpha):
    adjusted = stats.holm_adjusted(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    near = any(abs(p * m - alpha) < 1e-12 for p in p_values for m in range(1, len(p_values) + 1))
    if not near:  # (m - i + 1) p <= alpha and p <= alpha / (m - i + 1) may round apart
        assert [a <= alpha for a in adjusted] == twin.holm_rejects(p_values, alpha)


@given(table=tables())
def test_holm_on_ranks(table):
    every, one = stats.holm(table), stats.holm(table, control="1")
    k = table.shape[1]
    assert (len(every.pairs), len(one.pairs)) == (k * (k - 1) // 2, k - 1)
    for found in (every, one):
        expected = stats.holm_adjusted([pair.p_value for pair in found.pairs])
        assert [pair.adjusted_p_value for pair in found.pairs] == expected
        assert found.critical_difference is None
    # A pair is significant by its distance alone, so groups hold all maximal sets.
    differing = [abs(p.difference) for p in every.pairs if p.significant]
    alike = [abs(p.difference) for p in every.pairs if not p.significant]
    assert max(alike, default=0) < min(differing, default=math.inf)


# ---------------------------------------------------------------------------------- groups


def test_groups_of_overlapping_and_of_different_methods():
    ranks = [1.0, 2.0, 3.0, 4.0]

    def beyond(limit):
        return lambda a, b: abs(ranks[a] - ranks[b]) > limit

    assert stats.groups_alike(ranks, beyond(0.5)) == ()
    assert stats.groups_alike(ranks, beyond(1)) == ((0, 1), (1, 2), (2, 3))
    assert stats.groups_alike(ranks, beyond(2)) == ((0, 1, 2), (1, 2, 3))
    assert stats.groups_alike(ranks, beyond(3)) == ((0, 1, 2, 3),)


def test_groups_of_signed_ranks_hold_no_pair_that_differs():
    # 0 and 2 differ, 0 and 3 do not: no run may hold 0 and 2, {0, 3} is no run.
    differing = {frozenset((0, 2))}
    groups = stats.groups_alike([1, 2, 3, 4], lambda a, b: frozenset((a, b)) in differing)
    assert groups == ((0, 1), (1, 2, 3))


# -------------------------------------------------------------------------------- Wilcoxon


@given(differences=st.lists(st.integers(-4, 4), min_size=2, max_size=9))
def test_signed_ranks_are_the_twins_with_ties_and_zeros(differences):
    table = [[5 + d, 5] for d in differences]
    (pair,) = stats.wilcoxon(table).pairs
    assert pair.p_value == pytest.approx(twin.signed_rank_p_value(differences), abs=1e-12)
    assert pair.n_zero == differences.count(0)
    assert pair.n_used + pair.n_zero == len(differences)
    assert pair.first_better + pair.second_better == pair.n_used * (pair.n_used + 1) / 2
    mirrored = stats.wilcoxon(table, higher_is_better=False).pairs[0]
    assert mirrored.first_better == pair.second_better
    assert mirrored.p_value == pair.p_value


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_signed_ranks_without_ties_are_scipys_exact_ones(seed, n):
    x, y = np.random.default_rng(seed).normal(size=(2, n))
    (pair,) = stats.wilcoxon({"x": x, "y": y}).pairs
    theirs = scipy.stats.wilcoxon(x, y, method="exact")
    assert pair.exact
    assert pair.statistic == theirs.statistic
    assert pair.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize(("zeros", "theirs"), [("drop", "wilcox"), ("pratt", "pratt")])
def test_many_rows_follow_scipys_normal_approximation(zeros, theirs):
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 9, size=(2, 300)).astype(float)
    (pair,) = stats.wilcoxon({"x": x, "y": y}, zeros=zeros).pairs
    assert not pair.exact
    expected = scipy.stats.wilcoxon(x, y, zero_method=theirs, correction=False, method="approx")
    assert pair.statistic == expected.statistic
    if zeros == "drop":
        assert pair.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_exact_and_normal_p_values_meet(monkeypatch):
    rng = np.random.default_rng(2)
    table = rng.normal(loc=(0.15, 0), size=(100, 2))
    exact = stats.wilcoxon(table).pairs[0]
    monkeypatch.setattr(signed_ranks, "_EXACT_UP_TO", 99)
    normal = stats.wilcoxon(table).pairs[0]
    assert exact.exact
    assert not normal.exact
    assert exact.p_value == pytest.approx(normal.p_value, rel=0.03)


def test_rounding_errors_break_no_ties():
    assert 0.3 - 0.1 < 0.2
    (pair,) = stats.wilcoxon([[0.3, 0.1], [0.0, 0.2], [0.1 + 0.2, 0.3]]).pairs
    assert (pair.first_better, pair.second_better, pair.n_zero) == (1.5, 1.5, 1)
    (same,) = stats.wilcoxon([[0.0, 0.0], [0.0, 0.0]]).pairs
    assert (same.n_used, same.p_value, same.better, same.significant) == (0, 1.0, None, False)


def test_pairs_are_corrected_together():
    table = np.arange(12)[:, None] / 100 + [0.3, 0.2, 0.1]
    table[:, 2] += np.linspace(0, 0.001, 12)
    found = stats.wilcoxon(table)
    assert [pair.adjusted_p_value for pair in found.pairs] == stats.holm_adjusted(
        [pair.p_value for pair in found.pairs]
    )
    assert all(pair.significant and pair.better == pair.first for pair in found.pairs)
    assert found.groups == ()
    against = stats.wilcoxon(table, control="1")
    assert [(pair.first, pair.second) for pair in against.pairs] == [("2", "1"), ("3", "1")]
    assert [pair.better for pair in against.pairs] == ["1", "1"]


def test_unknown_zero_rule():
    with pytest.raises(InputError, match="zeros = 'split'"):
        stats.wilcoxon([[1, 2], [3, 4]], zeros="split")


# --------------------------------------------------------------------------- the catalogue


def test_the_catalogue_names_functions_with_a_summary():
    assert set(stats.TESTS) == {"friedman", "wilcoxon", "nemenyi", "bonferroni-dunn", "holm"}
    for name, test in stats.TESTS.items():
        assert stats.get_test(name) is test
        assert test.summary.endswith(".")
        assert test.function is getattr(stats, name.replace("-", "_"))
    with pytest.raises(InputError, match="no test is named 'nemeny'"):
        stats.get_test("nemeny")


def test_results_are_frozen():
    test = stats.friedman([[1, 2], [2, 1]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        test.alpha = 0.1
    assert mlfs_dask.stats is stats


def test_naming_tests_imports_no_scipy_stats():
    program = (
        "import sys, mlfs_dask; mlfs_dask.stats.TESTS; "
        "sys.exit(any(m in sys.modules for m in ('scipy.stats', 'dask', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
