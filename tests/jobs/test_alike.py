"""Agreement between methods, against sets of plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.jobs.alike import METHODS_COMPARED, methods_alike


def record(order, fold=0, *, support=None, problems=None, scores=None, repeat=0):
    """A selection; with a support smaller than the order the selector chose it itself."""
    per = order if problems is not None else [order]
    return {
        "repeat": repeat,
        "fold": fold,
        "problems": problems,
        "params": {},
        "order": order,
        "scores": scores or ([[1.0] * len(o) for o in per] if problems else [1.0] * len(order)),
        "support": support or order,
    }


def by_sets(first, second):
    first, second = set(first), set(second)
    return len(first & second) / len(first | second) if first | second else 1.0


@given(
    st.integers(2, 4), st.integers(1, 9), st.integers(1, 3), st.data(), st.integers(0, 2**32 - 1)
)
def test_rankings_agree_as_their_best_do(n_methods, d, n_folds, data, seed):
    rng = np.random.default_rng(seed)
    k = data.draw(st.integers(1, d))
    orders = {
        f"m{m}": [rng.permutation(d).tolist() for _ in range(n_folds)] for m in range(n_methods)
    }
    records = {
        name: [record(order, fold) for fold, order in enumerate(of_one)]
        for name, of_one in orders.items()
    }
    (found,) = methods_alike(records, d, [k])
    assert (found.k, found.selections) == (k, n_folds)
    for i, first in enumerate(found.selectors):
        assert found.jaccard[i][i] is None
        for j, second in enumerate(found.selectors):
            if i != j:
                pairs = zip(orders[first], orders[second], strict=True)
                wanted = np.mean([by_sets(a[:k], b[:k]) for a, b in pairs])
                assert found.jaccard[i][j] == pytest.approx(wanted)


def test_subsets_of_their_own_meet_as_many_of_a_ranking():
    chooser = record([4, 1, 0, 2, 3], support=[1, 4])
    other = record([0, 1, 2, 3, 4], support=[0, 1, 2])
    ranking = record([4, 2, 1, 0, 3])
    found = methods_alike({"a": [chooser], "b": [other], "r": [ranking], "s": [ranking]}, 5, [])
    (own,) = found
    assert own.k is None
    assert own.jaccard[0][1] == pytest.approx(1 / 4)  # {1, 4} and {0, 1, 2}
    assert own.jaccard[0][2] == pytest.approx(1 / 3)  # {1, 4} and {4, 2}
    assert own.jaccard[1][2] == pytest.approx(2 / 4)  # {0, 1, 2} and {4, 2, 1}
    assert own.jaccard[2][3] is None


def test_more_features_than_a_selector_ranked_are_not_compared():
    chooser = record([4, 1, 0, 2, 3], support=[1, 4])
    found = methods_alike({"a": [chooser], "r": [record([4, 1, 2, 0, 3])]}, 5, [2, 3])
    assert [(one.k, one.jaccard[0][1]) for one in found] == [(2, 1.0), (None, 1.0)]


def test_problems_are_compared_one_by_one():
    problems = [[0], [1]]
    first = record([[0, 1, 2], [2, 1, 0]], problems=problems)
    second = record([[1, 0, 2], [0, 1, 2]], problems=problems)
    of_pairs = record([[0, 1, 2]], problems=[[0, 1]])
    for_all = record([0, 2, 1])
    (found,) = methods_alike({"a": [first], "b": [second], "p": [of_pairs], "f": [for_all]}, 3, [2])
    assert found.jaccard[0][1] == pytest.approx((1 + 1 / 3) / 2)
    assert found.jaccard[0][2] is None
    # {0, 2} with {0, 1} and {2, 1}
    assert found.jaccard[0][3] == pytest.approx(1 / 3)


def test_only_selections_on_the_same_rows_meet():
    first = [record([0, 1], fold) for fold in (0, 1)] + [record([1, 0], None, repeat=None)]
    second = [record([0, 1], 1), record([1, 0], 2), record([0, 1], None, repeat=None)]
    (found,) = methods_alike({"a": first, "b": second}, 2, [1])
    assert (found.selections, found.jaccard[0][1]) == (1, 1.0)
    final = {"a": first[-1:], "b": second[-1:]}
    assert methods_alike(final, 2, [1])[0].jaccard[0][1] == 0.0
    assert methods_alike({"a": first[:1], "b": second[:1]}, 2, [1]) == []
    assert methods_alike({"a": first}, 2, [1]) == []


def test_of_many_selectors_the_first_are_compared():
    many = {f"m{i}": [record([0, 1])] for i in range(METHODS_COMPARED + 5)}
    assert len(methods_alike(many, 2, [1])[0].selectors) == METHODS_COMPARED
