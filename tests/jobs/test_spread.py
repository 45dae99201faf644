"""Long tasks whose kernels run on the workers: the same bytes, also when a worker dies."""

import os
import signal

import pytest

from mlfs_dask.jobs import agenda, on_cluster, spread
from mlfs_dask.jobs.local_processes import LocalProcesses
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.work import Failure, Outcome

pytestmark = pytest.mark.cluster

FEW_UNITS = ("evaluate.split.repeats=1", "evaluate.split.folds=2")


def outputs(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def incidents(folder):
    events = open_run(folder.path).events
    return [event["message"] for event in events if event["event"] == "incident"]


@pytest.fixture
def everything_is_spread(monkeypatch):
    monkeypatch.setattr(agenda, "_LONG_SECONDS", 0.0)  # and no two units make one task
    monkeypatch.setattr(on_cluster, "is_worth_it", lambda *_: True)


def test_spread_tasks_give_the_same_bytes_and_outlive_a_worker(
    run_tiny, tmp_path, everything_is_spread, monkeypatch
):
    expected = outputs(run_tiny(*FEW_UNITS, runs=tmp_path / "here").folder)
    clusters = []
    begin = LocalProcesses.__enter__

    def noted(self):
        clusters.append(begin(self)._client)
        clusters[0].get_task_stream()  # from now on what workers do is noted
        return self

    class Killer:
        def start(self, run, *, done, total, where):
            pass

        def step(self, steps):
            pass

        def unit(self, outcome):
            if self.pids is None:
                kernels.extend(clusters[0].get_task_stream())
                self.pids = list(clusters[0].run(os.getpid).values())
                os.kill(self.pids[0], signal.SIGKILL)

        def end(self, state):
            pass

        pids = None

    kernels = []
    monkeypatch.setattr(LocalProcesses, "__enter__", noted)
    done = run_tiny("run.workers=2", *FEW_UNITS, runs=tmp_path / "there", progress=Killer())
    assert done.state == "done"
    assert kernels
    assert "units-" not in str(kernels)
    assert outputs(done.folder) == expected
    places = {unit["worker"] for unit in open_run(done.folder.path).timings["units"]}
    assert any(place.endswith(f":{os.getpid()}") for place in places)
    assert any("was lost" in message for message in incidents(done.folder))


@pytest.mark.slow
def test_what_was_lost_with_workers_starts_anew_on_one(
    run_tiny, tmp_path, everything_is_spread, monkeypatch
):
    expected = outputs(run_tiny(*FEW_UNITS, runs=tmp_path / "here").folder)
    times = []

    def lost_at_first(task, tell, should_stop):
        times.append(task)
        failure = Failure(
            error="FutureCancelledError", message="lost", hint=None, exit_code=1, traceback=""
        )
        yield Outcome(unit=task.units[0], payload=None, failure=failure, seconds=0.0, worker="me")

    monkeypatch.setattr(spread, "run_task", lost_at_first)
    done = run_tiny("run.workers=2", *FEW_UNITS, runs=tmp_path / "there")
    assert done.state == "done"
    assert times
    assert outputs(done.folder) == expected
    told = [message for message in incidents(done.folder) if "starts anew on one" in message]
    assert len(told) == len(times)
