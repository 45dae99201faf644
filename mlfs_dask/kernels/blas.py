"""One BLAS thread while a score is computed.

The last bits of a matrix product depend on how many threads share it, and a cluster's slots are
already taken by tasks. The limit is a property of the process, so tasks that overlap count
themselves in and out: the first sets it, the last lifts it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
                self._limiter.__enter__()
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limiter.__exit__(None, None, None)
                self._limiter = None


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  its BLAS must be loaded before the look-up

    return ThreadpoolController()


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
