"""nrs-stream against NumPy by hand, its growth with the rows, and what was asked of whole runs."""

import sys

import numpy as np
import pytest

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.scaling import growth_with_rows, two_workers_against_one
from benchmarks.side_by_side import SideBySide, faster
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.nrs_stream import NRSStream

TEXTBOOK = "NumPy by the definition, sample by sample"
MATRICES = "NumPy by hand, n x n matrices"
FACTOR, DAMPING = 1.5, 0.85


def weights_by_hand(labels):
    """The walk over mutual informations of the labels."""
    n, q = labels.shape
    information = np.zeros((q, q))
    for a in (0, 1):
        for b in (0, 1):
            joint = (labels == a).T.astype(float) @ (labels == b) / n
            alone = np.outer((labels == a).mean(axis=0), (labels == b).mean(axis=0))
            with np.errstate(divide="ignore", invalid="ignore"):
                information += np.where(joint > 0, joint * np.log2(joint / alone), 0.0)
    np.fill_diagonal(information, 0.0)
    information[information < 1e-12] = 0.0
    sums = information.sum(axis=0)
    sends = information / np.where(sums > 0, sums, 1.0)
    weights = np.full(q, 1 / q)
    for _ in range(1000):
        new = 1 - DAMPING + DAMPING * sends @ weights
        change = abs(new - weights).sum()
        weights = new
        if change < 1e-12:
            break
    return weights / weights.sum()


def dependency_by_sample(columns, Y, weights):
    """As the definition reads: for each sample sort the others, find the gap, look at labels."""
    rows, n = np.array(columns).T, len(Y)
    pure = np.zeros(Y.shape[1])
    for i in range(n):
        distances = np.sqrt(((rows - rows[i]) ** 2).sum(axis=1))
        distances[i] = np.inf
        order = np.argsort(distances, kind="stable")[:-1]
        ordered = distances[order]
        width = FACTOR * (ordered[-1] - ordered[0]) / (n - 2)
        wide = np.flatnonzero(np.diff(ordered) >= width)
        last = wide[0] if len(wide) and width > 0 else n - 2
        pure += np.all(Y[order[: last + 1]] == Y[i], axis=0)
    return float(weights @ (pure / n))


def dependency_by_matrix(columns, Y, weights):
    """The same with all distances at once."""
    n = len(Y)
    squares = np.zeros((n, n))
    for column in columns:
        squares += (column[:, None] - column[None, :]) ** 2
    distances = np.sqrt(squares)
    np.fill_diagonal(distances, np.inf)
    ordered = np.sort(distances, axis=1)[:, :-1]
    width = FACTOR * (ordered[:, -1] - ordered[:, 0]) / (n - 2)
    wide = np.diff(ordered, axis=1) >= width[:, None]
    wide[width == 0] = False
    last = np.where(wide.any(axis=1), wide.argmax(axis=1), n - 2)
    reach = ordered[np.arange(n), last]
    pure = np.zeros(Y.shape[1])
    for i in range(n):
        pure += np.all(Y[distances[i] <= reach[i]] == Y[i], axis=0)
    return float(weights @ (pure / n))


def stream_by_hand(X, Y, dependency):
    """Members of nrs-stream, decided as the paper says."""
    scaled = ((X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))).T.copy()
    weights = weights_by_hand(Y)
    members, alone, held = [], {}, 0.0
    for f in range(len(scaled)):
        alone[f] = dependency([scaled[f]], Y, weights)
        joined = dependency([scaled[g] for g in [*members, f]], Y, weights)
        gain = joined - held
        if members and abs(gain) < 1e-12:
            if alone[f] < sum(alone[g] for g in members) / len(members) - 1e-9:
                continue
            for g in members:
                pair = dependency([scaled[g], scaled[f]], Y, weights)
                if pair - alone[g] < 1e-12:
                    if alone[f] > alone[g] + 1e-9:
                        members.remove(g)
                        members.append(f)
                        held = dependency([scaled[m] for m in members], Y, weights)
                    break
            else:
                members.append(f)
        elif gain > 0:
            members.append(f)
            held = joined
    return members


def _same_members(ours, theirs):
    assert ours == theirs


def members_of(fitted):
    return [f for f in fitted.order_.tolist() if fitted.support_[f]]


@pytest.mark.slow
def test_600_rows_of_yeast(side_by_side: SideBySide) -> None:
    dataset = peers.stored("yeast", full=side_by_side.full, dense=True)
    X, Y = peers.in_memory(dataset)
    X, Y = np.asarray(X[:600], dtype=np.float64), Y[:600]
    varying = X.min(axis=0) < X.max(axis=0)
    X = np.ascontiguousarray(X[:, varying])
    side_by_side.compare(
        "nrs-stream, 600 rows of yeast, all features",
        ours=lambda: members_of(NRSStream().fit(X, Y)),
        peers={
            TEXTBOOK: lambda: stream_by_hand(X, Y, dependency_by_sample),
            MATRICES: lambda: stream_by_hand(X, Y, dependency_by_matrix),
        },
        bounds={TEXTBOOK: faster(50)},
        agree={TEXTBOOK: _same_members, MATRICES: _same_members},
        once=[TEXTBOOK],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seconds", "size"), [("tmc2007-500-fixed", 360, 8 * 2**30), ("yeast", 10, 2**30)]
)
def test_whole_streams(side_by_side: SideBySide, name, seconds, size) -> None:
    dataset = peers.stored(name, full=side_by_side.full)
    fit = f"m.get_selector('nrs-stream').fit(m.open_dataset({str(dataset.path)!r}))"
    if not side_by_side.full:
        NRSStream().fit(dataset)
        return
    side_by_side.command(
        f"nrs-stream, all features of {name}, a process of its own",
        [sys.executable, "-c", f"import mlfs_dask as m; {fit}"],
        at_most_seconds=seconds,
        at_most_bytes=size,
    )


@pytest.mark.slow
def test_growth_with_the_rows(side_by_side: SideBySide) -> None:
    source = as_source(peers.stored("tmc2007-500-fixed", full=side_by_side.full))
    first = list(range(300 if side_by_side.full else 6))
    growth_with_rows(
        side_by_side,
        "nrs-stream, 300 arrivals of tmc2007-500-fixed",
        source,
        lambda rows: NRSStream(arrival=first).fit(rows),
    )


@pytest.mark.cluster
def test_two_workers_against_one(side_by_side: SideBySide) -> None:
    dataset = peers.stored("tmc2007-500-fixed", full=side_by_side.full)
    first = list(range(300 if side_by_side.full else 4))
    two_workers_against_one(
        side_by_side,
        "nrs-stream, 300 arrivals of tmc2007-500-fixed",
        lambda: mlfs.get_selector("nrs-stream", arrival=first).fit(dataset).path_,
        rounds=1,
    )
