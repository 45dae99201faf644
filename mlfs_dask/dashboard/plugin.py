"""The plugin that gives a scheduler its pages of runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import dask
from distributed import SchedulerPlugin

from mlfs_dask.dashboard import menu, metrics
from mlfs_dask.dashboard.board import Board
from mlfs_dask.dashboard.handlers import routes
from mlfs_dask.dashboard.links import MOUNT
from mlfs_dask.dashboard.workers import Watch
from mlfs_dask.jobs.clusters.settings import DASHBOARD_RUNS
from mlfs_dask.jobs.rundir import runs_folder
from mlfs_dask.storage.places import Place, place

_LOG = logging.getLogger(__name__)
_SAMPLE_MILLISECONDS: Final = 1000
_LOOPBACK: Final = ("127.", "::1", "localhost")


class DashboardPlugin(SchedulerPlugin):
    """Serves ``/mlfs`` on the scheduler it is registered with; a second one changes nothing.

    Parameters
    ----------
    runs
        Folders of runs, as the scheduler's machine sees them. Default: the Dask setting
        ``mlfs.dashboard.runs``, else ``$MLFS_RUNS``, else ``./runs``, all of the scheduler.

    Examples
    --------
    On a scheduler that runs already::

        client.register_plugin(DashboardPlugin(runs=["/shared/runs"]))
    """

    name = "mlfs-dashboard"
    idempotent = True

    def __init__(self, runs: Iterable[str | Path] = ()) -> None:
        self.runs = tuple(str(folder) for folder in runs)

    async def start(self, scheduler: Any) -> None:
        """Add the pages, the link in Dask's menu and the metrics.

        Parameters
        ----------
        scheduler : distributed.Scheduler
            The scheduler.
        """
        from tornado.ioloop import PeriodicCallback
        from tornado.web import Application

        self._scheduler = scheduler
        folders = served_folders(self.runs)
        self._watch = Watch(scheduler)
        self._board = Board(folders, self._watch)
        prefix = menu.prefix_of(scheduler)
        dask_pages = "../status" if menu.add_link(scheduler) else None
        self._application = Application(routes(self._board, prefix=prefix, dask=dask_pages))
        self._applications = scheduler.http_application.applications
        # Before Dask's own, whose pattern for pages that are not there takes all that is left.
        self._applications.insert(0, self._application)
        self._collector = metrics.register(self._board)
        self._sampling = PeriodicCallback(self._sample, _SAMPLE_MILLISECONDS)
        self._sampling.start()
        self._board.warm_up()
        _warn_if_open(scheduler)
        _LOG.debug("runs of %s are shown at %s%s", ", ".join(map(str, folders)), prefix, MOUNT)

    async def close(self) -> None:
        """Take all of it away again."""
        if self._application in self._applications:
            self._sampling.stop()
            self._applications.remove(self._application)
            menu.remove_link(self._scheduler)
            metrics.unregister(self._collector)
            self._board.close()

    async def _sample(self) -> None:
        """Look at the workers; go with the pages once the plugin is unregistered.

        Dask forgets a plugin without a word to it.
        """
        if self in self._scheduler.plugins.values():
            self._watch.sample()
        else:
            await self.close()

    def log_event(self, topic: str, msg: Any) -> None:
        """Hear which workers are lost.

        Parameters
        ----------
        topic, msg
            What the scheduler logs.
        """
        if topic == "all":
            self._watch.heard(msg)


def served_folders(given: Iterable[str] = ()) -> tuple[Place, ...]:
    """Folders of runs, by argument, else by Dask setting, else as all commands find them.

    Parameters
    ----------
    given
        Folders that were named.

    Examples
    --------
    >>> served_folders(["/shared/runs"])
    (PosixPath('/shared/runs'),)
    """
    found = tuple(given) or dask.config.get(DASHBOARD_RUNS, None) or (str(runs_folder()),)
    if isinstance(found, str):
        found = (found,)
    return tuple(place(folder).absolute() for folder in dict.fromkeys(map(str, found)))


def _warn_if_open(scheduler: Any) -> None:
    """A cluster with TLS whose pages are plain and open to others is half closed only."""
    server = scheduler.http_server
    if (
        scheduler.address.startswith("tls:")
        and server.ssl_options is None
        and not server.address.startswith(_LOOPBACK)
    ):
        _LOG.warning(
            "connections to this scheduler are encrypted, its pages at %s:%s are not: bind them "
            "to 127.0.0.1 by --dashboard-address, or give distributed.scheduler.dashboard.tls a "
            "certificate",
            server.address,
            server.port,
        )
