"""What a worker does: the units of one task, one after the other.

Goes in: addresses and parameters. Comes out: one small JSON document per unit. A unit that fails
is told with its traceback and the others go on.
"""

from __future__ import annotations

import os
import socket
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field

from mlfs_dask import registry
from mlfs_dask._typing import IntArray
from mlfs_dask.errors import DegenerateInputWarning, MlfsError, StoreError
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs.source import Source, as_source
from mlfs_dask.jobs.data import counts_of, fold_of
from mlfs_dask.jobs.options import options_of
from mlfs_dask.jobs.spec import Job, Method
from mlfs_dask.jobs.streams import classifier_stream, selector_stream
from mlfs_dask.jobs.units import Unit
from mlfs_dask.storage.dataset import Dataset, open_dataset


class Address(Struct, frozen=True):
    """Where a data set lies and what its values must be."""

    path: str
    digest: str


class Task(Struct, frozen=True, kw_only=True):
    """Units that one worker does in one go.

    Attributes
    ----------
    name
        Unique within a run.
    job
        The resolved job.
    addresses
        Name of a data set -> where it lies.
    units
        What to do, selections before what judges them.
    orders
        Id of a select unit done before -> its features best first.
    """

    name: str
    job: Job
    addresses: dict[str, Address]
    units: tuple[Unit, ...]
    orders: dict[str, tuple[int, ...]] = field(default_factory=dict)


class Failure(Struct, frozen=True, kw_only=True):
    """Why a unit has no result.

    Attributes
    ----------
    error
        Name of the exception's class.
    message, hint
        Its words.
    exit_code
        2 if the user can correct it, 1 if not.
    traceback
        For the log.
    """

    error: str
    message: str
    hint: str | None
    exit_code: int
    traceback: str


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one unit.

    Attributes
    ----------
    unit
        The unit.
    payload
        Result as JSON; None if it failed.
    failure
        Why it failed; None if it did not.
    seconds
        How long it took.
    worker
        Host and process that did it.
    notes
        What to know about it: the road taken, warnings.
    """

    unit: Unit
    payload: bytes | None
    failure: Failure | None
    seconds: float
    worker: str
    notes: tuple[str, ...] = ()


def run_task(task: Task) -> Iterator[Outcome]:
    """Do the units of a task; yields each outcome as it comes.

    Parameters
    ----------
    task
        What to do.
    """
    orders = {unit: np.array(order, dtype=np.int64) for unit, order in task.orders.items()}
    for unit in task.units:
        if unit.needs is not None and unit.needs.id not in orders:
            yield _outcome(unit, 0.0, failure=_not_selected(unit))
            continue
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegenerateInputWarning)
            try:
                result, notes = _run_unit(task, unit, orders)
            except Exception as error:
                yield _outcome(unit, started, failure=describe(error))
                continue
        if unit.kind == "select":
            orders[unit.id] = np.array(result["order"], dtype=np.int64)
        notes += [str(w.message) for w in caught if _is_ours(w)]
        yield _outcome(unit, started, result=result, notes=tuple(dict.fromkeys(notes)))


def run_whole_task(task: Task) -> list[Outcome]:
    """Do the units of a task on a Dask worker.

    Parameters
    ----------
    task
        What to do.
    """
    return list(run_task(task))


def describe(error: BaseException) -> Failure:
    """An exception in the words of a report.

    Parameters
    ----------
    error
        What was raised.
    """
    known = error if isinstance(error, MlfsError) else None
    return Failure(
        error=type(error).__name__,
        message=known.message if known else str(error) or type(error).__name__,
        hint=known.hint if known else None,
        exit_code=known.exit_code if known else 1,
        traceback="".join(traceback.format_exception(error)),
    )


def _run_unit(
    task: Task, unit: Unit, orders: dict[str, IntArray]
) -> tuple[dict[str, Any], list[str]]:
    dataset = _open(task.addresses[unit.dataset])
    rows = as_source(dataset)
    if unit.kind == "select":
        return _select(task.job, unit, _train_rows(task.job, unit, dataset, rows))
    return _judge(task.job, unit, dataset, rows, orders)


def _select(job: Job, unit: Unit, train: Source) -> tuple[dict[str, Any], list[str]]:
    method = _by_label(job.select, unit.selector)
    stream = selector_stream(job.seed, unit.selector, unit.repeat, unit.fold)
    selector = _make("selectors", method, stream)
    record = protocol.select(selector, train)
    road = getattr(selector, "road_", None)
    return record, [f"road: {road}"] if road is not None else []


def _judge(
    job: Job, unit: Unit, dataset: Dataset, rows: Source, orders: dict[str, IntArray]
) -> tuple[dict[str, Any], list[str]]:
    evaluate = job.evaluate
    assert evaluate is not None
    assert unit.repeat is not None
    assert unit.fold is not None
    fold = fold_of(job, dataset, unit.repeat, unit.fold)
    method = _by_label(evaluate.classifier, unit.classifier)
    stream = classifier_stream(job.seed, method.label, unit.repeat, unit.fold)
    if unit.needs is None:
        order, counts = np.arange(dataset.n_features), [dataset.n_features]
    else:
        order, counts = orders[unit.needs.id], counts_of(evaluate, dataset.n_features)
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


def _outcome(
    unit: Unit,
    started: float,
    *,
    result: dict[str, Any] | None = None,
    failure: Failure | None = None,
    notes: tuple[str, ...] = (),
) -> Outcome:
    document = {"unit": unit, "result": result}
    return Outcome(
        unit=unit,
        payload=None if result is None else msgspec.json.encode(document),
        failure=failure,
        seconds=time.perf_counter() - started if started else 0.0,
        worker=f"{socket.gethostname()}:{os.getpid()}",
        notes=notes,
    )


def _not_selected(unit: Unit) -> Failure:
    return Failure(
        error="NotRun",
        message="not run, since its selection failed",
        hint=None,
        exit_code=2,
        traceback="",
    )


def _is_ours(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, DegenerateInputWarning)
