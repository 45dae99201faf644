"""Numbers for Prometheus, at the address where Dask has its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

from mlfs_dask.dashboard.board import Board
from mlfs_dask.dashboard.listing import STATES

_LOG = logging.getLogger(__name__)
_RUN: Final = ("run",)


def register(board: Board) -> Any:
    """Add the numbers of a board to what ``/metrics`` says; None without prometheus-client.

    Parameters
    ----------
    board
        Where the numbers come from.
    """
    try:
        from prometheus_client import REGISTRY
    except ImportError:
        _LOG.info("no numbers of runs at /metrics: prometheus-client is not installed")
        return None
    collector = RunCollector(board)
    REGISTRY.register(collector)
    return collector


def unregister(collector: Any) -> None:
    """Take them away again.

    Parameters
    ----------
    collector
        As `register` gave it.
    """
    if collector is not None:
        from prometheus_client import REGISTRY

        REGISTRY.unregister(collector)


class RunCollector:
    """Runs by state, and how far those are that are at work.

    Runs that are over are counted only: a number for each would grow for ever.

    Parameters
    ----------
    board
        Where the numbers come from; what was read last is told, and reading is asked for.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    def describe(self) -> list[Any]:
        """Nothing ahead: what there is depends on the runs."""
        return []

    def collect(self) -> Iterator[Any]:
        """Metric families, as prometheus-client wants them."""
        from prometheus_client.core import GaugeMetricFamily

        self._board.refresh_from_anywhere()
        listing = self._board.listing
        states = GaugeMetricFamily("mlfs_runs", "Runs by state", labels=["state"])
        for state in STATES:
            states.add_metric([state], listing.counts.get(state, 0))
        yield states
        at_work = [row for row in listing.rows if row.is_at_work]
        units = GaugeMetricFamily(
            "mlfs_run_units", "Units of a run that is at work", labels=["run", "kind"]
        )
        incidents = GaugeMetricFamily(
            "mlfs_run_incidents", "Incidents of a run that is at work", labels=_RUN
        )
        left = GaugeMetricFamily(
            "mlfs_run_seconds_left", "Time that it will take yet, by its pace", labels=_RUN
        )
        for row in at_work:
            for kind in ("done", "total", "failed"):
                units.add_metric([row.run, kind], getattr(row, kind))
            incidents.add_metric([row.run], row.incidents or 0)
            if row.seconds_left is not None:
                left.add_metric([row.run], row.seconds_left)
        yield from (units, incidents, left)
        yield GaugeMetricFamily(
            "mlfs_dashboard_read_seconds",
            "How long the list of runs took to read last",
            value=listing.seconds,
        )
