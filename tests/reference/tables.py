"""Small tables for hypothesis, full of what goes wrong: ties, constants, far means."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@st.composite
def tables(draw, *, max_rows=24, min_features=1, max_features=6, max_labels=4):
    """Small data full of ties: few values, copies, constants, far-away means, empty label sets."""
    n = draw(st.integers(2, max_rows))
    d = draw(st.integers(min_features, max_features))
    q = draw(st.integers(1, max_labels))
    Y = draw(hnp.arrays(np.uint8, (n, q), elements=st.integers(0, 1)))
    values = st.one_of(
        st.integers(0, 2).map(float), st.floats(-4, 4, allow_subnormal=False, width=16)
    )
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    for r in range(d):
        kind = draw(st.sampled_from(["as drawn", "constant", "zero", "far", "copy", "by set"]))
        if kind == "constant":
            X[:, r] = 3.25
        elif kind == "zero":
            X[:, r] = 0.0
        elif kind == "far":
            X[:, r] += 1e6
        elif kind == "copy":
            X[:, r] = X[:, 0]
        elif kind == "by set":
            X[:, r] = Y @ np.arange(1, q + 1) % 3 + 5.0
    return X, Y


@st.composite
def tables_with_categories(draw):
    """As `tables`, with the set of features that are nominal: codes 0, 1, 2, 5."""
    X, Y = draw(tables())
    nominal = draw(st.sets(st.integers(0, X.shape[1] - 1)))
    for r in nominal:
        X[:, r] = np.array([0, 1, 2, 5])[np.abs(X[:, r]).astype(int) % 4]
    return X, Y, nominal


@st.composite
def streams(draw, *, max_rows=30, max_features=8):
    """Columns of one, two, few and many values with the set of nominal ones; duplicated rows."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    q = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.lists(st.sampled_from([1, 2, 2, 3, 6, 1000]), min_size=d, max_size=d))
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(float)
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.0, 0.1, 0.5]))).astype(np.uint8)
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    return X, Y, draw(st.sets(st.integers(0, d - 1), max_size=2))


def kinds(X, nominal):
    """0 numeric, 1 nominal, for each column."""
    return np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)


def mixed_table(n=230, d=90, q=4, seed=11):
    """Columns of many values, of few and of bits, one constant; missing cells; labels and costs."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.1) * rng.integers(1, 4, (n, d)).astype(np.float64)
    X[:, : d // 3] = rng.normal(size=(n, d // 3)).round(1)
    X[:, -(d // 4) :] = rng.random((n, d // 4)) < 0.05
    X[:, 5] = 1.0
    X[rng.random((n, d)) < 0.05] = np.nan
    Y = (rng.random((n, q)) < 0.3).astype(np.uint8)
    return X, Y, rng.uniform(0, 100, d)
