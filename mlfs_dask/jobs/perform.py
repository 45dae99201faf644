"""How one unit is performed: a selection on training rows, or the curve that judges it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from mlfs_dask import registry
from mlfs_dask._typing import IntArray, ProblemOrders
from mlfs_dask.errors import MlfsError
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs.source import Source
from mlfs_dask.jobs.declared import declared
from mlfs_dask.jobs.prefilter import StoreNumbering, in_store_numbering, prefilter
from mlfs_dask.jobs.rows import counts_of, fold_of, rows_of
from mlfs_dask.jobs.spec import Job, Method, Prefilter
from mlfs_dask.jobs.streams import classifier_stream, selector_stream
from mlfs_dask.jobs.units import Unit
from mlfs_dask.selectors.engine import Recorder, recording
from mlfs_dask.storage.dataset import Dataset, open_dataset


class Address(Struct, frozen=True):
    """Where a data set lies and what its values must be."""

    path: str
    digest: str


class Selected(Struct, frozen=True):
    """What a selection found, as far as the curves that judge it need it.

    Attributes
    ----------
    order
        Features best first; a tuple for each problem if there are several.
    support
        Features selected, ascending; likewise.
    problems
        Label indices of each problem; None for a selection for all labels.
    """

    order: tuple[Any, ...]
    support: tuple[Any, ...]
    problems: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(cls, record: dict[str, Any]) -> Selected:
        """The part of a selection's record.

        Parameters
        ----------
        record
            As `perform` returns it.
        """
        problems = record["problems"]
        return cls(
            tuple(record["order"]),
            tuple(record["support"]),
            None if problems is None else tuple(tuple(problem) for problem in problems),
        )

    def features(self, which: Literal["order", "support"]) -> IntArray | ProblemOrders:
        """Its order, or its support, as classifiers take it.

        Parameters
        ----------
        which
            One of the two.
        """
        found = getattr(self, which)
        if self.problems is None:
            return np.array(found, dtype=np.int64)
        pairs = zip(self.problems, found, strict=True)
        return {problem: np.array(each, dtype=np.int64) for problem, each in pairs}

    def joined(self, other: Selected) -> Selected:
        """Both together, for classifiers with models of pairs and of labels.

        Parameters
        ----------
        other
            Of other problems.
        """
        return Selected(
            self.order + other.order,
            self.support + other.support,
            (self.problems or ()) + (other.problems or ()),
        )

    @property
    def size(self) -> int:
        """Number of features selected, rounded half up from the mean over the problems."""
        if self.problems is None:
            return len(self.support)
        return int(sum(map(len, self.support)) / len(self.support) + 0.5)

    @property
    def largest(self) -> int:
        """Number of features selected by the problem that selected most."""
        if self.problems is None:
            return len(self.support)
        return max(map(len, self.support))


def perform(
    job: Job,
    unit: Unit,
    address: Address,
    selected: dict[str, Selected],
    recorder: Recorder,
) -> tuple[dict[str, Any], list[str]]:
    """Do a unit.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    address
        Of the unit's data set.
    selected
        Id of a select unit done before -> what it selected.
    recorder
        Told what the selector decides, step by step.

    Returns
    -------
    result : dict
        Plain values, as the run keeps them.
    notes : list of str
        What to know about it, such as the road taken.

    Raises
    ------
    MlfsError
        The data or the parameters don't allow it.
    """
    dataset = _open(address)
    rows = rows_of(job, dataset)
    if unit.kind == "select":
        return _select(job, unit, _train_rows(job, unit, dataset, rows), recorder)
    return _judge(job, unit, dataset, rows, selected)


def _select(
    job: Job, unit: Unit, train: Source, recorder: Recorder
) -> tuple[dict[str, Any], list[str]]:
    method = job.selects[unit.selector]
    selector = _make("selectors", method, _stream(job, unit, method.label))
    ranking = None
    if method.prefilter is not None:
        stream = _stream(job, unit, f"{method.label} prefilter")
        ranking = prefilter(_make("selectors", method.prefilter, stream), train)
        kept = np.sort(ranking[: method.prefilter.n])
        train, recorder = train.keep_features(kept), StoreNumbering(recorder, kept)
    with recording(recorder):
        record = protocol.select(selector, train)
    if ranking is not None:
        record = in_store_numbering(record, ranking, train.n_features)
    road = getattr(selector, "road_", None)
    return record, [f"road: {road}"] if road is not None else []


def _judge(
    job: Job, unit: Unit, dataset: Dataset, rows: Source, selected: dict[str, Selected]
) -> tuple[dict[str, Any], list[str]]:
    evaluate = job.evaluate
    assert evaluate is not None
    assert unit.repeat is not None
    assert unit.fold is not None
    assert unit.classifier is not None
    fold = fold_of(job, dataset, unit.repeat, unit.fold)
    method = job.classifiers[unit.classifier]
    stream = classifier_stream(job.seed, method.label, unit.repeat, unit.fold)
    needed = {each.selector: selected[each.id] for each in unit.needs}
    order, counts = _points(job, unit, needed, rows)
    judged = [count for count in counts if count > 0]
    notes: list[str] = []
    found = protocol.nothing_to_judge(rows, evaluate.metrics) if judged != counts else []
    if judged:
        with _labels_by_name(dataset):
            found += protocol.judge(
                _make("classifiers", method, stream),
                (rows.take(fold.train), rows.take(fold.test)),
                (order, judged),
                evaluate.metrics,
                evaluate.conventions,
                notes.append,
            )
    columns = ("n_features", "share", "cost_share", "metric", "value", "n_scored")
    if not judged:
        notes.append("no feature was selected, so there was nothing to judge")
    return {"measurements": [{c: getattr(m, c) for c in columns} for m in found]}, notes


@contextmanager
def _labels_by_name(dataset: Dataset) -> Iterator[None]:
    """Say in an error which labels are meant by their numbers."""
    try:
        yield
    except MlfsError as error:
        labels = error.facts.get("labels")
        if not labels:
            raise
        names = ", ".join(f"label {label} is {dataset.label_names[label]!r}" for label in labels)
        raise type(error)(f"{error.message} ({names})", hint=error.hint, **error.facts) from error


def _points(
    job: Job, unit: Unit, selected: dict[str, Selected], rows: Source
) -> tuple[IntArray | ProblemOrders, list[int]]:
    """Features in the order in which the classifier gets them, and how many of them it gets."""
    if not selected:
        return np.arange(rows.n_features), [rows.n_features]
    features = job.features_of(job.selects[unit.selector])
    judged = selected[unit.selector]
    if unit.with_labels is not None:
        judged = judged.joined(selected[unit.with_labels])
    if features.selected:
        return judged.features("support"), [judged.largest]
    order = judged.features("order")
    if features.size_of is not None:
        return order, [selected[features.size_of].size]
    return order, list(counts_of(features, rows.n_features))


def _train_rows(job: Job, unit: Unit, dataset: Dataset, rows: Source) -> Source:
    if unit.fold is None or unit.repeat is None:
        return rows
    return rows.take(fold_of(job, dataset, unit.repeat, unit.fold).train)


def _stream(job: Job, unit: Unit, label: str) -> np.random.SeedSequence:
    return selector_stream(job.seed, label, unit.repeat, unit.fold)


def _make(kind: registry.Kind, method: Method | Prefilter, stream: np.random.SeedSequence) -> Any:
    params = dict(method.params)
    if "random_state" in declared(kind, method.method).options:
        params.setdefault("random_state", stream)
    return registry.load(kind, method.method)(**params)


@lru_cache(maxsize=8)
def _open(address: Address) -> Dataset:
    return open_dataset(address.path, address.digest)
