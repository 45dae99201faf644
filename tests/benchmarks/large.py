"""Selections from large stores, each in a process of its own: time, memory, tasks, bytes read.

A line of the second table of BENCHMARKS.md is one selection, from the opened store to the order of
the features, on two threads of a process or on a cluster of two workers::

    from benchmarks.large import LargeStores, Selection

    @pytest.mark.slow
    def test_spec(large: LargeStores) -> None:
        here = Selection(large.tmc2007(), "spec")
        alone = large.line("spec", here, at_most_seconds=20)
        spread = large.line("spec", replace(here, workers=2), at_most_seconds=20)
        assert spread.digest == alone.digest

Peaks are those of each process alone. Bytes are those of packed chunks; tasks are the items
that an executor was handed. Where $MLFS_DATA is not set, small stores take the place of the large
ones, and nothing is judged.

This module is also what the process runs: ``python -m benchmarks.large REQUEST``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

GIB = 2**30
TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Selection:
    """What to select.

    Attributes
    ----------
    store
        Path of a store.
    method
        Name of a selector.
    parameters
        Of the selector.
    workers
        0: threads of one process; else processes of a cluster, one thread each.
    memory
        Limit of each worker in bytes.
    missing
        Share of cells taken away first.
    costs
        Whether features have costs, uniform from 0 to 100.
    n_features
        Only the first ones; None: all.
    n_rows
        Only the first ones; None: all.
    """

    store: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    workers: int = 0
    memory: int = 2 * GIB
    missing: float = 0.0
    costs: bool = False
    n_features: int | None = None
    n_rows: int | None = None


@dataclass(frozen=True)
class SelectionCost:
    """What it took.

    Attributes
    ----------
    seconds
        From opening the store to the order of the features, imports included; the cluster is up.
    cpu_seconds
        Of all processes.
    peaks
        Largest resident memory of each process, the one that decides first.
    tasks
        Items handed to an executor.
    bytes_read
        Of the store.
    digest
        Of order and scores: equal for equal bits.
    facts
        What else the selector says: ``road_``, number of features chosen.
    """

    seconds: float
    cpu_seconds: float
    peaks: tuple[int, ...]
    tasks: int
    bytes_read: int
    digest: str
    facts: dict[str, Any]

    @property
    def peak(self) -> int:
        """Of the largest process."""
        return max(self.peaks)


@dataclass(frozen=True)
class Line:
    """One line of the second table; ``met`` is None where nothing was asked."""

    what: str
    where: str
    cost: SelectionCost
    asked: str
    met: bool | None


def run_selection(selection: Selection) -> SelectionCost:
    """Select in a process of its own.

    Raises
    ------
    RuntimeError
        The process failed; the message holds what it wrote to stderr.
    """
    from processes import run_command

    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    request = json.dumps(asdict(selection))
    argv = [sys.executable, "-m", "benchmarks.large", request]
    done = run_command(argv, env={**os.environ, "PYTHONPATH": path})
    answer = json.loads(done.stdout.splitlines()[-1])
    return SelectionCost(**{**answer, "peaks": tuple(answer["peaks"])})


@dataclass
class LargeStores:
    """Stores to select from, and the lines that come of it: the fixture ``large``.

    Attributes
    ----------
    folder
        Where stores are made; kept for the whole run.
    data
        Folder of the real files; None: small stores stand in.
    judged
        Whether bounds are judged (``make bench``).
    lines
        Where the lines go.
    """

    folder: Path
    data: Path | None
    judged: bool
    lines: list[Line] = field(default_factory=list)

    def tmc2007(self) -> str:
        """A store of the shape of the full tmc2007: 28,596 x 49,060."""
        if self.data is None:
            return self._small("tmc2007-like")
        source = self.data / "tmc2007-top981" / "tmc2007.mat"
        return self.made("tmc2007-like", "--like", "tmc2007", "--source", str(source))

    def made(self, name: str, *options: str) -> str:
        """A store made by ``mlfs data synth``, once."""
        path = self.folder / f"{name}.zarr"
        if not path.exists():
            self._mlfs("data", "synth", str(path), *options)
        return str(path)

    def real(self, name: str) -> str:
        """The store of a data set of the catalogue, ingested once."""
        if self.data is None:
            return self._small(name)
        path = self.folder / f"{name}.zarr"
        if not path.exists():
            self._mlfs("data", "ingest", name, str(path))
        return str(path)

    def fitting(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters; small stores have no hundreds of features to choose."""
        asked = dict(parameters)
        if self.data is None and "n_features_to_select" in asked:
            asked["n_features_to_select"] = 10
        return asked

    def line(
        self,
        what: str,
        selection: Selection,
        *,
        at_most_seconds: float | None = None,
        at_most_bytes: int | None = 2 * GIB,
    ) -> SelectionCost:
        """Select, and keep a line of it.

        Parameters
        ----------
        what
            What is selected, from which rows.
        selection
            The work.
        at_most_seconds, at_most_bytes
            What was asked: of the whole, and of each process.
        """
        from benchmarks.side_by_side import show_bytes, show_seconds

        cost = run_selection(selection)
        asked = []
        if at_most_seconds is not None:
            asked.append((cost.seconds, at_most_seconds, show_seconds(at_most_seconds)))
        if at_most_bytes is not None:
            asked.append((cost.peak, at_most_bytes, show_bytes(at_most_bytes)))
        met = all(spent <= limit for spent, limit, _ in asked) if asked and self.judged else None
        n = selection.workers
        where = f"{n} worker{'s' if n > 1 else ''}" if n else "one process"
        limits = ", ".join(text for _, _, text in asked)
        self.lines.append(Line(what, where, cost, limits and f"at most {limits}", met))
        return cost

    def _small(self, name: str) -> str:
        """A small store of 0/1 features that depend on labels."""
        shape = ("-n", "60", "-d", "40", "-q", "4", "--tile", "16")
        kind = ("--sparse", "--density", "0.2", "--dtype", "uint8", "--seed", "7")
        return self.made(f"{name}-small", *shape, *kind)

    def _mlfs(self, *arguments: str) -> None:
        from processes import run_command

        run_command([sys.executable, "-m", "mlfs_dask", *arguments])


