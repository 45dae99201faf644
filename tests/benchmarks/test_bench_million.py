"""A million samples: seconds and memory, growth with the rows, and what label sets cost.

Data are made by ``mlfs data synth``, sparse and dense, with 30 labels that come from 1,000 label
sets; the last table has free ones. In a normal test small stores take their place.
"""

import sys
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import pytest

import mlfs_dask as mlfs
from benchmarks.growth import power_of_rows, seconds_by_store
from benchmarks.large import LargeStores, Selection
from benchmarks.side_by_side import Row, SideBySide, at_most, show_seconds
from mlfs_dask.graphs.plan import plan_road
from mlfs_dask.graphs.source import as_source
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.storage.dataset import open_dataset
from processes import run_command

pytestmark = pytest.mark.slow

METHODS: dict[str, dict[str, str]] = {
    "spec": {},
    "mllap": {},
    "mddm": {"constraint": "proj"},
    "chi2": {},
    "mutual-info": {},
}
SHAPES = {
    "sparse": ("-d", "1000", "--sparse", "--density", "0.02"),
    "dense": ("-d", "200", "--dtype", "float32"),
}
SHOWN = {"sparse": "1,000 features, 2 % not zero", "dense": "200 features, dense float32"}
FREE = ("--label-correlation", "0.975", "--label-noise", "0.05")
ROUNDS = 5

# What reading costs by itself: each chunk of X once, by Zarr alone.
SCAN = """
import sys
from time import perf_counter
import zarr
begin = perf_counter()
X = zarr.open_group(sys.argv[1], mode="r")["X"]
arrays = [X] if isinstance(X, zarr.Array) else [X["data"], X["indices"], X["indptr"]]
for array in arrays:
    for start in range(0, array.shape[0], array.chunks[0]):
        array[start : start + array.chunks[0]]
print(perf_counter() - begin)
"""


@dataclass
class Synthetic:
    """Stores of a shape by their number of rows."""

    large: LargeStores
    shape: str

    def store(self, n_rows: int, *, free: bool = False, sets: int = 1000) -> str:
        """A store of so many rows, a thousandth of them in a normal test."""
        rows = n_rows if self.large.judged else max(40, n_rows // 1000)
        labels = FREE if free else ("--label-sets", str(min(sets, rows)))
        name = f"{self.shape}-{rows}-{'free' if free else sets}"
        made = ("-n", str(rows), "-q", "30", *SHAPES[self.shape], *labels)
        return self.large.made(name, *made, *(() if self.large.judged else ("--tile", "16")))


def scan(store: str) -> float:
    """Seconds of a plain scan in a process of its own, once Zarr is imported."""
    return float(run_command([sys.executable, "-c", SCAN, store]).stdout)


def on_one_road(method: str, store: str) -> dict[str, str]:
    """Parameters with the road that is planned for a store, where a method has several.

    The plan may take another one for fewer rows, whose fixed part is not that of this road.
    """
    selector = mlfs.get_selector(method, **METHODS[method])
    if "road" not in selector.get_params():
        return METHODS[method]
    return {**METHODS[method], "road": selector.plan(as_source(open_dataset(store))).road}


@pytest.mark.cluster
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_million(large: LargeStores, shape: str, method: str) -> None:
    store = Synthetic(large, shape).store(1_000_000)
    what = f"{method}, 1,000,000 samples, {SHOWN[shape]}"
    here = Selection(store, method, METHODS[method])
    alone = large.line(what, here, at_most_seconds=120)
    spread = large.line(what, replace(here, workers=2), at_most_seconds=120)
    assert spread.digest == alone.digest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_growth(large: LargeStores, side_by_side: SideBySide, shape: str, method: str) -> None:
    """p of t = a + b n^p, with a from 1,000 rows on the road that a million take."""
    synthetic = Synthetic(large, shape)
    sizes = (1_000, 100_000, 300_000, 1_000_000)
    stores = [synthetic.store(size) for size in sizes]
    rounds = ROUNDS if large.judged else 1
    seconds = seconds_by_store(method, on_one_road(method, stores[-1]), stores, rounds)
    plain = median(scan(stores[-1]) for _ in range(rounds))
    assert min(*seconds, plain) > 0
    if not side_by_side.full:
        return
    power = power_of_rows(sizes, seconds)
    side_by_side.rows.append(
        Row(
            what=f"{method}, 100,000 to 1,000,000 samples, {SHOWN[shape]}",
            ours=" / ".join(map(show_seconds, seconds[1:])),
            against="1,000 samples, which count as fixed",
            theirs=show_seconds(seconds[0]),
            result=f"n to the power of {power:.2f}",
            asked="0.9 to 1.1",
            met=0.9 <= power <= 1.1,
        )
    )
    # Reading is the floor where each value read is used a few times only: dense rows, no bins.
    reading = shape == "dense" and method != "mutual-info"
    side_by_side.rows.append(
        Row(
            what=f"{method}, 1,000,000 samples, {SHOWN[shape]}, kernels loaded",
            ours=show_seconds(seconds[-1]),
            against="each chunk read once, by Zarr alone",
            theirs=show_seconds(plain),
            result=f"{seconds[-1] / plain:.2f}x",
            asked=at_most(2).asked() if reading else "",
            met=at_most(2).met(seconds[-1], plain) if reading else None,
        )
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_what_label_sets_cost(large: LargeStores, side_by_side: SideBySide, shape: str) -> None:
    """The term u² d of the sums per label set: u distinct label sets of 100,000 rows."""
    synthetic = Synthetic(large, shape)
    stores = [synthetic.store(100_000, sets=sets) for sets in (1_000, 6_000)]
    stores.append(synthetic.store(100_000, free=True))
    rounds = ROUNDS if large.judged else 1
    seconds = seconds_by_store("spec", {"road": "collapsed"}, stores, rounds)
    assert min(seconds) > 0
    if not side_by_side.full:
        return
    sets = [open_dataset(store).attributes["label_sets"] for store in stores]
    d = open_dataset(stores[0]).n_features
    for u, spent in zip(sets[1:], seconds[1:], strict=True):
        more = (spent - seconds[0]) / (u**2 - sets[0] ** 2) / d
        side_by_side.rows.append(
            Row(
                what=f"spec by label sets, 100,000 samples, {SHOWN[shape]}, u = {u:,}",
                ours=show_seconds(spent),
                against=f"u = {sets[0]:,}",
                theirs=show_seconds(seconds[0]),
                result=f"{1e12 * more:.3g} ps for each unit of u² d more",
                asked="",
                met=None,
            )
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_where_the_plan_turns(large: LargeStores, side_by_side: SideBySide, shape: str) -> None:
    """From how many label sets on pairs of rows are planned instead of sums per label set."""
    source = as_source(open_dataset(Synthetic(large, shape).store(100_000, free=True)))
    n = source.n_samples

    def road(n_sets: int) -> str:
        bits = (np.arange(n) % n_sets)[:, None] >> np.arange(30)
        sets = find_label_sets((bits & 1).astype(np.uint8))
        return plan_road(source, allowed=("collapsed", "pairs"), wanted="auto", sets=sets).road

    low, high = 1, n
    assert (road(low), road(high)) == ("collapsed", "pairs")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if road(middle) == "collapsed" else (low, middle)
    if side_by_side.full:
        side_by_side.rows.append(
            Row(
                what=f"spec, plan for {n:,} samples, {SHOWN[shape]}",
                ours=f"sums per label set up to u = {low:,}",
                against="",
                theirs="",
                result=f"pairs of rows from u = {high:,} on",
                asked="",
                met=None,
            )
        )
