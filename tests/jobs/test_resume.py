"""Taking runs up from their folders: steps, failures, requests to cancel, and what is refused."""

import json
import os
import shutil
import signal
import time

import pytest

from mlfs_dask.errors import MlfsError, RunFolderError, RunInterruptedError
from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.coordinator import resume_run
from mlfs_dask.jobs.interrupt import StopRequest, stop_on_signals
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import find_run
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

TOY_JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"')
ARRIVALS = 8
SELECTIONS = 7  # per selector: 6 folds and all rows


def results(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def events(folder, kind):
    return [event for event in open_run(folder.path).events if event["event"] == kind]


class At(Silent):
    """Calls something at the n-th step."""

    def __init__(self, count, call):
        self.left, self.call = count, call

    def step(self, steps):
        self.left -= 1
        if self.left == 0:
            self.call()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def undisturbed(toys, run_tiny, tmp_path):
    return results(run_tiny(text=TOY_JOB, runs=tmp_path / "other").folder)


@pytest.fixture
def stopped(toys, run_tiny, tmp_path):
    """A run that was stopped in the middle of its second selection by the toy."""
    with pytest.raises(RunInterruptedError):
        run_tiny(text=TOY_JOB, progress=At(ARRIVALS + 3, interrupt))
    return find_run("tiny", tmp_path / "runs")


def test_each_step_is_an_event_and_none_is_made_twice(undisturbed, stopped):
    assert stopped.read_state()["state"] == "interrupted"
    made = [(e["unit"], e["first"], len(e["decided"])) for e in events(stopped, "step")]
    assert [(first, count) for _, first, count in made] == [
        *((arrival, 1) for arrival in range(ARRIVALS)),
        *((arrival, 1) for arrival in range(3)),
    ]
    assert results(resume_run(stopped).folder) == undisturbed
    after = [(e["unit"], e["first"]) for e in events(stopped, "step")]
    assert len(after) == len(set(after)) == SELECTIONS * ARRIVALS
    units = [event["unit"] for event in events(stopped, "unit")]
    assert len(units) == len(set(units))


def test_the_path_in_the_results_is_what_was_journaled(stopped):
    folder = resume_run(stopped).folder
    journaled = {}
    for event in events(folder, "step"):
        journaled.setdefault(event["unit"], []).extend(event["decided"])
    paths = [s["path"] for s in open_run(folder.path).selections if s["selector"] == "toy-online"]
    assert sorted(map(json.dumps, journaled.values())) == sorted(map(json.dumps, paths))


@pytest.mark.cluster
def test_steps_come_from_workers_and_ctrl_c_ends_the_step(undisturbed, toys, run_tiny, tmp_path):
    slow = TOY_JOB.replace('"toy-online"', '"toy-online"\ndelay = 0.2')
    expected = results(run_tiny(text=slow, runs=tmp_path / "slow").folder)
    started = time.monotonic()
    with pytest.raises(RunInterruptedError):
        run_tiny("run.workers=1", text=slow, progress=At(3, interrupt))
    folder = find_run("tiny", tmp_path / "runs")
    before = events(folder, "step")
    # Three steps, and those made until the worker heard of it: not the 56 of the whole job.
    assert 3 <= len(before) < SELECTIONS * ARRIVALS / 2
    assert results(resume_run(folder, workers=0).folder) == expected
    after = [(e["unit"], e["first"]) for e in events(folder, "step")]
    assert len(after) == len(set(after)) == SELECTIONS * ARRIVALS
    assert time.monotonic() > started


@pytest.mark.cluster
def test_a_lost_worker_costs_no_decision(undisturbed, toys, run_tiny, tmp_path):
    slow = TOY_JOB.replace('"toy-online"', '"toy-online"\ndelay = 0.1')
    expected = results(run_tiny(text=slow, runs=tmp_path / "slow").folder)

    class Killer(Silent):
        killed = None

        def step(self, steps):
            if self.killed is None and steps.first >= 3:
                self.killed = steps.worker
                os.kill(int(steps.worker.rpartition(":")[2]), signal.SIGKILL)

    killer = Killer()
    folder = run_tiny("run.workers=1", text=slow, progress=killer).folder
    assert results(folder) == expected
    assert any("was lost" in event["message"] for event in events(folder, "incident"))
    steps = [(e["unit"], e["first"], e["worker"]) for e in events(folder, "step")]
    assert len({step[:2] for step in steps}) == len(steps) == SELECTIONS * ARRIVALS
    assert len({worker for _, _, worker in steps}) == 2


def test_another_decision_on_replay_is_a_fault(stopped, monkeypatch):
    from toys import ToyEngine

    whole = ToyEngine.replay
    # An engine that forgets: it starts from nothing although three decisions are known.
    monkeypatch.setattr(ToyEngine, "replay", lambda self, decided: self._ask_anew(decided), False)
    monkeypatch.setattr(
        ToyEngine, "_ask_anew", lambda self, decided: whole(self, decided[:1]), raising=False
    )
    finished = resume_run(stopped)
    assert finished.state in ("done", "partial")
    steps = [(e["unit"], e["first"]) for e in events(stopped, "step")]
    assert len(steps) == len(set(steps))


def test_failed_units_stay_failed_until_they_are_asked_for(toys, run_tiny, tmp_path):
    expected = results(run_tiny(text=TOY_JOB, runs=tmp_path / "other").folder)
    switch = tmp_path / "broken"
    switch.touch()
    text = TOY_JOB.replace('"toy-online"', f'"toy-online"\nfails_with = "{switch}"\nlabel = "toy"')
    finished = run_tiny(text=text)
    failed = SELECTIONS + 6
    assert (finished.state, len(finished.failures)) == ("partial", failed)
    assert "told to fail" in events(finished.folder, "failed")[0]["traceback"]
    kept = len(events(finished.folder, "unit"))
    switch.unlink()
    again = resume_run(finished.folder)
    assert (again.state, len(again.failures)) == ("partial", failed)
    assert {failure.message for _, failure in again.failures} == {
        "told to fail",
        "not run, since its selection failed",
    }
    assert len(events(finished.folder, "unit")) == kept
    whole = resume_run(finished.folder, retry_failed=True)
    assert (whole.state, whole.failures) == ("done", ())
    assert len(events(finished.folder, "unit")) == kept + failed
    assert whole.folder.evaluation.read_bytes() != expected[1]  # another label, so another table
    assert len(whole.folder.evaluation.read_bytes().splitlines()) == len(expected[1].splitlines())


def test_a_finished_run_does_no_work(run_tiny, tmp_path, tiny_store):
    folder = run_tiny().folder
    before = {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")}
    tiny_store_path = tmp_path / "stores" / "tiny.zarr"
    tiny_store_path.rename(tmp_path / "elsewhere.zarr")  # nor does it need its data
    finished = resume_run(folder)
    assert (finished.state, finished.fresh) == ("done", False)
    assert {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")} == before


def test_cancelling_a_run_at_work_and_going_on(undisturbed, toys, run_tiny, tmp_path):
    runs = tmp_path / "runs"

    def cancel():
        assert request_cancel(find_run("tiny", runs)) is True

    with pytest.raises(RunInterruptedError, match="was cancelled"):
        run_tiny(
            text=TOY_JOB.replace('"toy-online"', '"toy-online"\ndelay = 0.05'),
            progress=At(2, cancel),
        )
    folder = find_run("tiny", runs)
    assert folder.read_state()["state"] == "cancelled"
    assert not folder.cancel.exists()
    assert len(events(folder, "step")) < SELECTIONS * ARRIVALS
    with pytest.raises(RunFolderError, match="cancelled already"):
        request_cancel(folder)
    assert resume_run(folder).state == "done"
    with pytest.raises(RunFolderError, match="done already"):
        request_cancel(folder)


def test_cancelling_a_run_that_nobody_works_on(undisturbed, stopped):
    assert request_cancel(stopped) is False
    assert stopped.read_state()["state"] == "cancelled"
    assert results(resume_run(stopped).folder) == undisturbed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("data", r"digest of tiny: [0-9a-f]{64} then, [0-9a-f]{64} now"),
        ("job", r"job: digest [0-9a-f]{10} then, [0-9a-f]{10} now"),
        ("version", r"numpy: 0\.1 then"),
        ("tile", r"tile of tiny: 99 then, 16 now"),
        ("n_samples", r"n_samples of tiny: 99 then, 60 now"),
        ("seed", r"seed: 99 then, 3 now"),
        ("processor", r"processor: abacus then"),
        ("journal", r"is the journal of another run, other-123"),
    ],
)
def test_what_differs_is_refused_by_name(stopped, tmp_path, change, told):
    if change == "data":
        shutil.rmtree(tmp_path / "stores" / "tiny.zarr")
        make_tiny_store(tmp_path / "stores", seed=1)
    elif change == "job":
        text = stopped.resolved.read_text()
        stopped.resolved.write_text(text.replace('"delay": 0.0', '"delay": 0.5'))
    elif change == "journal":
        run = json.loads(stopped.manifest.read_text())
        stopped.manifest.write_text(json.dumps({**run, "run": "other-456"}))
        told = "is the journal of another run"
    else:
        run = json.loads(stopped.manifest.read_text())
        if change == "version":
            run["versions"]["numpy"] = "0.1"
        elif change == "processor":
            run["machine"]["processor"] = "abacus"
        elif change == "seed":
            run["seed"] = 99
        else:
            run["datasets"][0][change] = 99
        stopped.manifest.write_text(json.dumps(run))
    with pytest.raises(RunFolderError, match=told):
        resume_run(stopped)


def test_a_store_that_is_gone_is_named(stopped, tmp_path):
    (tmp_path / "stores" / "tiny.zarr").rename(tmp_path / "gone")
    with pytest.raises(MlfsError, match=r"tiny\.zarr"):
        resume_run(stopped)


def test_ctrl_c_after_the_second_tears_nothing_apart():
    cleared = []

    def pressed_three_times():
        with stop_on_signals(StopRequest(), lambda name: None):
            interrupt()
            try:
                interrupt()
            finally:
                interrupt()  # while things are being put away
                cleared.append(True)

    with pytest.raises(KeyboardInterrupt):
        pressed_three_times()
    assert cleared
