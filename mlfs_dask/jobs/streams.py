"""Random streams: one per unit, derived from the job's seed and what the unit is.

No stream depends on the order or place in which units run, so results are equal for any number of
workers and after any resume. The first number of a spawn key says what a stream is for: 0 folds
(:mod:`mlfs_dask.evaluate.splits`), 1 costs, 2 missing cells (:mod:`mlfs_dask.graphs.missing`), 3
selectors, 4 classifiers, 5 synthetic data.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from mlfs_dask.graphs.missing import missing_stream

__all__ = ["classifier_stream", "costs_stream", "missing_stream", "selector_stream"]

_COSTS: Final = 1
_SELECTOR: Final = 3
_CLASSIFIER: Final = 4
_ALL_ROWS: Final = 2**32 - 1


def costs_stream(seed: int) -> np.random.SeedSequence:
    """Seed of the generator that draws the costs of the features.

    Parameters
    ----------
    seed
        Of the job.

    Examples
    --------
    >>> costs_stream(0).spawn_key
    (1,)
    """
    return _sequence(seed, _COSTS)


def selector_stream(
    seed: int, label: str, repeat: int | None, fold: int | None
) -> np.random.SeedSequence:
    """Seed of a selector's generator; ``default_rng`` of it is the stream.

    Parameters
    ----------
    seed
        Of the job.
    label
        Of the selector.
    repeat, fold
        Both None for the selection on all rows.

    Examples
    --------
    >>> selector_stream(0, "spec", None, None).spawn_key
    (3, 3222148926, 4294967295, 4294967295)
    """
    return _sequence(seed, _SELECTOR, _crc(label), _number(repeat), _number(fold))


def classifier_stream(
    seed: int, label: str, repeat: int, fold: int, unit: int | None = None
) -> np.random.SeedSequence:
    """Seed of a classifier's generator, or of one of its models'.

    Parameters
    ----------
    seed
        Of the job.
    label
        Of the classifier.
    repeat, fold
        Where it is trained.
    unit
        Number of the model; None: what a classifier is given, which appends the number itself.
    """
    numbers = () if unit is None else (unit,)
    return _sequence(seed, _CLASSIFIER, _crc(label), repeat, fold, *numbers)


def _sequence(seed: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=key)


def _crc(label: str) -> int:
    return zlib.crc32(label.encode())


def _number(index: int | None) -> int:
    return _ALL_ROWS if index is None else index
