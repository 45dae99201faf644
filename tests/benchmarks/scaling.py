"""How a method grows with the rows, and what a second worker brings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.side_by_side import Row, SideBySide, faster, show_seconds
from mlfs_dask.graphs.source import Source


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
    side_by_side: SideBySide, what: str, path_of: Callable[[], list[dict[str, Any]]]
) -> None:
    """A row for the path of a search on clusters of two workers and of one."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        clients = {}
        for workers in (1, 2) if side_by_side.full else (2,):
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            )
            stack.enter_context(cluster)
            clients[workers] = stack.enter_context(Client(cluster, set_as_default=False))

        def on(client: Client) -> list[dict[str, Any]]:
            with client.as_current():
                return path_of()

        def agree(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
            assert repr(ours) == repr(theirs)

        side_by_side.compare(
            f"{what}, two workers",
            ours=lambda: on(clients[2]),
            peers={"one worker": lambda: on(clients.get(1, clients[2]))},
            bounds={"one worker": faster(1.7)},
            agree={"one worker": agree},
            repeats=3,
        )
