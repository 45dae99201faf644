"""Baselines, MDDM and Laplacian score against what users would call or write by hand."""

import math
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most, faster

DOUBLINGS = {"half the rows": 2, "a quarter of the rows": 4}


def _process(side_by_side, method, dataset, parameters, seconds):
    """A process of its own, from its start to the order of all features."""
    if not side_by_side.full:
        return  # that a process can run a selector is tested elsewhere
    given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    call = f"m.get_selector({method!r}, {given}).fit(m.open_dataset({str(dataset.path)!r}))"
    side_by_side.command(
        f"{method} ({given}), {dataset.n_samples} x {dataset.n_features}, a process of its own",
        [sys.executable, "-c", f"import mlfs_dask as m; {call}"],
        at_most_seconds=seconds,
    )


def test_mutual_information_of_all_labels(side_by_side: SideBySide) -> None:
    """The peer gets the bins for nothing; ours finds them."""
    from sklearn.feature_selection import mutual_info_classif

    X, Y = peers.in_memory(peers.stored("yeast", full=side_by_side.full, dense=True))
    X = np.ascontiguousarray(X, dtype=np.float64)
    cut = np.sort(X, axis=0)[(len(X) + 1) // 2 - 1]
    bins = np.greater(X, cut).astype(np.int64)
    by_label = f"scikit-learn, {Y.shape[1]} calls of mutual_info_classif on the same bins"
    side_by_side.compare(
        "mutual-info, all labels of yeast, bins included",
        ours=lambda: mlfs.get_selector("mutual-info").fit(X, Y).label_scores_,
        peers={
            by_label: lambda: np.column_stack(
                [mutual_info_classif(bins, label, discrete_features=True) for label in Y.T]
            )
        },
        bounds={by_label: faster(20)},
        agree={
            by_label: lambda ours, theirs: np.testing.assert_allclose(
                ours * math.log(2), theirs, rtol=0, atol=1e-12
            )
        },
    )


def laplacian_by_hand(dataset, k=5):
    """Scores from blocks of distances as matrix products, ties to the lower index."""
    X, _ = peers.in_memory(dataset)
    X = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
    n, norms = len(X), (X * X).sum(axis=1)
    low, high, square = [], [], []
    for start in range(0, n, 1024):
        rows = np.arange(start, min(start + 1024, n))
        # 0/1 data: distances are whole numbers below 2**24, exact in float32.
        D = norms[rows, None] + norms[None, :] - 2.0 * (X[rows] @ X.T)
        key = D.astype(np.int64) * n + np.arange(n)
        key[np.arange(len(rows)), rows] = np.iinfo(np.int64).max
        near = np.argpartition(key, k - 1, axis=1)[:, :k]
        own = np.repeat(rows, k)
        low.append(np.minimum(own, near.ravel()))
        high.append(np.maximum(own, near.ravel()))
        square.append(np.take_along_axis(D, near, axis=1).ravel().astype(np.float64))
    i, j, d = (np.concatenate(parts) for parts in (low, high, square))
    _, kept = np.unique(i * n + j, return_index=True)
    i, j, w = i[kept], j[kept], np.exp(-d[kept])
    W = sp.csr_matrix((np.r_[w, w], (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    degree = np.asarray(W.sum(axis=1)).ravel()
    centred = X - (degree @ X) / degree.sum()
    bottom = degree @ (centred * centred)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 2.0 - 2.0 * np.einsum("ij,ij->j", centred, W @ centred) / bottom


def _finite(rtol):
    def check(ours, theirs):
        known = np.isfinite(ours)
        np.testing.assert_allclose(ours[known], theirs[known], rtol=rtol)

    return check


def test_laplacian_score(side_by_side: SideBySide) -> None:
    dataset = peers.stored("tmc2007-500-fixed", full=side_by_side.full)
    by_hand = "NumPy by hand, blocks of distances"
    side_by_side.compare(
        "laplacian k = 5, tmc2007-500-fixed, opened store to scores",
        ours=lambda: mlfs.get_selector("laplacian").fit(mlfs.open_dataset(dataset.path)).scores_,
        peers={by_hand: lambda: laplacian_by_hand(mlfs.open_dataset(dataset.path))},
        bounds={by_hand: at_most(1.2)},
        agree={by_hand: _finite(1e-4)},
        repeats=3,
        once=[by_hand],
    )
    _process(side_by_side, "laplacian", dataset, {"n_neighbors": 5}, 20)


def _scaled(dataset):
    """Min-max scaled CSR rows, the means of their columns, and centred labels."""
    X, Y = peers.in_memory(dataset)
    X = sp.csr_matrix(X).astype(np.float64)
    span = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
    X = sp.csr_matrix(X @ sp.diags_array(1.0 / np.where(span > 0, span, 1.0)))
    return X, np.asarray(X.mean(axis=0)).ravel(), Y - Y.mean(axis=0)


def mddm_by_hand(dataset, constraint):
    """Row norms of G, or of its solutions by SciPy's conjugate gradients, label by label."""
    X, mean, labels = _scaled(dataset)
    G = X.T @ labels - np.outer(mean, labels.sum(axis=0))
    if constraint == "spc":
        transposed = X.T.tocsr()

        def multiply(p):
            image = X @ p - mean @ p
            return 0.5 * (transposed @ image - mean * image.sum()) + 0.5 * p

        B = sp.linalg.LinearOperator((len(G), len(G)), matvec=multiply, dtype=np.float64)
        G = np.column_stack([sp.linalg.cg(B, g, rtol=1e-12, maxiter=5000)[0] for g in G.T])
    return (G * G).sum(axis=1)


@pytest.mark.parametrize(("constraint", "seconds"), [("proj", 5), ("spc", 60)])
def test_mddm(constraint: str, seconds: int, side_by_side: SideBySide) -> None:
    dataset = peers.stored("yahoo-science", full=side_by_side.full)
    by_hand = "SciPy by hand" + (", conjugate gradients by label" if constraint == "spc" else "")

    def agree(ours, theirs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12 * ours.max())

    side_by_side.compare(
        f"mddm {constraint}, yahoo-science, opened store to scores",
        ours=lambda: (
            mlfs.get_selector("mddm", constraint=constraint)
            .fit(mlfs.open_dataset(dataset.path))
            .scores_
        ),
        peers={by_hand: lambda: mddm_by_hand(mlfs.open_dataset(dataset.path), constraint)},
        # By hand nothing is checked, summarized or ranked, which one product does not hide.
        bounds={by_hand: at_most(1.2 if constraint == "spc" else 1.5)},
        agree={by_hand: agree},
        repeats=3,
        once=[by_hand] if constraint == "spc" else (),
    )
    _process(side_by_side, "mddm", dataset, {"constraint": constraint}, seconds)


@pytest.mark.parametrize(
    ("method", "most"),
    [("variance", 2.4), ("chi2", 2.4), ("mutual-info", 2.4), ("mddm", 2.4), ("laplacian", 4.8)],
)
def test_growth_with_rows(method: str, most: float, side_by_side: SideBySide) -> None:
    """Twice the rows: twice the time, but four times for what compares all pairs of rows."""
    n = side_by_side.size(full=32_000, quick=80)
    n = n // 4 if method == "laplacian" else n
    rng = np.random.default_rng(3)
    X = rng.random((n, 100))
    Y = (rng.random((n, 10)) < 0.2).astype(np.uint8)
    X[:, :10] += Y

    def fit(share):
        return mlfs.get_selector(method).fit(X[: n // share], Y[: n // share]).scores_

    side_by_side.compare(
        f"{method}, {n} x 100, 10 labels",
        ours=lambda: fit(1),
        peers={name: lambda share=share: fit(share) for name, share in DOUBLINGS.items()},
        bounds={
            "half the rows": at_most(most, plus_seconds=0.05),
            "a quarter of the rows": at_most(most * most, plus_seconds=0.05),
        },
        repeats=3,
    )
