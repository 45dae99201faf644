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


def naive_bayes_by_hand(X, Y, population, n_folds=10):
    """Fitness of sets of features: log ratios of a fold as one array, a matrix product for all."""
    n, d = X.shape
    q, size = Y.shape[1], len(X) // n_folds
    total = np.zeros(len(population))
    for f in range(n_folds):
        test = np.arange(f * size, n if f == n_folds - 1 else (f + 1) * size)
        train = np.setdiff1d(np.arange(n), test)
        logs = []
        for c in (0, 1):
            chosen = [X[train][Y[train][:, label] == c] for label in range(q)]
            mean = np.stack([rows.mean(axis=0) for rows in chosen], axis=1)
            sigma = np.stack([rows.std(axis=0, ddof=1) for rows in chosen], axis=1)
            z = (X[test][:, :, None] - mean) / sigma
            dense = np.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi))
            logs.append(np.log(dense + 1e-20))
        ratios = (logs[1] - logs[0]).transpose(1, 0, 2).reshape(d, -1)
        counts = Y[train].sum(axis=0)
        bias = np.log((1 + counts) / (1 + len(train) - counts))
        margins = (population.astype(np.float64) @ ratios).reshape(len(population), -1, q) + bias
        proba, truth = 1 / (1 + np.exp(-margins)), Y[test] == 1
        wrong = ((proba >= 0.5) != truth).mean(axis=(1, 2))
        behind = (proba[:, :, :, None] <= proba[:, :, None, :]) & (
            truth[:, :, None] & ~truth[:, None, :]
        )
        pairs = truth.sum(axis=1) * (q - truth.sum(axis=1))
        shares = behind.sum(axis=(2, 3)) / np.maximum(pairs, 1)
        total += (wrong + shares[:, truth.any(axis=1)].mean(axis=1)) / 2
    return total / n_folds


@pytest.mark.parametrize(("name", "seconds"), [("emotions", 15), ("yeast", 60)])
def test_genetic_search(name: str, seconds: int, side_by_side: SideBySide) -> None:
    """A generation of 20 sets, densities of all folds included; then the whole search."""
    from mlfs_dask.graphs.densities import Inputs
    from mlfs_dask.graphs.executor import InProcess
    from mlfs_dask.graphs.folds import FoldJudge
    from mlfs_dask.graphs.source import as_source

    dataset = peers.stored(name, full=side_by_side.full, dense=True)
    X, Y = peers.in_memory(dataset)
    X = np.ascontiguousarray(X, dtype=np.float64)
    population = np.random.default_rng(0).random((20, X.shape[1])) < 0.5
    inputs = Inputs(np.arange(X.shape[1]))
    by_hand = "NumPy by hand, one thread but for the products"

    def agree(ours, theirs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)

    side_by_side.compare(
        f"mlnb, fitness of 20 sets of features of {name}",
        ours=lambda: FoldJudge(as_source(X, Y), inputs, 10, 1.0, InProcess()).fitness(population),
        peers={by_hand: lambda: naive_bayes_by_hand(X, Y, population)},
        bounds={by_hand: at_most(1.2)},
        agree={by_hand: agree if side_by_side.full else lambda ours, theirs: None},
        repeats=3,
    )
    _process(side_by_side, "mlnb", dataset, {}, seconds)


@pytest.mark.parametrize(
    ("method", "most"),
    [
        ("variance", 2.4),
        ("chi2", 2.4),
        ("mutual-info", 2.4),
        ("mddm", 2.4),
        ("laplacian", 4.8),
        ("mlnb", 2.4),
        ("pmu", 2.4),
        ("mdmr", 2.4),
        ("spec-wrapper", 2.4),
        ("relief-wrapper", 4.8),
    ],
)
def test_growth_with_rows(method: str, most: float, side_by_side: SideBySide) -> None:
    """Twice the rows: twice the time, but four times for what compares all pairs of rows."""
    n = side_by_side.size(full=32_000, quick=80)
    n = n // 4 if method in ("laplacian", "mlnb", "relief-wrapper") else n
    options = {"n_generations": 5} if method == "mlnb" else {}
    rng = np.random.default_rng(3)
    X = rng.random((n, 100))
    Y = (rng.random((n, 10)) < 0.2).astype(np.uint8)
    X[:, :10] += Y

    def fit(share):
        rows = X[: n // share], Y[: n // share]
        return mlfs.get_selector(method, **options).fit(*rows).scores_

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
