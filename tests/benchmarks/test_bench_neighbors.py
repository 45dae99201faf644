"""Exact neighbours and classifiers by them against the libraries users would pick."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most, faster
from mlfs_dask.classifiers.brknn import BRkNN
from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.graphs.neighbors import nearest_neighbors
from mlfs_dask.graphs.source import as_source

K = 11


def _training_half(dataset):
    rows = np.flatnonzero(dataset.split == 1)
    X = dataset.X[:]
    X = X if len(rows) == 0 else X[rows]
    return X if sp.issparse(X) else sp.csr_matrix(X)


def _same_distances(X):
    """Peers break ties as they like, so squared distances are compared, not indices."""
    dense = X.toarray().astype(np.float64)

    def check(ours, theirs):
        distances, _ = ours
        rows = np.arange(0, len(dense), max(1, len(dense) // 200))
        for i in rows:
            expected = ((dense[theirs[i]] - dense[i]) ** 2).sum(axis=1)
            np.testing.assert_allclose(np.sort(distances[i] ** 2), np.sort(expected), atol=1e-6)

    return check


@pytest.mark.filterwarnings("ignore")
def test_exact_neighbours(side_by_side: SideBySide) -> None:
    """Leave-one-out, k = 11; peers find the row itself first, so they are asked for k + 1."""
    X = _training_half(peers.stored("tmc2007-500", full=side_by_side.full)).astype(np.uint8)
    dense = np.ascontiguousarray(X.toarray(), dtype=np.float32)
    packed = np.packbits(dense.astype(bool), axis=1)
    packed = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))))
    source = as_source(X)

    from sklearn.neighbors import NearestNeighbors

    def sklearn_brute():
        model = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(dense)
        return model.kneighbors(return_distance=False)

    theirs = {
        "scikit-learn brute, dense float32": sklearn_brute,
        "NumPy by hand, float32 blocks": lambda: peers.knn_blocks(dense, K),
    }
    bounds = dict.fromkeys(theirs, faster(3))
    agree = dict.fromkeys(theirs, _same_distances(X))
    if side_by_side.importable("faiss"):
        import faiss

        def flat():
            index = faiss.IndexFlatL2(dense.shape[1])
            index.add(dense)
            return index.search(dense, K + 1)[1]

        def binary():
            index = faiss.IndexBinaryFlat(packed.shape[1] * 8)
            index.add(packed)
            return index.search(packed, K + 1)[1]

        theirs["faiss IndexFlatL2"] = flat
        bounds["faiss IndexFlatL2"] = faster(3)
        theirs["faiss IndexBinaryFlat"] = binary
        bounds["faiss IndexBinaryFlat"] = at_most(2)
    side_by_side.compare(
        "exact neighbours, k = 11, tmc2007-500 training rows",
        ours=lambda: nearest_neighbors(source, None, K),
        peers=theirs,
        bounds=bounds,
        agree=agree,
        repeats=3,
    )


NEIGHBOURS = {
    "MLkNN": (MLkNN(normalize="none"), {"k": 10, "s": 1.0}),
    "BRkNNaClassifier": (BRkNN(extension="a", ties="first", normalize="none"), {"k": 10}),
    "BRkNNbClassifier": (BRkNN(extension="b", ties="first", normalize="none"), {"k": 10}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("data", ["emotions", "yeast"])
@pytest.mark.parametrize("method", NEIGHBOURS)
def test_classifiers_against_scikit_multilearn(side_by_side: SideBySide, method, data) -> None:
    X, Y = peers.in_memory(peers.stored(data, full=side_by_side.full, dense=True))
    X = np.ascontiguousarray(X, dtype=np.float64)
    cut = len(X) * 3 // 4
    classifier, options = NEIGHBOURS[method]
    if not side_by_side.importable("skmultilearn"):
        pytest.skip("scikit-multilearn-ng comes with `make bench`")
    import skmultilearn.adapt

    def theirs():
        model = getattr(skmultilearn.adapt, method)(**options)
        model.fit(sp.csr_matrix(X[:cut]), sp.csr_matrix(Y[:cut]))
        return model.predict(sp.csr_matrix(X[cut:])).toarray()

    def agree(ours, theirs):
        """It counts a row among its own neighbours, so losses are compared, not labels."""
        losses = [np.mean(np.asarray(found) != Y[cut:]) for found in (ours, theirs)]
        assert losses[0] <= losses[1] + 0.05

    name = f"scikit-multilearn-ng {method}"
    side_by_side.compare(
        f"{type(classifier).__name__} for {method}, fit + predict, {data}, three quarters to train",
        ours=lambda: classifier.fit(X[:cut], Y[:cut]).predict(X[cut:]),
        peers={name: theirs},
        bounds={name: faster(5)},
        agree={name: agree},
    )


@pytest.mark.parametrize(
    ("name", "limit", "dense"), [("yeast", 2.5, True), ("tmc2007-500-fixed", 6.0, False)]
)
def test_curve_against_its_parts(side_by_side: SideBySide, name, limit, dense) -> None:
    """One pass over nested feature sets against its last point and against a fit per point."""
    dataset = peers.stored(name, full=side_by_side.full, dense=dense)
    source = as_source(dataset)
    order = np.random.default_rng(0).permutation(dataset.n_features)
    shares = np.arange(1, 21) / 20
    counts = sorted({max(1, int(np.floor(share * len(order) + 0.5))) for share in shares})
    test_rows = np.arange(0, dataset.n_samples, 10)
    train = source.take(np.setdiff1d(np.arange(dataset.n_samples), test_rows))
    test = source.take(test_rows)
    X, Y = peers.in_memory(dataset)
    keep = np.setdiff1d(np.arange(dataset.n_samples), test_rows)

    def curve(at):
        return [p for _, p in MLkNN().curve(train, test, order, at)]

    def separate():
        points = []
        for count in counts:
            columns = order[:count]
            model = MLkNN().fit(X[keep][:, columns], Y[keep])
            points.append(model.predict_proba(X[test_rows][:, columns]))
        return points

    last, fits = "its last point alone", f"{len(counts)} separate fits"
    side_by_side.compare(
        f"ML-kNN curve of {len(counts)} points, one fold, {name}",
        ours=lambda: curve(counts),
        peers={last: lambda: curve(counts[-1:]), fits: separate},
        bounds={last: at_most(limit), fits: faster(3)},
        agree={
            last: lambda a, b: np.testing.assert_array_equal(a[-1], b[-1]),
            fits: np.testing.assert_array_equal,
        },
        repeats=3,
        once=[fits],
    )
