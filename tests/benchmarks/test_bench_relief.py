"""Relief and wrapper-SPEC against the libraries users would pick, and how they grow."""

import sys

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most, faster
from mlfs_dask.graphs.executor import available_cores
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.mlrelieff import MLReliefF
from mlfs_dask.selectors.relief_wrapper import ReliefWrapper
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.selectors.spec_wrapper import SPECWrapper

K = 10
FAST = "fast-select ReliefF"


def one_label(dataset):
    """Dense rows and the first label, as peers take them."""
    X, Y = peers.in_memory(dataset)
    dense = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return dense, Y[:, :1]


@pytest.mark.filterwarnings("ignore")
def test_relief_of_one_label(side_by_side: SideBySide) -> None:
    """Yeast, k = 10, the same threads; peers measure by Manhattan distance, so scores differ."""
    X, Y = one_label(peers.stored("yeast", full=side_by_side.full, dense=True))
    if not side_by_side.importable("fast_select"):
        pytest.skip("fast-select comes with `make bench`")
    from fast_select import ReliefF

    threads = available_cores()

    def theirs():
        model = ReliefF(n_neighbors=K, backend="cpu", n_jobs=threads)
        return model.fit(X, Y[:, 0]).feature_importances_

    contenders, bounds, once = {FAST: theirs}, {FAST: at_most(1.3)}, []
    if side_by_side.importable("skrebate"):
        import skrebate

        def rebate():
            model = skrebate.ReliefF(n_neighbors=K, n_jobs=threads)
            return model.fit(X.copy(), Y[:, 0]).feature_importances_

        contenders["skrebate ReliefF"] = rebate
        bounds["skrebate ReliefF"] = faster(10)
        once = ["skrebate ReliefF"]
    side_by_side.compare(
        "relief-wrapper, one label, k = 10, yeast",
        ours=lambda: ReliefWrapper(K).fit(X, Y).scores_[0],
        peers=contenders,
        bounds=bounds,
        once=once,
    )


@pytest.mark.filterwarnings("ignore")
def test_relief_of_binary_features(side_by_side: SideBySide) -> None:
    """On 0/1 features all distances are the same, so scores agree to float32."""
    X, Y = one_label(peers.stored("medical", full=side_by_side.full))
    if not side_by_side.importable("fast_select"):
        pytest.skip("fast-select comes with `make bench`")
    from fast_select import ReliefF

    threads = available_cores()

    def theirs():
        model = ReliefF(n_neighbors=K, backend="cpu", n_jobs=threads)
        return model.fit(X, Y[:, 0]).feature_importances_

    def close(ours, scores):
        np.testing.assert_allclose(ours, scores, rtol=1e-4, atol=1e-5)

    side_by_side.compare(
        "relief-wrapper, one label, k = 10, medical (0/1)",
        ours=lambda: ReliefWrapper(K).fit(X, Y).scores_[0],
        peers={FAST: theirs},
        bounds={FAST: at_most(1.3)},
        agree={FAST: close},
    )


def by_hand(X, Y, k, block=512):
    """mlrelieff over label pairs by float32 matrix products and sorting, 0/1 rows."""
    n = len(Y)
    rows = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)
    size = rows.sum(axis=1)
    count = Y.sum(axis=0).astype(float)
    total, with_pair = np.zeros(rows.shape[1]), 0
    for start in range(0, n, block):
        some = rows[start : start + block]
        D = size[start : start + block, None] + size[None, :] - 2 * (some @ rows.T)
        for i, distance in enumerate(D, start):
            order = np.argsort(distance, kind="stable")
            order = order[order != i]
            near, coefficient, had = Y[order], np.zeros(n, dtype=np.float32), False
            absent = np.flatnonzero(Y[i] == 0)
            for a in np.flatnonzero(Y[i]):
                for b in absent:
                    misses = order[np.flatnonzero(near[:, b] > near[:, a])[:k]]
                    hits = order[np.flatnonzero(near[:, a] > near[:, b])[:k]]
                    if len(misses):
                        had, w = True, count[b] / count[absent].sum()
                        coefficient[misses] += w / len(misses)
                        coefficient[hits] -= w / max(len(hits), 1)
            used = np.flatnonzero(coefficient)
            total += coefficient[used] @ np.abs(rows[used] - rows[i])
            with_pair += had
    return total / max(with_pair, 1)


def test_relief_of_label_pairs(side_by_side: SideBySide) -> None:
    """tmc2007-500, by hand on every 20th row; on all rows by hand would take 400 times as long."""
    dataset = peers.stored("tmc2007-500-fixed", full=side_by_side.full)
    source = as_source(dataset)
    X, Y = peers.in_memory(dataset)
    few = np.arange(0, len(Y), 20 if side_by_side.full else 1)
    part = source.take(few)
    name = "NumPy by hand, argsort per row"
    side_by_side.compare(
        "mlrelieff, k = 10, every 20th row of tmc2007-500",
        ours=lambda: MLReliefF(K).fit(part).scores_,
        peers={name: lambda: by_hand(X[few], Y[few], K)},
        bounds={name: faster(10)},
        agree={name: lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6)},
        repeats=3,
        once=[name],
    )
    halves = {"half of the rows": 2, "a quarter of the rows": 4}
    side_by_side.compare(
        "mlrelieff, k = 10, all of tmc2007-500",
        ours=lambda: MLReliefF(K).fit(source).scores_,
        peers={
            name: lambda step=step: MLReliefF(K).fit(source.take(np.arange(0, len(Y), step)))
            for name, step in halves.items()
        },
        bounds={"half of the rows": at_most(4.5), "a quarter of the rows": at_most(18)},
        repeats=3,
    )
    if side_by_side.full:  # that a process can run a selector is tested elsewhere
        call = f"m.get_selector('mlrelieff').fit(m.open_dataset({str(dataset.path)!r}))"
        side_by_side.command(
            "mlrelieff, all of tmc2007-500, a process of its own",
            [sys.executable, "-c", f"import mlfs_dask as m; {call}"],
            at_most_seconds=90,
        )


def test_spec_of_each_label(side_by_side: SideBySide) -> None:
    """One pass serves all labels, another all pairs; SPEC would need a run for each."""
    dataset = peers.stored("tmc2007-500-fixed", full=side_by_side.full)
    source = as_source(dataset)
    Y = source.Y

    def one_by_one():
        targets = (np.ascontiguousarray(Y[:, [label]]) for label in range(Y.shape[1]))
        return np.stack([SPEC("class").fit(source.with_labels(y)).scores_ for y in targets])

    def pair_by_pair():
        found = []
        for a in range(Y.shape[1]):
            for b in range(a + 1, Y.shape[1]):
                rows = np.flatnonzero(Y[:, a] != Y[:, b])
                target = np.ascontiguousarray(Y[rows][:, [a]])
                found.append(SPEC("class").fit(source.take(rows).with_labels(target)).scores_)
        return np.stack(found)

    def close(ours, theirs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)

    for order, name, each in (
        (1, "SPEC label by label", one_by_one),
        (2, "SPEC pair by pair", pair_by_pair),
    ):
        side_by_side.compare(
            f"spec-wrapper, order {order}, tmc2007-500",
            ours=lambda order=order: SPECWrapper(order).fit(source).scores_,
            peers={name: each},
            bounds={name: faster(5)},
            agree={name: close},
            repeats=3,
        )
