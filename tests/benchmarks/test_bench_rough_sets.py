"""nrs-cost against NumPy by hand, its growth with the rows, and what was asked of whole runs."""

import sys
from time import perf_counter

import numpy as np
import pytest

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.scaling import growth_with_rows, two_workers_against_one
from benchmarks.side_by_side import Row, SideBySide, faster, show_seconds
from mlfs_dask.graphs.source import MissingCells, as_source
from mlfs_dask.selectors.nrs_cost import NRSCost

TEXTBOOK = "NumPy by the definitions, sample by sample"
MATRICES = "NumPy by hand, n x n Boolean matrices"


def region_by_sample(X, Y, delta):
    """Positive region of a set of columns: the neighbours of each sample, then their labels."""

    def positive(features):
        values, inside = X[:, features], np.ones(len(X), dtype=bool)
        for i in range(len(X)):
            near = ~(np.abs(values - values[i]) > delta[features]).any(axis=1)
            inside[i] = Y[near][:, Y[i] > 0].all()
        return inside

    return positive


def region_by_matrix(X, Y, delta):
    """The same with one matrix for each feature."""
    apart = [np.abs(x[:, None] - x) > d for x, d in zip(X.T, delta, strict=True)]
    violates = (Y[:, None, :] > Y).any(axis=2)

    def positive(features):
        within = violates.copy()
        for f in features:
            within &= ~apart[f]
        return ~within.any(axis=1)

    return positive


def reduct_by_hand(X, Y, cost, region):
    """Features in order of choice, decided as the paper says; NaN is near to everything."""
    everything = list(range(X.shape[1]))
    positive = region(X, Y, np.nanstd(X, axis=0) / 2)
    whole = positive(everything)
    rest = [[f for f in everything if f != left_out] for left_out in everything]
    chosen = [f for f in everything if (positive(rest[f]) != whole).any()]
    while (positive(chosen) != whole).any():
        left = [f for f in everything if f not in chosen]
        sizes = np.array([positive([*chosen, f]).sum() for f in left])
        gain = (sizes - sizes.min()) / max(whole.sum() - sizes.min(), 1)
        spent = cost[chosen].sum() + cost[left]
        chosen.append(left[(gain - (spent - spent.min()) / (cost.sum() - spent.min())).argmax()])
    return chosen


def _same_order(ours, theirs):
    assert ours == theirs


def subset_of(fitted):
    return fitted.order_[: fitted.n_selected_].tolist()


def costs_of(n_features):
    return np.random.default_rng(0).uniform(0, 100, n_features)


def incomplete(dataset):
    """Rows with costs, and with 5 % of their cells missing."""
    source = as_source(dataset).with_missing(MissingCells(0, 0.05))
    return source.with_costs(costs_of(dataset.n_features))


@pytest.mark.slow
def test_600_rows_of_yeast(side_by_side: SideBySide) -> None:
    source = incomplete(peers.stored("yeast", full=side_by_side.full, dense=True))
    source = source.take(np.arange(min(source.n_samples, 600)))
    X = np.concatenate([source.block(tile) for tile in range(source.n_tiles)])
    Y, cost = source.Y, source.feature_cost
    side_by_side.compare(
        "nrs-cost, 600 rows of yeast, 5 % missing, core and reduct",
        ours=lambda: subset_of(NRSCost().fit(X, Y, feature_cost=cost)),
        peers={
            TEXTBOOK: lambda: reduct_by_hand(X, Y, cost, region_by_sample),
            MATRICES: lambda: reduct_by_hand(X, Y, cost, region_by_matrix),
        },
        bounds={TEXTBOOK: faster(50)},
        agree={TEXTBOOK: _same_order, MATRICES: _same_order},
        once=[TEXTBOOK, MATRICES],
    )


WHOLE = """
import numpy as np
import mlfs_dask as mlfs
from mlfs_dask.graphs.source import MissingCells, as_source
rows = as_source(mlfs.open_dataset({path!r})).with_missing(MissingCells(0, 0.05))
cost = np.random.default_rng(0).uniform(0, 100, rows.n_features)
mlfs.get_selector("nrs-cost").fit(rows.with_costs(cost))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seconds", "size"),
    [
        ("tmc2007-500-fixed", 30, 1.5 * 2**30),
        ("scene", 10, None),
        ("birds", 10, None),
        ("mediamill-small", 10, None),
    ],
)
def test_whole_reductions(side_by_side: SideBySide, name, seconds, size) -> None:
    dataset = peers.stored(name, full=side_by_side.full)
    if not side_by_side.full:
        NRSCost().fit(incomplete(dataset))
        return
    side_by_side.command(
        f"nrs-cost, reduct of {name} with 5 % missing, a process of its own",
        [sys.executable, "-c", WHOLE.format(path=str(dataset.path))],
        at_most_seconds=seconds,
        at_most_bytes=size,
    )


def test_sweep_of_the_paper(side_by_side: SideBySide) -> None:
    """11 radii x 2 laws of costs x with and without cost x 10 folds."""
    dataset = peers.stored("yeast", full=side_by_side.full)
    rows = as_source(dataset).with_missing(MissingCells(0, 0.05))
    rng, d = np.random.default_rng(0), dataset.n_features
    laws = (rng.uniform(0, 100, d), np.maximum(rng.normal(100, 30, d), 0))
    n_folds = 10 if side_by_side.full else 2
    folds = np.array_split(rng.permutation(dataset.n_samples), n_folds)
    begin = perf_counter()
    for held_out in folds:
        train = rows.take(np.setdiff1d(np.arange(dataset.n_samples), held_out))
        for divisor in np.linspace(1.0, 2.0, 11 if side_by_side.full else 2).round(1).tolist():
            for costs in laws:
                for use_cost in (True, False):
                    NRSCost(divisor, use_cost=use_cost).fit(train.with_costs(costs))
    seconds = perf_counter() - begin
    if side_by_side.full:
        side_by_side.rows.append(
            Row(
                what="nrs-cost, the sweep of paper E on yeast: 440 searches",
                ours=show_seconds(seconds),
                against="",
                theirs="",
                result="",
                asked="at most 5 minutes",
                met=seconds <= 300,
            )
        )


@pytest.mark.slow
def test_growth_with_the_rows(side_by_side: SideBySide) -> None:
    source = incomplete(peers.stored("tmc2007-500-fixed", full=side_by_side.full))
    growth_with_rows(
        side_by_side,
        "nrs-cost, reduct of tmc2007-500-fixed",
        source,
        lambda rows: NRSCost().fit(rows),
    )


@pytest.mark.cluster
def test_two_workers_against_one(side_by_side: SideBySide) -> None:
    source = incomplete(peers.stored("tmc2007-500-fixed", full=side_by_side.full))
    two_workers_against_one(
        side_by_side,
        "nrs-cost, reduct of tmc2007-500-fixed",
        lambda: mlfs.get_selector("nrs-cost").fit(source).path_,
    )
