"""Selectors by information against NumPy by hand, and the seconds that were asked for."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most


def pmu_by_hand(dataset, limit=None):
    """Order of PMU on 0/1 features: a sparse product and tables of logarithms for each choice."""
    X, Y = peers.in_memory(dataset)
    X = sp.csr_matrix(X).astype(bool).astype(np.int64)
    member = np.column_stack([np.ones(len(Y), dtype=np.int64), Y])
    columns, n = X.tocsc(), len(Y)
    m = np.arange(n + 1)
    g = m * np.log2(np.maximum(m, 1))
    counts, totals = X.T @ member, member.sum(axis=0)
    pairs = member.T @ member

    def cells(own, size):
        """Sums of g over a feature's two bins and a label's two values, among ``size`` rows."""
        others = size - own
        with_label = g[own[:, 1:]] + g[others[:, 1:]]
        return with_label + g[own[:, :1] - own[:, 1:]] + g[others[:, :1] - others[:, 1:]]

    both, one = cells(counts, totals), (g[counts[:, 0]] + g[n - counts[:, 0]])[:, None]
    labels = g[totals[1:]] + g[n - totals[1:]]
    label_cells = cells(pairs[1:], totals)

    def interactions(rows, own, own_cells, own_sum):
        shared = X[rows].T @ member[rows]
        joint = cells(shared, own) + cells(counts - shared, totals - own)
        pair = g[shared[:, 0]] + g[own[0] - shared[:, 0]]
        rest = counts[:, 0] - shared[:, 0]
        pair = pair + g[rest] + g[n - own[0] - rest]
        terms = g[n] - one - own_sum - labels + pair[:, None] + both + own_cells - joint
        terms /= n
        return np.where(abs(terms) < 1e-12, 0.0, terms)

    relevance = (g[n] - one - labels + both) / n
    merit = np.where(abs(relevance) < 1e-12, 0.0, relevance).sum(axis=1)
    for k in range(Y.shape[1]):
        rows = np.flatnonzero(Y[:, k])
        merit -= interactions(rows, pairs[1 + k], label_cells[k], labels[k])[:, k + 1 :].sum(axis=1)
    merit[(counts[:, 0] == 0) | (counts[:, 0] == n)] = -np.inf
    order = []
    for _ in range(limit or int(np.isfinite(merit).sum())):
        near = np.flatnonzero(merit >= merit.max() - 1e-9 * abs(merit.max()))
        s = int(near[0])
        order.append(s)
        rows = columns.indices[columns.indptr[s] : columns.indptr[s + 1]]
        merit -= interactions(rows, counts[s], both[s], one[s]).sum(axis=1)
        merit[s] = -np.inf
    return order


def _chosen(ours, theirs):
    """The same leading features; sums in another order may exchange later ones that are tied."""
    assert list(ours[:20]) == theirs[:20]
    assert sorted(ours[: len(theirs)]) == sorted(theirs)


@pytest.mark.parametrize("name", ["tmc2007-500-fixed", "enron"])
def test_pmu_ranks_all_features_of_an_opened_store(name: str, side_by_side: SideBySide) -> None:
    dataset = peers.stored(name, full=side_by_side.full)
    by_hand = "NumPy by hand, a sparse product per choice"
    side_by_side.compare(
        f"pmu, all features of {name}, opened store to order",
        ours=lambda: mlfs.get_selector("pmu").fit(mlfs.open_dataset(dataset.path)).order_,
        peers={by_hand: lambda: pmu_by_hand(mlfs.open_dataset(dataset.path))},
        bounds={by_hand: at_most(1.2)},
        agree={by_hand: _chosen},
        repeats=3,
    )
    if not side_by_side.full:
        return  # that a process can run a selector is tested elsewhere
    for method in ("pmu", "mdmr"):
        fit = f"m.get_selector({method!r}).fit(m.open_dataset({str(dataset.path)!r}))"
        side_by_side.command(
            f"{method}, all features of {name}, a process of its own",
            [sys.executable, "-c", f"import mlfs_dask as m; {fit}"],
            at_most_seconds=15,
        )
