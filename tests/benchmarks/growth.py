"""How the time of a selection grows with the rows, in a process of its own.

What a process does once (imports, compiled kernels loaded) is done before, on the smallest stores;
no tile that an earlier selection decoded is kept, so that each selection reads its store anew. This
module is also what the process runs: ``python -m benchmarks.growth REQUEST``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.large import TESTS


def seconds_by_store(
    method: str, parameters: dict[str, Any], stores: Sequence[str], rounds: int
) -> list[float]:
    """Median seconds from opening each store to the order of the features."""
    from processes import run_command

    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    request = json.dumps([method, parameters, list(stores), rounds])
    argv = [sys.executable, "-m", "benchmarks.growth", request]
    done = run_command(argv, env={**os.environ, "PYTHONPATH": path})
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def power_of_rows(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """p of t = a + b n^p, by a line through logarithms; a is the time of the first size.

    Examples
    --------
    >>> round(power_of_rows([1, 10, 100], [0.5, 20.5, 200.5]), 6)
    1.0
    """
    rest = np.maximum(np.array(seconds[1:]) - seconds[0], 1e-6)
    return float(np.polyfit(np.log(sizes[1:]), np.log(rest), 1)[0])


def main(request: str) -> None:
    """Select from each store and print the medians."""
    import mlfs_dask as mlfs
    from mlfs_dask.graphs import source
    from mlfs_dask.graphs.tilecache import TileCache

    method, parameters, stores, rounds = json.loads(request)

    def select(store: str) -> float:
        source._cache = TileCache(source._CACHE_BYTES)
        begin = perf_counter()
        mlfs.get_selector(method, **parameters).fit(mlfs.open_dataset(store))
        return perf_counter() - begin

    for store in stores[:2]:
        select(store)
    # In turns: what slows the machine down for a while does so for stores of all sizes.
    seconds = [[select(store) for store in stores] for _ in range(rounds)]
    print(json.dumps([median(of_store) for of_store in zip(*seconds, strict=True)]))


if __name__ == "__main__":
    main(sys.argv[1])
