"""A supervised coordinator: what befalls one run is not the end of the others."""

import shutil
from contextlib import nullcontext

import pytest

from mlfs_dask.cli import coordinate
from mlfs_dask.errors import MachineError
from mlfs_dask.jobs.rundir import RunFolder

WHERE = ("--scheduler", "tcp://127.0.0.1:1")
STOPPED = 3  # exit code in place of the signal by which a supervisor ends it


@pytest.fixture
def two_runs(cut_run, monkeypatch):
    """The first is removed by somebody while its report is written; the second gets through."""
    first = cut_run
    second = RunFolder(first.path.with_name("tiny-ffffffffff"))
    shutil.copytree(first.path, second.path)
    begun = []

    def see_through(folder, client, *, retry_failed):
        begun.append(folder.id)
        if folder.id == first.id:
            shutil.rmtree(folder.path)
            raise MachineError(f"cannot write {folder.report}: No such file or directory")
        folder.write_state("done", done=17, total=17)
        return "done"

    def sleep(seconds):
        if not any(coordinate._is_to_do(folder) for folder in (first, second)):
            raise SystemExit(STOPPED)

    monkeypatch.setattr(coordinate, "cluster_client", lambda *_, **__: nullcontext())
    monkeypatch.setattr(coordinate, "coordinate", see_through)
    monkeypatch.setattr(coordinate.time, "sleep", sleep)
    return first, second, begun


def test_one_that_watches_goes_on_with_other_runs(invoke, two_runs):
    first, second, begun = two_runs
    done = invoke("coordinator", "--watch", *WHERE, code=STOPPED)
    assert sorted(begun) == sorted([first.id, second.id])
    assert second.read_state()["state"] == "done"
    assert f"{first.id}: cannot write" in done.stderr
    assert "it was removed" in done.stderr
    assert f"{second.id}: done" in done.stderr


def test_one_that_was_given_the_run_says_so_and_fails(invoke, two_runs):
    first, _, begun = two_runs
    done = invoke("coordinator", first.id, *WHERE, code=1)
    assert begun == [first.id]
    assert "No such file or directory" in done.stderr
