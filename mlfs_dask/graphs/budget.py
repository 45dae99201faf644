"""How much memory a process may use, and what follows for the size of what it keeps.

Constants of this package say what is kept where memory is ample: rows prepared once, distances,
decoded tiles. A process with less keeps its share of that, and makes the rest anew when it is
needed; no number depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

AMPLE: Final = 4 * 2**30
"""Bytes of a process from which on nothing is made smaller."""
NOTHING: Final = 1
"""Bytes of a process that keeps nothing: it looks at rows once."""

_given: Final[ContextVar[int | None]] = ContextVar("mlfs_memory", default=None)


def share_of(limit: int | None) -> float:
    """Share of what is kept with ample memory.

    Parameters
    ----------
    limit
        Bytes that a process may use; None: ample.

    Examples
    --------
    >>> share_of(2**30), share_of(None), share_of(2**40)
    (0.25, 1.0, 1.0)
    """
    return 1.0 if limit is None else min(1.0, limit / AMPLE)


def room(ample: int, executor: Any = None) -> int:
    """Bytes that may be kept.

    Parameters
    ----------
    ample
        The same where memory is ample.
    executor
        Whose workers keep it; default: this process.

    Examples
    --------
    >>> with use_memory(2**30):
    ...     room(4096)
    1024
    """
    return int(ample * share_of(getattr(executor, "memory_bytes", None) or memory_limit()))


def room_of_all(ample: int, executor: Any) -> int:
    """Bytes that all workers may keep together; threads of one process share what it may.

    Parameters
    ----------
    ample
        What each process may keep where memory is ample.
    executor
        Whose workers keep it.

    Examples
    --------
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> with use_memory(2**30):
    ...     room_of_all(4096, InProcess(8))
    1024
    """
    processes = executor.n_workers if hasattr(executor, "memory_bytes") else 1
    return room(ample, executor) * processes


@contextmanager
def use_memory(limit: int | None) -> Iterator[None]:
    """Have `memory_limit` say so while the block runs.

    Parameters
    ----------
    limit
        Bytes; None: nothing is said.
    """
    before = _given.set(limit)
    try:
        yield
    finally:
        _given.reset(before)


def limit_memory(limit: int | None) -> None:
    """Have `memory_limit` say so in this thread from now on: what a pool of threads begins with.

    Parameters
    ----------
    limit
        Bytes; None: nothing is said.
    """
    _given.set(limit)


def memory_limit() -> int | None:
    """Bytes that this process may use: of `use_memory`, or of the Dask worker it is."""
    given = _given.get()
    if given is not None or "distributed" not in sys.modules:
        return given
    from distributed import get_worker

    try:
        manager = get_worker().memory_manager
    except ValueError:
        return None
    limit: int | None = getattr(manager, "memory_limit", None)
    return limit or None
