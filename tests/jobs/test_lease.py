"""One writer per run across machines: numbers that grow, and writers that notice they lost it."""

import json
import os
import signal
import time

import pytest

from mlfs_dask.errors import LeaseLostError, RunFolderError, RunInterruptedError
from mlfs_dask.jobs import lease
from mlfs_dask.jobs.coordinator import resume_run
from mlfs_dask.jobs.journal import Journal, read_journal
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import find_run
from mlfs_dask.storage import claims


def results(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def own(run, **more):
    return lease.own(run, run / "lock", **more)


def elsewhere(run, number=1, *, seconds_ago=0.0, **facts):
    """An owner on another machine."""
    (run / "owners").mkdir(exist_ok=True)
    file = run / "owners" / f"{number:08d}.json"
    file.write_text(json.dumps({"host": "elsewhere", "pid": 7, "since": "noon", **facts}))
    os.utime(file, (time.time() - seconds_ago,) * 2)


def test_numbers_grow_and_the_last_two_stay(tmp_path):
    for _ in range(4):
        with own(tmp_path) as mine:
            mine.check()
            assert mine.cut_off is False
    assert [file.name for file in sorted((tmp_path / "owners").iterdir())] == [
        "00000003.json",
        "00000004.json",
    ]


def test_a_second_owner_is_refused_and_the_next_of_its_chain_wins(tmp_path):
    with own(tmp_path, chain="a") as first:
        with pytest.raises(RunFolderError, match=f"process {os.getpid()} on"), own(tmp_path):
            pass
        with pytest.raises(RunFolderError, match="being written"), own(tmp_path, chain="b"):
            pass
        first.check()
        with own(tmp_path, chain="a") as second:
            second.check()
            assert second.cut_off
            with pytest.raises(LeaseLostError, match=f"process {os.getpid()} on"):
                first.check()
        assert lease.holder(tmp_path, tmp_path / "lock") is not None  # the first still has the lock
    assert lease.holder(tmp_path, tmp_path / "lock") is None


def test_an_owner_elsewhere_lives_while_it_gives_signs(tmp_path):
    elsewhere(tmp_path)
    assert lease.holder(tmp_path, tmp_path / "lock")["host"] == "elsewhere"
    with pytest.raises(RunFolderError, match="process 7 on elsewhere, since noon"), own(tmp_path):
        pass
    with pytest.raises(RunFolderError, match="process 7 on elsewhere"):
        lease.refuse_owned(tmp_path, tmp_path / "lock")
    elsewhere(tmp_path, seconds_ago=claims.STALE_SECONDS + 5)
    with own(tmp_path) as mine:
        assert mine.cut_off


def test_an_owner_that_left_is_no_hindrance(tmp_path):
    elsewhere(tmp_path, left=True)
    assert lease.holder(tmp_path, tmp_path / "lock") is None
    with own(tmp_path) as mine:
        assert not mine.cut_off


def test_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.01)
    with own(tmp_path):
        (file,) = (tmp_path / "owners").iterdir()
        os.utime(file, (0, 0))
        deadline = time.monotonic() + 60
        while file.stat().st_mtime < 1:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_removed_run_is_lost_too(tmp_path):
    with own(tmp_path) as mine:
        for file in (tmp_path / "owners").iterdir():
            file.unlink()
        with pytest.raises(LeaseLostError, match="was removed or moved"):
            mine.check()


def test_lines_of_the_owner_before_go_nowhere(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as before:
        before.append("unit", unit="a")
        with Journal(path, renew=True) as after:
            before.append("unit", unit="of the owner before")  # it had looked just before
            after.append("unit", unit="b")
    assert [event["unit"] for event in read_journal(path)[0]] == ["a", "b"]


def test_a_coordinator_that_was_cut_off_stops_and_the_results_are_those_of_one(run_tiny, tmp_path):
    undisturbed = results(run_tiny(runs=tmp_path / "other").folder)

    class Interrupted(Silent):
        def unit(self, outcome):
            os.kill(os.getpid(), signal.SIGINT)

    class TakenOver(Silent):
        units = 0

        def unit(self, outcome):
            self.units += 1
            if self.units == 9:
                folder = find_run("tiny", tmp_path / "runs")
                assert resume_run(folder, chain="a").state == "done"

    with pytest.raises(RunInterruptedError):
        run_tiny(progress=Interrupted())
    begun = find_run("tiny", tmp_path / "runs")
    progress = TakenOver()
    with pytest.raises(LeaseLostError, match="has taken over this run"):
        resume_run(begun, chain="a", progress=progress)
    assert progress.units == 9
    folder = find_run("tiny", tmp_path / "runs")
    assert results(folder) == undisturbed
    assert folder.read_state()["state"] == "done"
    units = [event["unit"] for event in open_run(folder.path).events if event["event"] == "unit"]
    assert len(units) == len(set(units))


def test_a_run_owned_elsewhere_is_running(run_tiny):
    folder = run_tiny().folder
    state = json.loads(folder.state.read_bytes())
    folder.state.write_text(json.dumps({**state, "state": "running"}))
    assert folder.read_state()["state"] == "interrupted"
    elsewhere(folder.path, number=2)
    assert folder.read_state()["state"] == "running"
    assert folder.owner()["host"] == "elsewhere"
