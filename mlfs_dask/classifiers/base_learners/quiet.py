"""Warnings of scikit-learn that a model tells as notes instead, or that say nothing here.

The filters of Python's warnings belong to the whole process, so threads that overlap count
themselves in and out: the first sets the filter, the last lifts it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning


class _Filter:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                for category in (ConvergenceWarning, LinAlgWarning):
                    warnings.simplefilter("ignore", category)
                # Line searches warn by several classes, one of them UserWarning itself.
                warnings.filterwarnings("ignore", "(?i).*line.search")
                # scikit-learn 1.7 asks SciPy for L-BFGS in words of old.
                warnings.filterwarnings("ignore", "scipy.optimize: The `disp`")
                # Label sets that few rows share are classes all the same.
                warnings.filterwarnings("ignore", "The number of unique classes is greater")
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._before.__exit__(None, None, None)


_filter = _Filter()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings of early stops, singular matrices and classes of few rows.

    Whoever uses this looks at the result and says what there is to say. May be nested and shared
    by threads.

    Examples
    --------
    >>> with quiet():
    ...     warnings.warn("not converged", ConvergenceWarning)
    """
    _filter.enter()
    try:
        yield
    finally:
        _filter.leave()
