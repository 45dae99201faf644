"""The same bytes in process and on any number of workers; workers that die are replaced."""

import os
import signal

import pytest

from mlfs_dask.jobs import agenda
from mlfs_dask.jobs.results import open_run

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _many_tasks(monkeypatch):
    """Every unit a task of its own: results travel from worker to worker."""
    monkeypatch.setattr(agenda, "_LONG_SECONDS", 0.0)


def test_in_process_and_2_and_4_workers_give_the_same_bytes(run_tiny, tmp_path):
    """One worker is in the test below."""
    found = set()
    for workers in (0, 2, 4):
        folder = run_tiny(f"run.workers={workers}", runs=tmp_path / str(workers)).folder
        found.add((folder.id, folder.results.read_bytes(), folder.evaluation.read_bytes()))
        places = {unit["worker"] for unit in open_run(folder.path).timings["units"]}
        assert len(places) <= max(1, workers)
        if workers:
            assert not any(place.endswith(f":{os.getpid()}") for place in places)
    assert len(found) == 1


def test_a_worker_that_is_killed_costs_nothing_but_time(run_tiny, tmp_path):
    class Killer:
        killed = False

        def start(self, run, *, done, total, where):
            pass

        def step(self, steps):
            pass

        def unit(self, outcome):
            if not self.killed:
                self.killed = True
                os.kill(int(outcome.worker.rpartition(":")[2]), signal.SIGKILL)

        def end(self, state):
            pass

    killer = Killer()
    finished = run_tiny("run.workers=1", progress=killer)
    assert killer.killed
    assert finished.state == "done"
    undisturbed = run_tiny(runs=tmp_path / "other").folder
    assert finished.folder.results.read_bytes() == undisturbed.results.read_bytes()
    assert finished.folder.evaluation.read_bytes() == undisturbed.evaluation.read_bytes()
