"""What a job sees of a data set: its rows with injected cells and costs, its folds, its points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.grouped import read_groups
from mlfs_dask.evaluate.points import feature_counts
from mlfs_dask.evaluate.protocol import Splitting
from mlfs_dask.evaluate.splits import Fold
from mlfs_dask.graphs.source import MissingCells, Source, as_source
from mlfs_dask.jobs.costs import draw_costs, read_costs
from mlfs_dask.jobs.inputs import COSTS, GROUPS, check_file
from mlfs_dask.jobs.spec import STORE_COSTS, Costs, Features, InputFile, Job
from mlfs_dask.storage.atomic import fetched
from mlfs_dask.storage.dataset import Dataset


def rows_of(job: Job, dataset: Dataset) -> Source:
    """All rows of a data set as the job has them: cells missing, costs attached.

    Parameters
    ----------
    job
        Resolved job.
    dataset
        Opened store.

    Raises
    ------
    InputError
        No costs in the store although the job wants them; a file of costs that does not fit.
    """
    rows = as_source(dataset)
    if injects_missing(job):
        assert job.data.missing is not None
        rows = rows.with_missing(MissingCells(job.seed, job.data.missing.rate))
    costs = costs_of(job, dataset)
    return rows if costs is None else rows.with_costs(costs)


def injects_missing(job: Job) -> bool:
    """Whether a job makes cells missing.

    Parameters
    ----------
    job
        Resolved job.
    """
    return job.data.missing is not None and job.data.missing.rate > 0


def costs_of(job: Job, dataset: Dataset) -> FloatArray | None:
    """Costs of the features of a data set; None where it has none.

    Parameters
    ----------
    job
        Resolved job.
    dataset
        Opened store.

    Returns
    -------
    ndarray of float64, shape (n_features,), or None

    Raises
    ------
    InputError
        As `rows_of`.
    """
    costs = job.data.costs
    if isinstance(costs, Costs):
        return draw_costs(costs, dataset.n_features, job.seed)
    if costs is not None and costs != STORE_COSTS:
        grows = job.follows(dataset.name)
        return _read_costs(job.files[COSTS], dataset.feature_names, may_name_others=grows)
    if costs == STORE_COSTS and dataset.feature_cost is None:
        raise InputError(
            "the store has no costs of its features",
            hint="Draw them from a distribution, or name a CSV file.",
        )
    return dataset.feature_cost


def splitting_of(job: Job, dataset: Dataset) -> Splitting:
    """How a job with an [evaluate] table parts the rows of a data set.

    Parameters
    ----------
    job
        Resolved job.
    dataset
        Opened store.

    Raises
    ------
    InputError
        A file of groups that does not fit.
    """
    assert job.evaluate is not None
    split = job.evaluate.split
    return Splitting(
        split.kind,
        split.folds,
        split.repeats,
        job.seed,
        Y=dataset.Y if split.kind == "iterative" else None,
        codes=_read_groups(job.files[GROUPS], dataset.n_samples) if split.column else None,
    )


def fold_of(job: Job, dataset: Dataset, repeat: int, fold: int) -> Fold:
    """One fold of a data set.

    Parameters
    ----------
    job
        Resolved job with an [evaluate] table.
    dataset
        Opened store.
    repeat, fold
        0-based.

    Raises
    ------
    InputError
        More folds than rows; no split in the store; groups that do not fit.
    """
    splitting = splitting_of(job, dataset)
    marks = dataset.split if splitting.kind == "holdout" else None
    return splitting.fold((repeat, fold), dataset.n_samples, marks)


def folds_of(job: Job, dataset: Dataset) -> Iterator[Fold]:
    """All folds of a data set, one after the other.

    Parameters
    ----------
    job
        Resolved job with an [evaluate] table.
    dataset
        Opened store.
    """
    for repeat, fold in splitting_of(job, dataset).numbers():
        yield fold_of(job, dataset, repeat, fold)


@lru_cache(maxsize=256)
def counts_of(features: Features, n_features: int) -> tuple[int, ...]:
    """At how many features rankings are judged where the job itself says it, ascending.

    Parameters
    ----------
    features
        With ``fractions`` or ``counts``.
    n_features
        Of the data set.

    Raises
    ------
    InputError
        A count above the number of features.
    """
    counts = feature_counts(n_features, fractions=features.fractions, counts=features.counts)
    return tuple(sorted(counts))


def says_counts(features: Features) -> bool:
    """Whether numbers of features are known before anything is selected.

    Parameters
    ----------
    features
        Of the job or of one selector.
    """
    return features.fractions is not None or features.counts is not None


@lru_cache(maxsize=8)
def _read_costs(
    file: InputFile, feature_names: tuple[str, ...], *, may_name_others: bool
) -> FloatArray:
    with fetched(check_file(file)) as path:
        costs = read_costs(path, feature_names, may_name_others=may_name_others)
    costs.flags.writeable = False
    return costs


@lru_cache(maxsize=8)
def _read_groups(file: InputFile, n_samples: int) -> IntArray:
    with fetched(check_file(file)) as path:
        codes: IntArray = np.asarray(read_groups(path, n_samples))
    codes.flags.writeable = False
    return codes
