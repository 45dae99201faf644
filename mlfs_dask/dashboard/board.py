"""What the handlers ask: reads runs in a thread of its own, so that the event loop never waits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, TypeVar

from mlfs_dask.dashboard.listing import Listing, Runs
from mlfs_dask.dashboard.workers import Cluster, Watch
from mlfs_dask.storage.places import Place

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_FRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 0.05
_RUN_PATIENCE_SECONDS: Final = 2.0
_READERS_KEPT: Final = 32


class NotReadYetError(Exception):
    """Reading takes longer than a page should wait; it goes on."""


class Board:
    """Runs and cluster, ready to be shown; to be used on one event loop.

    Files are read by one thread, pages are made by another. Neither is waited for long: what was
    read last is shown meanwhile.

    Parameters
    ----------
    folders
        Folders of runs.
    watch
        Of the scheduler's workers.
    """

    def __init__(self, folders: Sequence[Place], watch: Watch) -> None:
        self.runs = Runs(folders)
        self._watch = watch
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="mlfs-dashboard-read")
        self._making = ThreadPoolExecutor(1, thread_name_prefix="mlfs-dashboard-make")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loaded: asyncio.Future[Any] | None = None
        self._refresh: asyncio.Future[None] | None = None
        self._refreshed = -_FRESH_SECONDS
        self._readers: OrderedDict[str, Any] = OrderedDict()
        self._pending: dict[str, asyncio.Future[Any]] = {}

    def close(self) -> None:
        """End the threads, without waiting for what they do."""
        for executor in (self._reading, self._making):
            executor.shutdown(wait=False, cancel_futures=True)

    def cluster(self) -> Cluster:
        """The cluster as it is now."""
        return self._watch.look()

    @property
    def listing(self) -> Listing:
        """What was read last."""
        return self.runs.listing

    def refresh(self) -> asyncio.Future[None]:
        """Have the list read again, unless that is going on or was done just now."""
        if self._refresh is None or (
            self._refresh.done() and time.monotonic() - self._refreshed > _FRESH_SECONDS
        ):
            self._refresh = self._in_thread(self._reading, self.runs.refresh)
            self._refresh.add_done_callback(self._note_refreshed)
        return self._refresh

    def _note_refreshed(self, future: asyncio.Future[None]) -> None:
        self._refreshed = time.monotonic()
        if not future.cancelled() and (error := future.exception()) is not None:
            _LOG.error("the list of runs was not read", exc_info=error)

    async def fresh_listing(self) -> Listing:
        """The list as it is now; if reading takes long, as it was when it was read last."""
        await asyncio.wait([self.refresh()], timeout=_PATIENCE_SECONDS)
        return self.runs.listing

    async def run(self, key: str) -> Any:
        """A run as it is now; None if there is no such run.

        Parameters
        ----------
        key
            As asked for.

        Raises
        ------
        NotReadYetError
            Its journal is long, and was not read to its end yet.
        MlfsError
            A file of it is damaged.
        """
        if self.runs.find(key) is None:
            await asyncio.wait([self.refresh()], timeout=_RUN_PATIENCE_SECONDS)
            if self.runs.find(key) is None:
                return None
        future = self._pending.get(key)
        if future is None:
            future = self._in_thread(self._reading, lambda: self._read(key))
            self._pending[key] = future
            future.add_done_callback(lambda future: self._note_read(key, future))
        done, _ = await asyncio.wait([future], timeout=_RUN_PATIENCE_SECONDS)
        if not done:
            raise NotReadYetError
        return future.result()

    def _note_read(self, key: str, future: asyncio.Future[Any]) -> None:
        """Ask for the error too: whoever waited for it may have gone."""
        self._pending.pop(key, None)
        if not future.cancelled():
            future.exception()

    def _read(self, key: str) -> Any:
        from mlfs_dask.dashboard.view import RunReader  # loaded by now, and not before it is needed

        for gone in [known for known in self._readers if self.runs.find(known) is None]:
            del self._readers[gone]
        folder = self.runs.find(key)
        if folder is None:
            return None
        reader = self._readers.pop(key, None)
        if reader is None or not reader.is_of(folder):
            reader = RunReader(key, folder)
        self._readers[key] = reader
        while len(self._readers) > _READERS_KEPT:
            self._readers.popitem(last=False)
        return reader.read()

    async def make(self, render: Callable[[], T]) -> T:
        """What a function gives, called where it holds up nothing.

        Parameters
        ----------
        render
            Makes a page or a document.
        """
        return await self._in_thread(self._making, render)

    def refresh_from_anywhere(self) -> None:
        """Have the list read again; may be called in any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.refresh)

    def warm_up(self) -> None:
        """Load what pages need and read the runs, before anybody asks."""
        self._loop = asyncio.get_running_loop()
        self._loaded = self._in_thread(self._making, _load)
        self.refresh()

    async def pages(self) -> Any:
        """The module `mlfs_dask.dashboard.pages`, which a thread has loaded."""
        assert self._loaded is not None, "warm_up was not called"
        return await self._loaded

    @staticmethod
    def _in_thread(executor: ThreadPoolExecutor, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(executor, work)


def _load() -> Any:
    import_module("mlfs_dask.dashboard.view")
    return import_module("mlfs_dask.dashboard.pages")
