"""nrs-cost on whole data sets of many features, and what it does not look at."""

from dataclasses import replace

import pytest

from benchmarks import peers
from benchmarks.large import GIB, LargeStores, Selection
from benchmarks.side_by_side import Row, SideBySide, faster
from benchmarks.test_bench_rough_sets import incomplete
from mlfs_dask.graphs import separation
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.nrs_cost import NRSCost
from mlfs_dask.storage.dataset import open_dataset

pytestmark = pytest.mark.slow

FIFTY = {"max_features": 50}
MINUTES = 60
SHIPPED = [
    *("yahoo-arts", "yahoo-business", "yahoo-education", "yahoo-science"),
    *("rcv1sub1", "bibtex", "delicious", "imdb"),
]
WIDE = ["tmc2007-like", "rcv1sub1", "yahoo-science"]


@pytest.mark.cluster
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_tmc2007_whole(large: LargeStores, missing) -> None:
    """Injected cells are stored one by one in sparse rows: 70 million of them."""
    what = "nrs-cost (max_features = 50), 28,596 x 49,060 as tmc2007"
    if missing:
        what += f", {missing:.0%} missing"
    here = Selection(large.tmc2007(), "nrs-cost", FIFTY, missing=missing, costs=True)
    asked = {"at_most_seconds": 30 * MINUTES, "at_most_bytes": 4 * GIB}
    alone = large.line(what, here, **asked)
    spread = large.line(what, replace(here, workers=2, memory=4 * GIB), **asked)
    assert spread.digest == alone.digest


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_sets_as_shipped(large: LargeStores, name, missing) -> None:
    what = f"nrs-cost (max_features = 50), {name}" + (f", {missing:.0%} missing" if missing else "")
    here = Selection(large.real(name), "nrs-cost", FIFTY, missing=missing, costs=True)
    large.line(what, here, at_most_seconds=30 * MINUTES, at_most_bytes=4 * GIB)


@pytest.mark.parametrize("name", WIDE)
def test_pairs_left_out_against_all_pairs(
    large: LargeStores, side_by_side: SideBySide, monkeypatch, name
) -> None:
    """The same search with and without lists of the rows that hold a feature."""
    path = large.tmc2007() if name == "tmc2007-like" else large.real(name)
    source = as_source(open_dataset(path))

    def search(listed_bytes: int) -> list[dict[str, object]]:
        monkeypatch.setattr(separation, "LISTED_BYTES", listed_bytes)
        return NRSCost(max_features=3).fit(source).path_

    def agree(ours: list[dict[str, object]], theirs: list[dict[str, object]]) -> None:
        assert repr(ours) == repr(theirs)

    listed = separation.LISTED_BYTES
    side_by_side.compare(
        f"nrs-cost (max_features = 3), {name}, lists made included",
        ours=lambda: search(listed),
        peers={"all pairs": lambda: search(0)},
        bounds={"all pairs": faster(2)},
        agree={"all pairs": agree},
        once=["all pairs"],
        repeats=3,
    )


@pytest.mark.parametrize("name", ["tmc2007-500-fixed", "yeast", "tmc2007-like"])
@pytest.mark.parametrize("missing", [False, True])
def test_share_of_pairs_looked_at(
    large: LargeStores, side_by_side: SideBySide, name, missing
) -> None:
    if name == "tmc2007-like":
        dataset = open_dataset(large.tmc2007())
    else:
        dataset = peers.stored(name, full=side_by_side.full, dense=name == "yeast")
    most = 50 if name == "tmc2007-like" else None
    rows = incomplete(dataset) if missing else as_source(dataset)
    fitted = NRSCost(max_features=most).fit(rows)
    n = dataset.n_samples
    assert 0 < fitted.pair_share_ * n * n < n * n * max(len(fitted.path_), 1) * dataset.n_features
    if side_by_side.full:
        what = f"nrs-cost, {name}" + (", 5 % missing" if missing else "")
        share = f"{100 * fitted.pair_share_:.3g} % of all pairs"
        side_by_side.rows.append(
            Row(f"{what}: looks at pairs of rows", share, "", "", "", "", None)
        )
