"""What is kept follows the memory of a process; no number does."""

import numpy as np
import pytest
import scipy.sparse as sp

import mlfs_dask as mlfs
from mlfs_dask.graphs.budget import (
    AMPLE,
    NOTHING,
    memory_limit,
    room,
    room_of_all,
    share_of,
    use_memory,
)
from mlfs_dask.graphs.executor import InProcess, use_executor
from mlfs_dask.graphs.neighbors import NeighborSearch
from mlfs_dask.graphs.source import as_source


def test_room_shrinks_with_the_memory_and_does_not_grow_beyond_ample() -> None:
    assert room(1000) == 1000
    with use_memory(AMPLE // 4):
        assert (memory_limit(), room(1000)) == (AMPLE // 4, 250)
    with use_memory(10 * AMPLE):
        assert room(1000) == 1000
    with use_memory(NOTHING):
        assert room(AMPLE // 2) == 0
    assert memory_limit() is None
    assert share_of(AMPLE // 2) == 0.5


def test_threads_of_a_process_know_its_limit() -> None:
    with use_memory(AMPLE // 8):
        found = set(InProcess(3).map(lambda _: memory_limit(), range(30)))
    assert found == {AMPLE // 8}


def test_workers_say_what_they_may_use() -> None:
    class Workers:
        memory_bytes = AMPLE // 2
        n_workers = 3

    with use_memory(AMPLE // 8):
        assert room(1000, Workers()) == 500
        assert room_of_all(1000, Workers()) == 1500


def test_threads_of_a_process_share_what_it_may_keep() -> None:
    assert room_of_all(1000, InProcess(1)) == room_of_all(1000, InProcess(64)) == 1000
    with use_memory(AMPLE // 8):
        assert room_of_all(1000, InProcess(64)) == 125


def test_rows_are_prepared_as_far_as_memory_allows() -> None:
    source = as_source(np.random.default_rng(0).random((60, 7)), tile=16)
    prepared = []
    for limit in (None, 2**15):
        with use_memory(limit):
            search = NeighborSearch(source, executor=InProcess(1))
        prepared.append(not search._streamed)
    assert prepared == [True, False]


@pytest.mark.parametrize("form", ["dense", "bits", "sparse"])
@pytest.mark.parametrize(
    "method",
    [
        "laplacian",
        "mlrelieff",
        "nrs-cost",
        "nrs-stream",
        "ofs-a3m",
        "pmu",
        "relief-wrapper",
        "spec",
    ],
)
def test_results_are_the_same_to_the_last_bit(method: str, form: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.random((90, 14)) if form == "dense" else (rng.random((90, 14)) < 0.2) * 1.0
    if form == "sparse":
        X = X * rng.random((90, 14))
    Y = (rng.random((90, 3)) < 0.4).astype(np.uint8)
    rows = sp.csr_matrix(X) if form == "sparse" else X
    found = []
    for limit in (None, 2**14):
        with use_memory(limit), use_executor(InProcess(2)):
            fitted = mlfs.get_selector(method, tile=16).fit(rows, Y)
        found.append((fitted.order_.tolist(), fitted.scores_.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("method", ["iblr", "mlknn"])
def test_classifiers_say_the_same_to_the_last_bit(method: str, form: str) -> None:
    rng = np.random.default_rng(6)
    X = rng.random((80, 9)) * (rng.random((80, 9)) < 0.5)
    Y = (rng.random((80, 3)) < 0.4).astype(np.uint8)
    rows = sp.csr_matrix(X) if form == "sparse" else X
    found = []
    for limit in (None, 2**14):
        with use_memory(limit), use_executor(InProcess(2)):
            found.append(mlfs.get_classifier(method).fit(rows, Y).predict_proba(rows).tobytes())
    assert found[0] == found[1]
