"""Workers that Dask has paused for good start anew.

Dask pauses a worker at 80 % of its memory until some of it is set free. What kernels leave behind
that a process has compiled itself is never set free: where workers are small and nothing is in the
cache of compiled code yet, a worker that was asked for many methods waits for ever, and so does
whoever waits for its tasks. A process that starts anew loads what the old one has compiled, in a
fraction of the memory. Its tasks are done elsewhere or again, as those of any lost worker.

``dask worker --preload mlfs_dask.jobs.paused`` does the same on clusters of any kind.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

_LOG: Final = logging.getLogger(__name__)
_LOOK_MILLISECONDS: Final = 1000
_NAME: Final = "mlfs-paused"
PATIENCE: Final = 20.0
"""Seconds: memory that can be set free, by spilling or by a task that ends, is free by then."""


@dataclass
class Patience:
    """Since when a worker is paused with nothing at work.

    Attributes
    ----------
    seconds
        How long that may last.
    clock
        Seconds; replaced in tests.
    """

    seconds: float = PATIENCE
    clock: Callable[[], float] = monotonic
    _since: float | None = None

    def is_over(self, *, waits: bool) -> bool:
        """Whether the worker has waited for too long.

        Parameters
        ----------
        waits
            Whether it is paused and does nothing, as of now.
        """
        if not waits:
            self._since = None
            return False
        if self._since is None:
            self._since = self.clock()
        return self.clock() - self._since >= self.seconds


def waits_in_vain(worker: Any) -> bool:
    """Whether a worker is paused while no task is at work whose end may free memory.

    Parameters
    ----------
    worker
        A Dask worker.
    """
    from distributed.core import Status

    state = worker.state
    return worker.status is Status.paused and not state.executing and not state.long_running


def watch(worker: Any, seconds: float = PATIENCE) -> None:
    """Have a worker that waits in vain end, so that its nanny starts another one.

    Parameters
    ----------
    worker
        A Dask worker; one without a nanny is left alone.
    seconds
        How long it may wait.
    """
    from tornado.ioloop import PeriodicCallback

    if worker.nanny is None:
        return
    patience = Patience(seconds)

    def look() -> None:
        if patience.is_over(waits=waits_in_vain(worker)):
            _LOG.warning(
                "This worker was paused for %g s at its limit of memory with nothing at work: "
                "it starts anew. Give workers more memory if this happens again.",
                seconds,
            )
            logging.shutdown()
            os._exit(1)

    callback = PeriodicCallback(look, _LOOK_MILLISECONDS)
    worker.periodic_callbacks[_NAME] = callback
    callback.start()


def dask_setup(worker: Any) -> None:
    """Called by Dask where this module is preloaded."""
    watch(worker)
