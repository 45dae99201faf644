"""How processes of a cluster are set up: Dask's settings, threads, the coordinator's resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlfs_dask.resources import declaration

COORDINATOR: Final = "COORD"
"""Resource of a worker that lets it hold coordinators; eight at a time where it has one of it."""

COORDINATOR_SHARE: Final = 0.125
"""What a coordinator takes of it: little, since it waits more than it works."""

ONE_THREAD: Final[Mapping[str, str]] = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""Environment of a worker: its tasks fill the cores, so libraries shall not."""

DASHBOARD: Final = "mlfs_dask.dashboard.preload"
"""Module that gives a scheduler its pages of runs: named, not imported, since it lies above."""

PAUSED: Final = "mlfs_dask.jobs.paused"
"""Module that has workers which Dask paused for good start anew."""

DASHBOARD_RUNS: Final = "mlfs.dashboard.runs"
"""Setting that tells it which folders of runs to show."""

ALLOWED_FAILURES: Final = 10
"""Workers that a task may lose before the scheduler gives it up: what a night of work needs."""


def dask_settings() -> dict[str, Any]:
    """Settings of Dask that all deployments share, by dotted key.

    Examples
    --------
    >>> dask_settings()["distributed.scheduler.allowed-failures"]
    10
    """
    from dask.config import collect_yaml

    (tree,) = collect_yaml([str(declaration("deploy/dask.yaml"))])
    return dict(_flat(tree, ""))


def as_environment(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings of Dask as variables of the environment.

    Parameters
    ----------
    settings
        By dotted key.

    Examples
    --------
    >>> as_environment({"distributed.comm.require-encryption": True})
    {'DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION': 'True'}
    """
    return {
        "DASK_" + key.upper().replace("-", "_").replace(".", "__"): str(value)
        for key, value in settings.items()
    }


def _flat(tree: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
