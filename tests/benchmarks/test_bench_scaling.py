"""Time on one and on two workers, predicted from measured tasks, bytes and latencies."""

from collections.abc import Callable
from functools import lru_cache
from statistics import median
from time import perf_counter
from typing import Any

import pytest

from benchmarks import peers
from benchmarks.large import LargeStores
from benchmarks.recorded import selection, work_on_workers
from benchmarks.side_by_side import Row, SideBySide, show_seconds
from benchmarks.test_bench_million import SHAPES, SHOWN, Synthetic
from mlfs_dask.graphs.executor import OnCluster, available_cores
from mlfs_dask.jobs.cluster_rates import cluster_rates
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.scaling import elapsed

_NEAR = 0.15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("laplacian", {}, "tmc2007-500-fixed"),
        ("mlrelieff", {}, "tmc2007-500-fixed"),
        ("nrs-cost", {}, "tmc2007-500-fixed"),
        ("spec", {"similarity": "rbf-labels", "road": "pairs"}, "tmc2007-500-fixed"),
        ("mddm", {"constraint": "proj"}, "sparse"),
        ("mddm", {"constraint": "proj"}, "dense"),
        ("nrs-stream", {"arrival": list(range(12))}, "yeast"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_and_two_workers(
    side_by_side: SideBySide, large: LargeStores, method: str, params: dict[str, Any], name: str
) -> None:
    if name in SHAPES:
        path, name = Synthetic(large, name).store(1_000_000), f"1,000,000 samples, {SHOWN[name]}"
    else:
        path = peers.stored(name, full=side_by_side.full).path
    select = selection(method, params, path)
    rates = _rates()
    predicted = {
        workers: elapsed(
            work_on_workers(method, params, path, workers=workers, warm=side_by_side.full),
            workers,
            rates,
            available_cores(),
        ).seconds
        for workers in (1, 2)
    }
    assert all(seconds > 0 for seconds in predicted.values())
    measured: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(2 if side_by_side.full else 1):  # in turns
        for workers, seconds in measured.items():
            seconds += _on_workers(workers, select, repeats=3 if side_by_side.full else 1)
    if not side_by_side.full:
        return
    for workers, seconds in measured.items():
        off = predicted[workers] / median(seconds) - 1
        spread = f"{show_seconds(min(seconds))} to {show_seconds(max(seconds))}"
        side_by_side.rows.append(
            Row(
                what=f"{method}, {name}, {workers} worker{'s' * (workers > 1)}: predicted",
                ours=show_seconds(predicted[workers]),
                against="measured",
                theirs=f"{show_seconds(median(seconds))} ({spread})",
                result=f"{off:+.0%}",
                asked=f"within {_NEAR:.0%}",
                met=abs(off) <= _NEAR,
            )
        )


@lru_cache(maxsize=1)
def _rates() -> Rates:
    measured: dict[str, Any] = {**cluster_rates()}
    return Rates(**measured)


def _on_workers(workers: int, select: Callable[[Any], Any], *, repeats: int) -> list[float]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        first = select(OnCluster(client))
        times = []
        for _ in range(repeats):
            begin = perf_counter()
            assert select(OnCluster(client)) == first
            times.append(perf_counter() - begin)
    return times
