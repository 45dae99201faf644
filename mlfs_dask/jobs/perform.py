"""How one unit is performed: a selection on training rows, or the curve that judges it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from mlfs_dask import registry
from mlfs_dask.errors import StoreError
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs.source import Source, as_source
from mlfs_dask.jobs.data import counts_of, fold_of
from mlfs_dask.jobs.options import options_of
from mlfs_dask.jobs.spec import Job, Method
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
        Features best first.
    support
        Features selected, ascending.
    """

    order: tuple[int, ...]
    support: tuple[int, ...]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Selected:
        """The part of a selection's record.

        Parameters
        ----------
        record
            As `perform` returns it.
        """
        return cls(tuple(record["order"]), tuple(record["support"]))


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
    rows = as_source(dataset)
    if unit.kind == "select":
        return _select(job, unit, _train_rows(job, unit, dataset, rows), recorder)
    return _judge(job, unit, dataset, rows, selected)


def _select(
    job: Job, unit: Unit, train: Source, recorder: Recorder
) -> tuple[dict[str, Any], list[str]]:
    method = _by_label(job.select, unit.selector)
    stream = selector_stream(job.seed, unit.selector, unit.repeat, unit.fold)
    selector = _make("selectors", method, stream)
    with recording(recorder):
        record = protocol.select(selector, train)
    road = getattr(selector, "road_", None)
    return record, [f"road: {road}"] if road is not None else []


def _judge(
    job: Job, unit: Unit, dataset: Dataset, rows: Source, selected: dict[str, Selected]
) -> tuple[dict[str, Any], list[str]]:
    evaluate = job.evaluate
    assert evaluate is not None
    assert unit.repeat is not None
    assert unit.fold is not None
    fold = fold_of(job, dataset, unit.repeat, unit.fold)
    method = _by_label(evaluate.classifier, unit.classifier)
    stream = classifier_stream(job.seed, method.label, unit.repeat, unit.fold)
    if not unit.needs:
        order, counts = np.arange(dataset.n_features), [dataset.n_features]
    else:
        order = np.array(selected[unit.needs[0].id].order, dtype=np.int64)
        counts = counts_of(evaluate, dataset.n_features)
    found = protocol.judge(
        _make("classifiers", method, stream),
        (rows.take(fold.train), rows.take(fold.test)),
        (order, counts),
        evaluate.metrics,
        evaluate.conventions,
    )
    columns = ("n_features", "share", "cost_share", "metric", "value", "n_scored")
    return {"measurements": [{c: getattr(m, c) for c in columns} for m in found]}, []


def _train_rows(job: Job, unit: Unit, dataset: Dataset, rows: Source) -> Source:
    if unit.fold is None or unit.repeat is None:
        return rows
    return rows.take(fold_of(job, dataset, unit.repeat, unit.fold).train)


def _make(kind: registry.Kind, method: Method, stream: np.random.SeedSequence) -> Any:
    params = dict(method.params)
    if "random_state" in options_of(kind, method.method):
        params.setdefault("random_state", stream)
    return registry.load(kind, method.method)(**params)


def _by_label(methods: tuple[Any, ...], label: str | None) -> Any:
    return next(method for method in methods if method.label == label)


@lru_cache(maxsize=8)
def _open(address: Address) -> Dataset:
    dataset = open_dataset(address.path)
    if dataset.digest != address.digest:
        raise StoreError(
            f"{address.path} holds other data than at the start of the run",
            hint="Put the old store back, or start the job again with --force.",
            path=address.path,
        )
    return dataset
