"""One BLAS thread while a score is computed.

The last bits of a matrix product depend on how many threads share it, and a cluster's slots are
already taken by tasks. The limit is a property of the process, so tasks that overlap count
themselves in and out: the first sets it, the last lifts it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import threadpoolctl


class _Limit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before: list[int] = []

    def enter(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = [library.num_threads for library in _libraries()]
                _set_threads([1] * len(self._before))
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                _set_threads(self._before)


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  its BLAS must be loaded before the look-up

    controller = threadpoolctl.ThreadpoolController().select(user_api="blas")
    return list(controller.lib_controllers)


def _set_threads(counts: Sequence[int]) -> None:
    # Newer versions let only the first thread that sets a limit change it again, and ignore the
    # others without a word. Here the first and the last user may be different threads.
    disown = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if disown is not None:
        disown(force=True)
    for library, count in zip(_libraries(), counts, strict=True):
        library.set_num_threads(count)
    if disown is not None:
        disown(force=True)


_limit = _Limit()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold the BLAS libraries of this process to one thread; may be nested and shared by threads.

    Examples
    --------
    >>> import numpy as np
    >>> with single_blas_thread():
    ...     product = np.ones((2, 2)) @ np.ones((2, 2))
    >>> product.tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()
