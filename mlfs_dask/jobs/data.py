"""The data sets of a job: opened, and checked against what the job wants of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from mlfs_dask import registry
from mlfs_dask.errors import MlfsError
from mlfs_dask.evaluate.points import feature_counts
from mlfs_dask.evaluate.protocol import Splitting
from mlfs_dask.evaluate.splits import Fold
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.spec import Evaluate, Job, Method
from mlfs_dask.storage.dataset import Dataset, open_dataset


def open_datasets(job: Job, file: str = "job") -> list[Dataset]:
    """Open all data sets of a job and check that the job can run on them.

    Parameters
    ----------
    job
        Resolved job.
    file
        Name of the job file, for messages.

    Raises
    ------
    NotFoundError, StoreError
        A store that is not there or cannot be opened.
    JobFileError
        The job asks for what a data set cannot give.
    """
    datasets = [open_dataset(store) for store in job.data.stores]
    problems = Problems(file)
    seen: dict[str, str] = {}
    for dataset in datasets:
        if dataset.name in seen:
            problems.add(
                "data.store",
                f"{dataset.path} and {seen[dataset.name]} are both named {dataset.name!r}, which "
                "tables could not tell apart",
            )
        seen[dataset.name] = dataset.path
        if job.evaluate is not None:
            _check_evaluate(job, job.evaluate, dataset, problems)
    problems.check()
    return datasets


def _check_evaluate(job: Job, evaluate: Evaluate, dataset: Dataset, problems: Problems) -> None:
    for key, attempt in (
        ("evaluate.split", lambda: next(folds_of(job, dataset))),
        ("evaluate.features", lambda: counts_of(evaluate, dataset.n_features)),
    ):
        try:
            attempt()
        except MlfsError as error:
            problems.add(key, f"{dataset.name}: {error.message}")


def refuse_missing_values(job: Job, datasets: Sequence[Dataset], file: str = "job") -> None:
    """Read the data once and refuse methods that have no rule for the missing values in them.

    Parameters
    ----------
    job
        Resolved job.
    datasets
        Its opened data sets.
    file
        Name of the job file, for messages.

    Raises
    ------
    JobFileError
        Names every such method, the data set, a feature and the count.
    """
    classifiers = () if job.evaluate is None else job.evaluate.classifier
    without_rule = [
        (f"{path}.{position}", method)
        for path, kind, methods in (
            ("select", "selectors", job.select),
            ("evaluate.classifier", "classifiers", classifiers),
        )
        for position, method in enumerate(methods)
        if not _takes_missing(cast("registry.Kind", kind), method)
    ]
    problems = Problems(file)
    for dataset in datasets:
        missing = _missing_values(dataset) if without_rule else ""
        for place, method in without_rule if missing else ():
            problems.add(
                place,
                f"{method.label!r} has no rule for missing values, and {dataset.name} has "
                f'{missing}; set impute = "mean" here or under [data]',
            )
    problems.check()


def _takes_missing(kind: registry.Kind, method: Method) -> bool:
    """Whether the estimator says so by scikit-learn's tag; one without tags is let try."""
    estimator = registry.load(kind, method.method)(**method.params)
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is None or bool(tags().input_tags.allow_nan)


def _missing_values(dataset: Dataset) -> str:
    """How many values are missing and where the first are; empty if none is."""
    if dataset.x_dtype.kind != "f":
        return ""
    counts = summarize_columns(as_source(dataset)).n_missing
    if not counts.any():
        return ""
    first = int(np.flatnonzero(counts)[0])
    name = dataset.feature_names[first]
    return f"{int(counts.sum())}, the first in feature {first} ({name!r})"


def counts_of(evaluate: Evaluate, n_features: int) -> list[int]:
    """At how many features a data set's rankings are judged, ascending.

    Parameters
    ----------
    evaluate
        Of the job.
    n_features
        Of the data set.

    Raises
    ------
    InputError
        A count above the number of features.
    """
    points = evaluate.features
    return sorted(feature_counts(n_features, fractions=points.fractions, counts=points.counts))


def splitting_of(job: Job) -> Splitting:
    """How a job with an [evaluate] table parts rows.

    Parameters
    ----------
    job
        Resolved job.
    """
    assert job.evaluate is not None
    split = job.evaluate.split
    return Splitting(split.kind, split.folds, split.repeats, job.seed)


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
        More folds than rows; no split in the store.
    """
    splitting = splitting_of(job)
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
    for repeat, fold in splitting_of(job).numbers():
        yield fold_of(job, dataset, repeat, fold)


def names(datasets: Sequence[Dataset]) -> list[str]:
    """Names of data sets, in order.

    Parameters
    ----------
    datasets
        Opened stores.
    """
    return [dataset.name for dataset in datasets]
