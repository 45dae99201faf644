"""The data sets of a job: opened, and checked against what the job wants of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlfs_dask.errors import MlfsError
from mlfs_dask.evaluate.points import feature_counts
from mlfs_dask.evaluate.protocol import Splitting
from mlfs_dask.evaluate.splits import Fold
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.spec import Evaluate, Job
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
