"""Time on one and on two workers, predicted from measured tasks, bytes and latencies."""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import pytest

from benchmarks import peers
from benchmarks.recorded import selection, work_on_workers
from benchmarks.side_by_side import Row, SideBySide, show_seconds
from mlfs_dask.graphs.executor import OnCluster, available_cores
from mlfs_dask.jobs.calibrate import cluster_rates
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.scaling import elapsed

_NEAR = 0.15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("laplacian", {}),
        ("nrs-cost", {}),
        ("spec", {"similarity": "rbf-labels", "road": "pairs"}),
    ],
)
def test_one_and_two_workers(side_by_side: SideBySide, method: str, params: dict[str, Any]) -> None:
    dataset = peers.stored("tmc2007-500-fixed", full=side_by_side.full)
    select = selection(method, params, dataset.path)
    work = work_on_workers(method, params, dataset.path, warm=side_by_side.full)
    rates = Rates(**cluster_rates())
    for workers in (1, 2):
        predicted = elapsed(work, workers, rates, available_cores()).seconds
        assert predicted > 0
        measured = _on_workers(workers, select, repeats=3 if side_by_side.full else 1)
        if side_by_side.full:
            off = predicted / measured - 1
            side_by_side.rows.append(
                Row(
                    what=f"{method}, {workers} worker{'s' * (workers > 1)}: predicted and measured",
                    ours=show_seconds(predicted),
                    against="measured",
                    theirs=show_seconds(measured),
                    result=f"{off:+.0%}",
                    asked=f"within {_NEAR:.0%}",
                    met=abs(off) <= _NEAR,
                )
            )


def _on_workers(workers: int, select: Callable[[Any], Any], *, repeats: int) -> float:
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
    return median(times)
