"""Multi-label feature selection from a laptop to a Dask cluster.

Importing this module is cheap: public names load what they need on first use, so neither dask nor
numba is imported here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> where it lives ("module" for a module, "module:attribute" for anything else).
_PUBLIC = {
    "errors": "mlfs_dask.errors",
    "get_classifier": "mlfs_dask.registry:get_classifier",
    "get_selector": "mlfs_dask.registry:get_selector",
    "metrics": "mlfs_dask.evaluate.metrics",
    "open_dataset": "mlfs_dask.storage.dataset:open_dataset",
    "open_run": "mlfs_dask.jobs.results:open_run",
    "stats": "mlfs_dask.evaluate.stats",
}

if TYPE_CHECKING:
    from mlfs_dask import errors as errors
    from mlfs_dask.evaluate import metrics as metrics
    from mlfs_dask.evaluate import stats as stats
    from mlfs_dask.jobs.results import open_run as open_run
    from mlfs_dask.registry import get_classifier as get_classifier
    from mlfs_dask.registry import get_selector as get_selector
    from mlfs_dask.storage.dataset import open_dataset as open_dataset

__all__ = [  # noqa: RUF022  grouped by what users do: open, select, judge
    "__version__",
    "open_dataset",
    "open_run",
    "get_selector",
    "get_classifier",
    "metrics",
    "stats",
    "errors",
]


def __getattr__(name: str) -> Any:
    target = _PUBLIC.get(name)
    if target is None:
        raise AttributeError(f"module 'mlfs_dask' has no attribute {name!r}")
    module, _, attribute = target.partition(":")
    value = importlib.import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
