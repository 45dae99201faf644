"""Selections read one by one are those of the whole file."""

import json

import numpy as np
import pytest
from made_runs import MadeRun, method, selection

from mlfs_dask.errors import NotFoundError, RunFolderError
from mlfs_dask.jobs.outputs import _lines
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.selections import iter_selections


def of_pairs(dataset, fold):
    """A ranking for each of two problems; the second has one score and one member."""
    made = selection([3, 1, 0, 2], [0.5, None, 0.25, 0.125])
    return {
        **made,
        "problems": [[0], [0, 1]],
        "order": [made["order"], [2, 0, 1, 3]],
        "scores": [made["scores"], [None, None, 1e-300, None]],
        "support": [[3, 1, 0, 2], [2]],
    }


@pytest.fixture
def run(tmp_path):
    made = MadeRun()
    made.select = [method("spec", "SPEC"), method("spec-wrapper", "wrapper")]
    made.records = {"wrapper": of_pairs}
    made.write(tmp_path)
    return open_run(next(tmp_path.iterdir()))


def lay_out(run, *, end=b"]}\n"):
    """The file as runs write it: a selection per line."""
    path = run.path / "results.json"
    document = json.loads(path.read_bytes())
    lines = b"".join(_lines({"format": 1}, "selections", document["selections"]))
    assert lines.endswith(b"\n]}\n")
    path.write_bytes(lines.removesuffix(b"]}\n") + end)
    return path


def plain(found):
    """Arrays as lists, NaN as None."""
    if isinstance(found, np.ndarray):
        return [None if value != value else value for value in found.tolist()]
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    return [plain(value) for value in found] if isinstance(found, list) else found


@pytest.mark.parametrize("by_line", [True, False])
def test_one_by_one_as_in_the_whole_file(run, by_line):
    path = lay_out(run) if by_line else run.path / "results.json"
    found = list(iter_selections(path))
    assert [plain(one) for one in found] == run.selections
    wrapper = next(one for one in found if one["problems"] is not None)
    assert {row.dtype for row in (*wrapper["order"], *wrapper["support"])} == {np.dtype(np.int32)}
    assert {row.dtype for row in wrapper["scores"]} == {np.dtype(np.float64)}


def test_no_selections_at_all(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"".join(_lines({"format": 1}, "selections", [])))
    assert list(iter_selections(path)) == []


@pytest.mark.parametrize("end", [b"", b'{"dataset": "songs"', b'{"dataset": 1}\n]}\n'])
def test_a_file_that_was_cut_or_changed_is_refused(run, end):
    path = lay_out(run, end=end)
    with pytest.raises(RunFolderError, match=r"results\.json"):
        list(iter_selections(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFoundError, match=r"results\.json is missing"):
        list(iter_selections(tmp_path / "results.json"))
