import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs.affinity import FeatureAffinity
from mlfs_dask.graphs.bandwidth import N_PAIRS, label_bandwidth, median_bandwidth
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.kernels.distances import Known, distance_rule
from mlfs_dask.selectors.spec import SPEC
from reference.spec import min_max, similarity_matrix


def rule_of(source, *, nominal=None, normalize="minmax"):
    s = summarize_columns(source, InProcess(1))
    known = Known(s.low, s.high, s.n_missing > 0, s.binary)
    d = source.n_features
    return distance_rule(
        np.arange(d),
        np.array([d]),
        known,
        known,
        nominal=np.zeros(d, dtype=bool) if nominal is None else nominal,
        normalize=normalize,
    )


@given(
    d=st.integers(1, 70),
    binary=st.booleans(),
    sparse=st.booleans(),
    normalize=st.sampled_from(["minmax", "none"]),
    seed=st.integers(0, 99),
)
def test_strips_hold_the_similarities_of_the_twin(d, binary, sparse, normalize, seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((13, d)) < 0.4) * (1.0 if binary else rng.normal(size=(13, d)))
    X[4] = X[9]
    source = as_source(sp.csr_matrix(X) if sparse else X)
    rule = rule_of(source, normalize=normalize)
    # With min-max scaling features with two values such as 0 and 0.7 aren't packed, only 0/1.
    assert rule.packed == bool(np.isin(X[:, rule.order], (0, 1)).all())
    affinity = FeatureAffinity(rule, 1.0 / (2.0 * 0.8**2))
    block = source.block(0)
    left, right = affinity.prepare(block[:8], ()), affinity.prepare(block[8:], ())
    out = np.full((4, 6), -1.0)
    affinity.fill(left, 3, 6, right, out, diagonal=False)
    scaled = min_max(X) if normalize == "minmax" else X
    W = similarity_matrix(scaled, np.zeros((13, 1)), "rbf-features", bandwidth=0.8)
    np.testing.assert_allclose(out[:3, :5], W[3:6, 8:], rtol=1e-12, atol=1e-300)
    assert out[1, 1] == 1.0  # rows 4 and 9 are equal
    assert (out[3] == -1).all()
    assert (out[:, 5] == -1).all()


def test_nominal_features_differ_by_one():
    X = np.array([[0.0, 2.0], [1.0, 2.0], [0.0, 7.0]])
    affinity = FeatureAffinity(rule_of(as_source(X), nominal=np.array([False, True])), 1.0)
    rows = affinity.prepare(X, ())
    out = np.empty((3, 3))
    affinity.fill(rows, 0, 3, rows, out, diagonal=True)
    squared = np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]])
    np.testing.assert_allclose(out, np.exp(-squared))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_bandwidth_is_half_the_median_squared_distance(form):
    rng = np.random.default_rng(0)
    X = rng.random((50, 4))
    source = as_source(form(X), tile=16)
    found = median_bandwidth(source, rule_of(source), 3, InProcess(2))
    draws = np.random.default_rng(3)
    left = draws.integers(0, 50, N_PAIRS)
    right = (left + draws.integers(1, 50, N_PAIRS)) % 50
    assert (left != right).all()
    Z = min_max(X)
    squared = ((Z[left] - Z[right]) ** 2).sum(axis=1)
    assert found == pytest.approx(np.sqrt(np.median(squared) / 2), rel=1e-12)


def test_the_bandwidth_is_seeded_and_kept():
    rng = np.random.default_rng(1)
    X, Y = rng.random((60, 5)), rng.integers(0, 2, (60, 4))
    same = [SPEC("rbf-features", random_state=s).fit(X, Y) for s in (7, 7, 8)]
    assert same[0].bandwidth_ == same[1].bandwidth_ != same[2].bandwidth_
    assert same[0].scores_.tobytes() == same[1].scores_.tobytes()
    labels = SPEC("rbf-labels", bandwidth="median", random_state=7).fit(X, Y)
    assert labels.bandwidth_ == label_bandwidth(Y, 7)
    assert SPEC("rbf-labels").fit(X, Y).bandwidth_ == 1.0
    assert SPEC().fit(X, Y).bandwidth_ is None


def test_rows_that_mostly_coincide():
    Y = np.zeros((20, 3), dtype=np.uint8)
    assert label_bandwidth(Y, 0) == 1.0
    Y[0] = 1
    assert 0 < label_bandwidth(Y, 0) < 1
    assert label_bandwidth(Y[:1], 0) == 1.0
