"""Lines of selections from large stores: what they hold, and when their bounds are kept."""

from pathlib import Path

import pytest

from benchmarks import large as large_stores
from benchmarks.large import LargeStores, Selection, SelectionCost
from benchmarks.report import Section

COST = SelectionCost(12.3, 20.0, (900, 1_000), 1_234, 5_000_000, "d", {"road": "pairs"})


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> LargeStores:
    monkeypatch.setattr(large_stores, "run_selection", lambda selection: COST)
    return LargeStores(Path("nowhere"), data=None, judged=True)


@pytest.mark.parametrize(
    ("seconds", "size", "met"),
    [(12.3, 1_000, True), (12.2, 1_000, False), (20, 999, False), (None, None, None)],
)
def test_bounds_are_on_the_whole_time_and_on_each_process(stores, seconds, size, met) -> None:
    selection = Selection("a.zarr", "spec")
    stores.line("a", selection, at_most_seconds=seconds, at_most_bytes=size)
    assert stores.lines[0].met is met


def test_nothing_is_judged_in_a_normal_test(stores) -> None:
    stores.judged = False
    stores.line("a", Selection("a.zarr", "spec"), at_most_seconds=1)
    assert stores.lines[0].met is None


def test_a_table_has_times_peaks_of_all_processes_tasks_and_bytes(stores) -> None:
    stores.line("spec, all", Selection("a.zarr", "spec", workers=1), at_most_seconds=30)
    text = Section("Large", "now", lines=stores.lines).text("test_bench_large.py")
    assert "| spec, all | 1 worker | 12.3 s | 20 s | 0 MB, 0 MB | 1,234 | 5 MB |" in text
    assert "| at most 30 s, 2147 MB | yes |" in text


def test_small_stores_get_few_features_to_select(stores) -> None:
    assert stores.fitting({"n_features_to_select": 500}) == {"n_features_to_select": 10}
    assert LargeStores(Path(), data=Path(), judged=False).fitting({"a": 1}) == {"a": 1}
