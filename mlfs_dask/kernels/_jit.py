"""The one place that decides how kernels are compiled.

``nogil`` lets Dask's worker threads run kernels side by side and keeps heartbeats alive;
``fastmath`` stays off because it removes NaN tests and lets the order of float sums depend on the
processor; ``parallel`` stays off because threads belong to the executor. Compiled code is cached
beside the modules or, where that folder cannot be written, in the user's cache folder: numba
raises at import when it finds neither.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from mlfs_dask.kernels._cache import drop_stale

F = TypeVar("F", bound=Callable[..., Any])


def _ensure_cache_dir() -> None:
    """Point numba to a writable cache before the first decorator runs."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    beside = Path(__file__).parent / "__pycache__"
    probe = beside if beside.exists() else beside.parent
    if os.access(probe, os.W_OK):
        return
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    candidates = [
        Path(base) / "mlfs-dask" / "numba",
        Path(tempfile.gettempdir()) / f"mlfs-dask-numba-{os.getuid()}",
    ]
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        # Compiled code is loaded from here: a folder that others can write is not ours to trust.
        if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK):
            os.environ["NUMBA_CACHE_DIR"] = str(folder)
            return


_ensure_cache_dir()

import numba  # noqa: E402  the cache folder must be known before numba is configured


def _drop_stale() -> None:
    """Look where numba keeps the kernels: beside them, or in a folder named after theirs."""
    sources = Path(__file__).parent
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        from numba.core.caching import _CacheLocator

        cache = Path(given) / _CacheLocator.get_suitable_cache_subpath(  # type: ignore[no-untyped-call]
            __file__
        )
    else:
        cache = sources / "__pycache__"
    drop_stale(sources, cache)


_drop_stale()


def jit(function: F) -> F:
    """Compile a kernel with the project's options: nopython, nogil, cached, strict floats."""
    return cast("F", numba.njit(nogil=True, cache=True, fastmath=False)(function))


def inline(function: F) -> F:
    """Compile a small helper that is inlined into the kernels that call it."""
    return cast("F", numba.njit(nogil=True, cache=True, fastmath=False, inline="always")(function))


def merged(function: F) -> F:
    """Compile a helper whose machine code becomes part of the kernels that call it.

    For helpers of inner loops that take arrays: a call would count their references up and down,
    which takes a hundred times as long as what the helper does.
    """
    compiled = numba.njit(nogil=True, cache=True, fastmath=False, forceinline=True)(function)
    return cast("F", compiled)
