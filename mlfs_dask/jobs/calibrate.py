"""Measuring how fast this machine is: small runs of the product's own methods, processes and disk.

Each road of `mlfs_dask.jobs.selector_costs` and `classifier_costs` is taken once on planted data of
a size that takes a fraction of a second; what it takes beyond its cost is how much slower this
machine is on that road. About a minute in all, on a machine that does nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask import registry
from mlfs_dask.graphs.executor import InProcess, use_executor
from mlfs_dask.jobs import classifier_costs, selector_costs
from mlfs_dask.jobs.cluster_rates import cluster_rates
from mlfs_dask.jobs.options import full_params
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.row_shape import Shape
from mlfs_dask.jobs.workload import Work
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.in_memory import ArrayTable
from mlfs_dask.storage.ingest import ingest

_TILE: Final = 1024
_LABELS: Final = 8
_LABEL_SETS: Final = 64
_STORED: Final = 0.01  # share of the cells of sparse rows
_REPEATS: Final = 2
_LEAST: Final = 1e-4

Kind: TypeAlias = Literal["dense", "bits", "sparse", "sparse bits"]
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """A road to be taken.

    Attributes
    ----------
    what
        ``"selectors"`` or ``"classifiers"``.
    method
        Registered name.
    kind
        Of the rows.
    n, d
        Rows and features.
    params
        Other than defaults.
    """

    what: Literal["selectors", "classifiers"]
    method: str
    kind: Kind
    n: int
    d: int
    params: Mapping[str, Any] = field(default_factory=dict)


def _select(method: str, kind: Kind, n: int, d: int, **params: Any) -> Case:
    return Case("selectors", method, kind, n, d, params)


def _judge(method: str, kind: Kind, n: int, d: int, **params: Any) -> Case:
    return Case("classifiers", method, kind, n, d, params)


CASES: Final = (
    _select("variance", "dense", 16_384, 500),
    _select("chi2", "dense", 8_192, 500),
    _select("mddm", "dense", 4_096, 300),
    _select("mutual-info", "dense", 16_384, 500),
    _select("pmu", "bits", 16_384, 500, n_features_to_select=50),
    _select("spec", "sparse", 16_384, 2_000),
    _select("mllap", "sparse", 16_384, 2_000),
    _select("spec-wrapper", "sparse", 16_384, 2_000, order=1),
    _select("laplacian", "dense", 3_000, 100),
    _select("laplacian", "sparse bits", 8_000, 500),
    _select("laplacian", "sparse bits", 8_000, 5_000),
    _select("laplacian", "sparse", 4_000, 5_000),
    _select("mlrelieff", "dense", 1_500, 100),
    _select("mlrelieff", "sparse bits", 6_000, 500),
    _select("mlrelieff", "sparse bits", 4_000, 5_000),
    _select("mlrelieff", "sparse", 2_000, 5_000),
    _select("nrs-cost", "dense", 2_000, 60),
    _select("nrs-cost", "sparse bits", 12_000, 300, max_features=20),
    _select("nrs-stream", "dense", 1_000, 100),
    _select("mlnb", "dense", 2_000, 60, n_generations=3),
    _judge("mlknn", "dense", 3_000, 100),
    _judge("mlknn", "sparse bits", 8_000, 500),
    _judge("mlknn", "sparse bits", 6_000, 5_000),
    _judge("mlknn", "sparse", 3_000, 5_000),
    _judge("mlnb", "dense", 8_192, 100),
    _judge("br", "dense", 4_000, 100, base="logistic"),
    _judge("br", "dense", 1_000, 60, base="tree"),
    _judge("br", "dense", 800, 40, base="c45"),
    _judge("br", "dense", 2_000, 100, base="knn"),
    _judge("br", "dense", 1_000, 60, base="svm-rbf"),
    _judge("br", "dense", 4_000, 100, base="naive-bayes"),
)
"""One for each road that has a speed of its own."""


def calibrate(tell: Tell) -> Rates:
    """Measure this machine.

    Parameters
    ----------
    tell
        Gets a line for each thing that is measured.

    Returns
    -------
    Rates
        Of this machine while it does nothing else.
    """
    tell("processes")
    start, process_bytes = _process()
    tell("a cluster of one worker, and of one for each core")
    cluster = cluster_rates()
    tell("the disk")
    read, unit = _disk()
    slower: dict[str, float] = {}
    for case in CASES:
        road, times = measure(case)
        slower[road] = times
        tell(f"{road}: {times:.2f} times the time of the machine that costs were taken on")
    slower[""] = median(slower.values())
    return Rates(
        slower=slower,
        start_seconds=start,
        process_bytes=process_bytes,
        read_bytes_per_second=read,
        unit_seconds=unit,
        **cluster,
    )


def measure(case: Case) -> tuple[str, float]:
    """Take a road.

    Parameters
    ----------
    case
        Which, on what.

    Returns
    -------
    str and float
        The road's name, and how many times longer it takes than it costs.
    """
    X, Y = planted(case)
    work = cost_of(case, X, Y)
    few = max(200, case.n // 8)
    with use_executor(InProcess(1)):
        _do(case, X[:few], Y[:few])  # kernels are loaded, or compiled
        took = min(_seconds(lambda: _do(case, X, Y), process_time) for _ in range(_REPEATS))
    return work.road, max(took, _LEAST) / work.seconds


def planted(case: Case) -> tuple[Any, Any]:
    """Rows of a kind, and labels that depend on them; the same for the same case.

    Parameters
    ----------
    case
        Which rows.

    Examples
    --------
    >>> X, Y = planted(Case("selectors", "spec", "sparse bits", 50, 20))
    >>> X.dtype, X.shape, Y.shape
    (dtype('uint8'), (50, 20), (50, 8))
    """
    rng = np.random.default_rng(case.n)
    which = rng.integers(_LABEL_SETS, size=case.n)
    Y = (rng.random((_LABEL_SETS, _LABELS)) < 0.25)[which].astype(np.uint8)
    if case.kind.startswith("sparse"):
        return _text(case, rng), Y
    X = rng.random((case.n, case.d)) + Y @ (0.3 * rng.random((_LABELS, case.d)))
    return (X > 0.8).astype(np.uint8) if case.kind == "bits" else X, Y


def _text(case: Case, rng: np.random.Generator) -> Any:
    """Sparse rows in which few features are frequent, as words are."""
    frequency = 1.0 / (10.0 + np.arange(case.d))
    words = max(1, round(_STORED * case.d))
    column = rng.choice(case.d, size=(case.n, words), p=frequency / frequency.sum())
    start = np.arange(0, case.n * words + 1, words)
    X = sp.csr_matrix((rng.random(column.size) + 0.5, column.ravel(), start), (case.n, case.d))
    X.sum_duplicates()
    if case.kind == "sparse bits":
        ones = np.ones(X.nnz, dtype=np.uint8)
        return sp.csr_matrix((ones, X.indices, X.indptr), X.shape)
    return X


def cost_of(case: Case, X: Any, Y: Any) -> Work:
    """What a case costs.

    Parameters
    ----------
    case
        The road.
    X, Y
        As `planted` makes them.
    """
    shape = Shape(
        n=case.n,
        d=case.d,
        q=_LABELS,
        u=len(np.unique(Y, axis=0)),
        per_row=X.nnz / case.n if sp.issparse(X) else case.d,
        carried=float(Y.sum() / case.n),
        sparse=sp.issparse(X),
        bits="bits" in case.kind,
        item_bytes=X.dtype.itemsize,
        tile=_TILE,
        all_rows=case.n,
    )
    params = full_params(case.what, case.method, case.params)
    if case.what == "selectors":
        return selector_costs.COSTS[case.method](shape, params)
    return classifier_costs.curve(case.method, params, shape, case.n, (case.d,))


def _do(case: Case, X: Any, Y: Any) -> None:
    params = {**case.params, "tile": _TILE} if case.what == "selectors" else case.params
    estimator = registry.load(case.what, case.method)(**params)
    estimator.fit(X, Y)
    if case.what == "classifiers":
        estimator.predict_proba(X)


def _seconds(action: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> float:
    begin = clock()
    action()
    return clock() - begin


_PROCESS: Final = """
import resource, sys
import numpy as np
import mlfs_dask.jobs.coordinator, mlfs_dask.cli.run
from mlfs_dask import get_selector
X = np.random.default_rng(0).random((50, 5))
get_selector("spec").fit(X, (X[:, :2] > 0.5).astype(np.uint8))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak if sys.platform == "darwin" else 1024 * peak)
"""


def _process() -> tuple[float, int]:
    """Seconds until a process has done next to nothing, and the memory it has then."""
    argv = [sys.executable, "-c", _PROCESS]
    subprocess.run(argv, check=True, capture_output=True)  # compiles what nobody has
    begin = perf_counter()
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return perf_counter() - begin, int(done.stdout)


def _disk() -> tuple[float, float]:
    """Decoded bytes a second of a store, and seconds to open one."""
    rng = np.random.default_rng(0)
    X = (100 * rng.random((16_384, 200))).round(1)
    with tempfile.TemporaryDirectory() as folder:
        table = ArrayTable(X, np.ones((len(X), 1), dtype=np.uint8))
        dataset = ingest(table, Path(folder) / "disk.zarr", tile=_TILE, name="disk")
        took = _seconds(lambda: _read_all(dataset.X))
        opened = _seconds(lambda: open_dataset(dataset.path))
    return X.nbytes / took, 0.01 + opened


def _read_all(rows: Any) -> None:
    for begin in range(0, rows.shape[0], _TILE):
        rows[begin : begin + _TILE]
