"""The rule of comparison and the columns it makes, by hand and against loops."""

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.kernels.distances import (
    MISSING,
    NOMINAL,
    PLAIN,
    Known,
    add_four_plain,
    add_missing,
    add_nominal,
    add_plain,
    distance_rule,
    scale_csr,
    scale_dense,
)

NAN = np.nan


def known(X):
    X = np.asarray(X, dtype=np.float64)
    columns = [column[~np.isnan(column)] for column in X.T]
    low = np.array([column.min() if len(column) else NAN for column in columns])
    high = np.array([column.max() if len(column) else NAN for column in columns])
    return Known(low, high, np.isnan(X).any(axis=0), np.isin(X, (0.0, 1.0)).all(axis=0))


def rule(train, query=None, *, order=None, counts=None, nominal=None, normalize="minmax"):
    d = np.shape(train)[1]
    order = np.arange(d) if order is None else np.array(order)
    counts = np.array([len(order)] if counts is None else counts)
    nominal = np.zeros(d, bool) if nominal is None else np.array(nominal)
    train = known(train)
    query = train if query is None else known(query)
    return distance_rule(order, counts, train, query, nominal=nominal, normalize=normalize)


def test_constant_features_are_left_out_when_scaled() -> None:
    X = [[5.0, 1.0, 2.0], [5.0, 3.0, 4.0]]
    made = rule(X, [[9.0, 1.0, 1.0]], order=[1, 0, 2], counts=[0, 1, 2, 3])
    assert made.order.tolist() == [1, 2]
    assert made.stops.tolist() == [0, 1, 1, 2]
    assert rule(X, normalize="none").order.tolist() == [0, 1, 2]


def test_constant_features_with_missing_values_count_where_they_are_missing() -> None:
    made = rule([[5.0], [NAN]])
    assert made.how.tolist() == [MISSING]
    assert scale_dense(np.array([[7.0], [NAN]]), made.order, made.shift, made.span).tolist() == [
        pytest.approx([0.0, NAN], nan_ok=True)
    ]


def test_features_never_known_are_silent_only_without_a_range() -> None:
    X = [[NAN, 1.0], [NAN, 2.0]]
    assert rule(X, normalize="none").order.tolist() == [1]
    assert rule(X).order.tolist() == [0, 1]


def test_missing_values_in_queries_alone_count() -> None:
    assert rule([[0.0, 0.0], [1.0, 2.0]], [[NAN, 1.0]]).how.tolist() == [MISSING, PLAIN]


@pytest.mark.parametrize(
    ("train", "query", "normalize", "packed"),
    [
        ([[0, 1], [1, 0]], [[1, 1]], "minmax", True),
        ([[0, 1], [1, 0]], [[1, 2]], "minmax", False),
        ([[0, 1], [1, 0]], [[1, NAN]], "minmax", False),
        ([[0, 7], [1, 7]], [[1, 9]], "minmax", True),  # the constant counts 0 whatever the test has
        ([[0, 7], [1, 7]], [[1, 9]], "none", False),
        ([[0, 1], [1, 1]], [[1, 0]], "none", True),
        ([[0.0, 0.5], [1.0, 1.0]], [[1, 0]], "minmax", False),
    ],
)
def test_when_popcounts_serve(train, query, normalize, packed) -> None:
    assert rule(train, query, normalize=normalize).packed is packed


def test_features_beyond_the_last_point_decide_nothing() -> None:
    assert rule([[0, 0.5], [1, 1.0]], counts=[1]).packed


def test_how_features_are_compared() -> None:
    X = [[0.0, 1.0, 3.0], [2.0, NAN, 1.0]]
    made = rule(X, nominal=[False, False, True])
    assert made.how.tolist() == [PLAIN, MISSING, NOMINAL]
    assert (made.shift[2], made.span[2]) == (0.0, 1.0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_scaling_is_one_subtraction_and_one_division(dtype) -> None:
    X = np.random.default_rng(0).integers(0, 90, (70, 9)).astype(dtype)
    made = rule(X, order=[3, 0, 8])
    out = scale_dense(X, made.order, made.shift, made.span)
    wide = X.astype(np.float64)
    for c, f in enumerate([3, 0, 8]):
        low, high = wide[:, f].min(), wide[:, f].max()
        np.testing.assert_array_equal(out[c], (wide[:, f] - low) / (high - low))


def test_sparse_rows_scale_alike() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (50, 12)) * (rng.random((50, 12)) < 0.3) * 1.0
    X[4, 2] = NAN
    made = rule(X, order=[7, 2, 5])
    csr = sp.csr_matrix(X)
    place = np.full(12, -1)
    place[made.order] = np.arange(len(made.order))
    np.testing.assert_array_equal(
        scale_csr(csr.data, csr.indices, csr.indptr, place, made.shift, made.span),
        scale_dense(X, made.order, made.shift, made.span),
    )


def test_one_missing_value_is_as_far_as_the_range_allows() -> None:
    total = np.zeros(4)
    add_missing(total, np.array([0.2, 0.9, 1.5, NAN]), NAN, 0.0, 1.0)
    np.testing.assert_allclose(total, [0.64, 0.81, 2.25, 1.0])
    total = np.zeros(2)
    add_missing(total, np.array([NAN, 0.5]), -0.4, 0.0, 1.0)
    np.testing.assert_allclose(total, [1.96, 0.81])


def test_missing_values_unscaled_use_the_training_range() -> None:
    total = np.zeros(3)
    add_missing(total, np.array([3.0, 9.0, NAN]), NAN, 2.0, 8.0)
    np.testing.assert_allclose(total, [25.0, 49.0, 36.0])


def test_nominal_values_differ_or_not() -> None:
    total = np.zeros(3)
    add_nominal(total, np.array([2.0, 5.0, NAN]), 2.0)
    add_nominal(total, np.array([2.0, 5.0, NAN]), NAN)
    assert total.tolist() == [1.0, 2.0, 2.0]


def test_four_at_a_time_has_the_bits_of_one_by_one() -> None:
    rng = np.random.default_rng(2)
    columns, own = rng.random((4, 301)), rng.random(4)
    one, four = np.zeros(301), np.zeros(301)
    for c in range(4):
        add_plain(one, columns[c], own[c])
    add_four_plain(four, tuple(columns), own, 0)
    np.testing.assert_array_equal(one, four)
    loop = [sum_in_order((own - columns[:, j]) ** 2) for j in range(301)]
    assert one.tolist() == loop


def sum_in_order(values):
    total = 0.0
    for value in values.tolist():
        total += value
    return total
