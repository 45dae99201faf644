"""How a method grows with the rows, and what a second worker brings."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.side_by_side import Row, SideBySide, Timing, faster, row_of, show_seconds
from mlfs_dask.graphs.source import Source

_CLUSTERS = 3


def growth_with_rows(
    side_by_side: SideBySide, what: str, source: Source, run: Callable[[Source], Any]
) -> None:
    """A row for the exponent of a line through the logarithms of rows and seconds."""
    sizes = (5_000, 10_000, 20_000) if side_by_side.full else (20, 40)
    seconds = []
    for size in sizes:
        rows = np.sort(np.random.default_rng(0).permutation(source.n_samples)[:size])
        taken = source.take(rows)
        times = []
        for _ in range(3 if side_by_side.full else 1):
            begin = perf_counter()
            run(taken)
            times.append(perf_counter() - begin)
        seconds.append(median(times))
    if not side_by_side.full:
        return
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    side_by_side.rows.append(
        Row(
            what=f"{what}, 5,000 to 20,000 rows",
            ours=" / ".join(map(show_seconds, seconds)),
            against="",
            theirs="",
            result=f"n to the power of {exponent:.2f}",
            asked="at most 2.1",
            met=exponent <= 2.1,
        )
    )


def two_workers_against_one(
    side_by_side: SideBySide,
    what: str,
    path_of: Callable[[], list[dict[str, Any]]],
    rounds: int = 3,
) -> None:
    """A row for the path of a search on two workers and on one.

    Each cluster is alone and warm while its rounds are timed, so these do not take turns: two cores
    have no room for a second cluster, which costs a tenth of them even while it waits. Clusters
    take turns, several of each, as one may be a tenth slower than the next of its kind.
    """
    paths: dict[int, str] = {}
    seconds: dict[int, list[float]] = {2: [], 1: []}
    for _ in range(_CLUSTERS if side_by_side.full else 1):
        for workers in (2, 1) if side_by_side.full else (2,):
            path, times = _on_workers(workers, path_of, rounds if side_by_side.full else 0)
            assert paths.setdefault(workers, path) == path
            seconds[workers] += times
    if not side_by_side.full:
        assert paths[2] == repr(path_of())  # in this process
        return
    assert paths[2] == paths[1]
    ours, theirs = (Timing(name, tuple(seconds[n])) for n, name in ((2, "ours"), (1, "one worker")))
    side_by_side.rows.append(row_of(f"{what}, two workers", ours, theirs, faster(1.7)))


def _on_workers(
    workers: int, path_of: Callable[[], list[dict[str, Any]]], rounds: int
) -> tuple[str, list[float]]:
    """The path that a new cluster finds, and its seconds once it is warm."""
    from distributed import Client, LocalCluster

    seconds = []
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with cluster, Client(cluster):
        path = repr(path_of())
        for _ in range(rounds):
            gc.collect()
            begin = perf_counter()
            path_of()
            seconds.append(perf_counter() - begin)
    return path, seconds