def main(request: str) -> None:
    """Select as asked and print what it took as one line of JSON."""
    selection = Selection(**json.loads(request))
    watch()
    with _cluster(selection) as on_all_workers:
        on_all_workers(watch)
        begin = perf_counter()
        order, scores, facts = _select(selection)
        seconds = perf_counter() - begin
        used = [report(), *on_all_workers(report)]
    answer = SelectionCost(
        seconds=seconds,
        cpu_seconds=sum(each["cpu"] for each in used),
        peaks=tuple(each["peak"] for each in used),
        tasks=sum(each["tasks"] for each in used),
        bytes_read=sum(each["read"] for each in used),
        digest=sha256(order.tobytes() + scores.tobytes()).hexdigest(),
        facts=facts,
    )
    print(json.dumps(asdict(answer)))


def _select(selection: Selection) -> tuple[Any, Any, dict[str, Any]]:
    import numpy as np

    import mlfs_dask as mlfs
    from mlfs_dask.graphs.source import MissingCells, as_source

    rows = as_source(mlfs.open_dataset(selection.store))
    if selection.missing:
        rows = rows.with_missing(MissingCells(0, selection.missing))
    if selection.costs:
        rows = rows.with_costs(np.random.default_rng(0).uniform(0, 100, rows.n_features))
    if selection.n_features is not None:
        rows = rows.keep_features(np.arange(min(selection.n_features, rows.n_features)))
    if selection.n_rows is not None:
        rows = rows.take(np.arange(min(selection.n_rows, rows.n_samples)))
    fitted = mlfs.get_selector(selection.method, **selection.parameters).fit(rows)
    facts = {"chosen": int(fitted.n_selected_), "steps": len(fitted.path_)}
    facts |= {"road": fitted.road_} if hasattr(fitted, "road_") else {}
    return fitted.order_, fitted.scores_, facts


@contextmanager
def _cluster(selection: Selection) -> Iterator[Callable[[Callable[[], Any]], list[Any]]]:
    """The cluster asked for, if any, as a function that runs another one on all workers."""
    if not selection.workers:
        yield lambda function: []
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=selection.workers,
            threads_per_worker=1,
            memory_limit=selection.memory,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield lambda function: list(client.run(function).values())


_counted = {"tasks": 0, "read": 0}
"""Tasks handed out by this process, and bytes that it read of stores."""


def watch() -> None:
    """Have this process count from now on."""
    from zarr.storage import LocalStore

    from mlfs_dask.graphs.executor import InProcess, OnCluster
    from mlfs_dask.storage import direct

    get: Any = LocalStore.get
    read_packed = direct.read_packed

    async def counting(store: Any, *arguments: Any, **options: Any) -> Any:
        found = await get(store, *arguments, **options)
        _counted["read"] += 0 if found is None else len(found)
        return found

    def counting_packed(file: Path) -> bytes | None:
        found = read_packed(file)
        _counted["read"] += 0 if found is None else len(found)
        return found

    setattr(LocalStore, "get", counting)  # noqa: B010  no type of a method fits it
    direct.read_packed = counting_packed
    for kind, name in ((InProcess, "map"), (OnCluster, "map"), (OnCluster, "keep")):
        _count_items(kind, name)  # to keep on threads is to map


def _count_items(kind: type, name: str) -> None:
    plain = getattr(kind, name)

    def counting(executor: Any, function: Any, items: Any, *common: Any) -> Any:
        _counted["tasks"] += len(items)
        return plain(executor, function, items, *common)

    setattr(kind, name, counting)


def report() -> dict[str, Any]:
    """What this process took since it began."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    used = os.times()
    return {"peak": 1024 * int(peak), "cpu": used.user + used.system, **_counted}


if __name__ == "__main__":
    # Workers find these functions by the name of the module, not by "__main__".
    from benchmarks import large

    large.main(sys.argv[1])
