"""The data sets of a job: opened, and checked against what the job wants of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlfs_dask import registry
from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import MlfsError, RunFolderError
from mlfs_dask.graphs.absent import count_missing
from mlfs_dask.jobs.declared import declared, takes_missing
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.rows import (
    costs_of,
    counts_of,
    folds_of,
    injects_missing,
    rows_of,
    says_counts,
)
from mlfs_dask.jobs.spec import Job, Method, Prefilter, Select
from mlfs_dask.storage.dataset import Dataset, open_dataset
from mlfs_dask.wording import counted


def open_datasets(
    job: Job, file: str = "job", digests: Sequence[str] | None = None
) -> list[Dataset]:
    """Open all data sets of a job and check that the job can run on them.

    Parameters
    ----------
    job
        Resolved job.
    file
        Name of the job file, for messages.
    digests
        What each was when a run began: blocks of features that were appended since are left out.

    Raises
    ------
    NotFoundError, StoreError
        A store that is not there or cannot be opened.
    JobFileError
        The job asks for what a data set cannot give.
    """
    stores = job.data.stores
    begun = [None] * len(stores) if digests is None else digests
    datasets = [open_as_begun(*each) for each in zip(stores, begun, strict=True)]
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
        _check_dataset(job, dataset, problems)
    for place, select in _placed(job, "select"):
        for name in select.datasets or ():
            if name not in seen:
                problems.unknown_name(f"{place}.datasets", name, "data set", seen)
    problems.check()
    return datasets


def open_as_begun(store: str, digest: str | None) -> Dataset:
    """A store as it was, or as it is where it never was so.

    Parameters
    ----------
    store
        Path or name.
    digest
        Its digest then; None: as it is.
    """
    dataset = open_dataset(store)
    if digest in dataset.chain[:-1]:
        return open_dataset(dataset.path, digest)
    return dataset


def _check_dataset(job: Job, dataset: Dataset, problems: Problems) -> None:
    def attempt(key: str, check: Callable[[], Any]) -> None:
        try:
            check()
        except RunFolderError:  # not the job is wrong, but a file that the run keeps
            raise
        except MlfsError as error:
            problems.add(key, f"{dataset.name}: {error.message}")

    costs: list[FloatArray | None] = []  # stays empty if they can't be told
    attempt("data.costs", lambda: costs.append(costs_of(job, dataset)))
    selects = {id(select): place for place, select in _placed(job, "select")}
    here = job.selects_on(dataset.name)
    for select in here:
        _check_counts(select, selects[id(select)], dataset, problems)
        for known in costs:
            attempt(selects[id(select)], partial(_check_features, select, dataset, known))
    if job.evaluate is None:
        return
    attempt("evaluate.split", lambda: next(folds_of(job, dataset)))
    labels = {select.label for select in here}
    for select in here:
        features = job.features_of(select)
        place = f"{selects[id(select)]}.features" if select.features else "evaluate.features"
        if says_counts(features):
            attempt(place, partial(counts_of, features, dataset.n_features))
        elif features.size_of is not None and features.size_of not in labels:
            problems.add(
                f"{place}.size_of",
                f"{dataset.name}: {features.size_of!r} does not run on this data set, so nothing "
                f"says how many features of {select.label!r} to judge",
            )
    if not here and not job.evaluate.baseline:
        problems.add("data.store", f"{dataset.name}: nothing to do, no [[select]] runs on it")


def _check_counts(select: Select, place: str, dataset: Dataset, problems: Problems) -> None:
    """Refuse a selector that wants more features than there are."""
    available, whose = (
        dataset.n_features,
        f"{dataset.name} has {counted(dataset.n_features, 'feature')}",
    )
    if select.prefilter is not None:
        if select.prefilter.n > available:
            problems.add(
                f"{place}.prefilter.n",
                f"{select.prefilter.n} is not allowed; {whose}",
            )
            return
        available, whose = (
            select.prefilter.n,
            f"the prefilter leaves {counted(select.prefilter.n, 'feature')}",
        )
    wanted = select.params.get("n_features_to_select")
    if isinstance(wanted, int) and wanted > available:
        problems.add(f"{place}.n_features_to_select", f"{wanted} is not allowed; {whose}")


def _check_features(select: Select, dataset: Dataset, costs: FloatArray | None) -> None:
    """Let a selector that asks something of the features themselves, as costs, look at them."""
    asked_by = declared("selectors", select.method).asks_of_features
    if asked_by is None:
        return
    if not asked_by or any(select.params.get(name) is not None for name in asked_by):
        selector = registry.load("selectors", select.method)(**select.params)
        n_features = dataset.n_features if select.prefilter is None else select.prefilter.n
        selector.check_features(n_features, has_costs=costs is not None)


def _placed(job: Job, path: str) -> Iterator[tuple[str, Any]]:
    """Entries with their place in the file; one of several that an entry became has its label."""
    evaluate = () if job.evaluate is None else job.evaluate.classifier
    for position, entry in enumerate(job.select if path == "select" else evaluate):
        is_own = not job.sweep and job.pairs is None
        yield f"{path}.{position}" if is_own else f"{path} {entry.label!r}", entry


def refuse_values(job: Job, datasets: Sequence[Dataset], file: str = "job") -> None:
    """Read the data once and refuse methods that have no rule for some values in them.

    These are missing values, and more than two values of a nominal feature.

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
        Names every such method, the data set and a feature; of missing values the count.
    """
    without_rule, numeric_only = list(_without_rule(job)), list(_numeric_only(job))
    problems = Problems(file)
    for dataset in datasets:
        categories = _categories(job, dataset) if numeric_only else ""
        for place, label, datasets_of in numeric_only if categories else ():
            if datasets_of is None or dataset.name in datasets_of:
                problems.add(
                    place,
                    f"{label!r} takes numbers and two-valued features, and {dataset.name} has "
                    f"{categories}; encode each of its values as a 0/1 column",
                )
        missing = _missing_values(job, dataset) if without_rule else ""
        for place, label, datasets_of in without_rule if missing else ():
            if datasets_of is None or dataset.name in datasets_of:
                problems.add(
                    place,
                    f"{label!r} has no rule for missing values, and {dataset.name} has "
                    f'{missing}; set impute = "mean" here or under [data]',
                )
    problems.check()


def _without_rule(job: Job) -> Iterator[tuple[str, str, tuple[str, ...] | None]]:
    """Place, label and data sets of each method that has no rule for missing values."""
    for place, select in _placed(job, "select"):
        if not _has_rule("selectors", select):
            yield place, select.label, select.datasets
        if select.prefilter is not None and not _has_rule("selectors", select.prefilter):
            yield f"{place}.prefilter", select.prefilter.method, select.datasets
    for place, method in _placed(job, "evaluate.classifier"):
        if not _has_rule("classifiers", method):
            yield place, method.label, None


def _numeric_only(job: Job) -> Iterator[tuple[str, str, tuple[str, ...] | None]]:
    """Place, label and data sets of each method that gets all features and takes no categories."""
    for place, select in _placed(job, "select"):
        first = select if select.prefilter is None else select.prefilter
        if declared("selectors", first.method).refuses_categories:
            label = select.label if select.prefilter is None else first.method
            yield (
                place if select.prefilter is None else f"{place}.prefilter",
                label,
                select.datasets,
            )
    if job.evaluate is not None and job.evaluate.baseline:
        for place, classifier in _placed(job, "evaluate.classifier"):
            if declared("classifiers", classifier.method).refuses_categories:
                yield place, classifier.label, None


def _categories(job: Job, dataset: Dataset) -> str:
    """The first nominal feature of more than two values; empty if there is none."""
    from mlfs_dask.graphs.columns import many_valued  # brings compiled kernels along
    from mlfs_dask.graphs.statistics import NOMINAL, summarize_columns

    rows = rows_of(job, dataset)
    nominal = np.flatnonzero(rows.feature_kind == NOMINAL)
    if len(nominal) == 0:
        return ""
    rows = rows.keep_features(nominal)
    many = np.flatnonzero(many_valued(rows, summarize_columns(rows)))
    if len(many) == 0:
        return ""
    first = int(nominal[many[0]])
    return f"nominal feature {first} ({dataset.feature_names[first]!r}) of more than two values"


def _has_rule(kind: registry.Kind, method: Method | Prefilter) -> bool:
    return takes_missing(kind, method.method, method.params)


def _missing_values(job: Job, dataset: Dataset) -> str:
    """How many values are missing and where the first are; empty if none is."""
    rows = rows_of(job, dataset)
    if rows.dtype.kind != "f":
        return ""
    counts = count_missing(rows)
    if not counts.any():
        return ""
    first = int(np.flatnonzero(counts)[0])
    name = dataset.feature_names[first]
    injected = " with those that data.missing injects" if injects_missing(job) else ""
    return f"{int(counts.sum())}{injected}, the first in feature {first} ({name!r})"


def names(datasets: Sequence[Dataset]) -> list[str]:
    """Names of data sets, in order.

    Parameters
    ----------
    datasets
        Opened stores.
    """
    return [dataset.name for dataset in datasets]
