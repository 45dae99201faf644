"""Journals of objects written once: read as their concatenation, fenced by their numbers."""

import threading

import pytest

from mlfs_dask.errors import LeaseLostError, RunFolderError
from mlfs_dask.jobs import lease
from mlfs_dask.jobs.follow import JournalTail
from mlfs_dask.jobs.journal import Journal, read_journal
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.storage import claims
from mlfs_dask.storage.places import place


@pytest.fixture
def run(bucket):
    return RunFolder(place(f"{bucket}/runs/tiny-0123456789"))


def own(run, **more):
    return lease.own(run.path, run.lock, **more)


def test_many_lines_take_few_objects(run):
    with Journal(run.journal, batch_seconds=0.2) as journal:
        for number in range(5000):
            journal.append("step", unit="a", number=number)
    events = read_journal(run.journal)[0]
    assert [event["number"] for event in events if event["event"] == "step"] == list(range(5000))
    names = [path.name for path in run.journal.iterdir()]
    assert names[0] == "00000001.jsonl"
    assert len(names) < 60


def test_a_step_of_a_second_is_there_at_once_and_the_rest_within_one(run):
    tail = JournalTail(run.journal)
    with Journal(run.journal, batch_seconds=1.0) as journal:
        journal.append("step", unit="long", seconds=1.5)
        assert [event.get("unit") for event in tail.read()] == [None, "long"]
        journal.append("step", unit="short", seconds=0.1)
        waiting = threading.Event()
        for _ in range(300):
            if found := [event["unit"] for event in tail.read()]:
                break
            waiting.wait(0.1)
    assert found == ["short"]


def test_what_was_not_put_is_not_there_and_the_next_owner_goes_on(run):
    killed = Journal(run.journal, batch_seconds=1e6)
    killed.append("unit", unit="a", seconds=1e7)
    killed.append("unit", unit="lost")  # and now a power cut
    seen = []
    with Journal(run.journal, seen.append) as journal:
        assert [event.get("unit") for event in seen if event["event"] == "unit"] == ["a"]
        journal.append("unit", unit="b")
    units = [e["unit"] for e in read_journal(run.journal)[0] if e["event"] == "unit"]
    assert units == ["a", "b"]


def test_who_lost_the_run_writes_no_line_after_the_first_one_of_its_successor(run):
    with Journal(run.journal, batch_seconds=1e6) as after:
        pass
    before = Journal(run.journal, batch_seconds=1e6)
    before.append("unit", unit="a", seconds=1e7)
    with Journal(run.journal, batch_seconds=1e6) as after:
        before.append("unit", unit="too late")
        with pytest.raises(LeaseLostError, match="taken over the run at s3://"):
            before.sync()
        after.append("unit", unit="b")
    units = [e["unit"] for e in read_journal(run.journal)[0] if e["event"] == "unit"]
    assert units == ["a", "b"]


def test_two_that_take_the_journal_at_once_follow_one_another(run, monkeypatch):
    taken = []

    def take():
        taken.append(Journal(run.journal, batch_seconds=1e6))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lost = 0
    for journal in taken:
        journal.append("unit", unit="a")
        try:
            journal.sync()
        except LeaseLostError:
            lost += 1
    assert lost == 3
    events = read_journal(run.journal)[0]
    assert [event["event"] for event in events] == ["owner"] * 4 + ["unit"]


def test_lost_and_changed_objects_are_told(run):
    for _ in range(3):
        with Journal(run.journal) as journal:
            journal.append("unit", unit="a")
    first, *_, last = run.journal.iterdir()
    content = first.read_bytes()
    first.write_bytes(content.replace(b"owner", b"0wner"))
    with pytest.raises(RunFolderError, match="journal:1"):
        read_journal(run.journal)
    first.write_bytes(content)
    last.write_bytes(last.read_bytes()[:-5])
    with pytest.raises(RunFolderError, match="was changed"):
        Journal(run.journal)
    first.unlink()
    with pytest.raises(RunFolderError, match="is lost"):
        read_journal(run.journal)


def test_a_second_owner_is_told_and_one_that_left_is_no_hindrance(run):
    with own(run) as first:
        assert run.owner()["pid"]
        with pytest.raises(RunFolderError, match="being written by process"), own(run):
            pass
        first.check()
    assert run.owner() is None
    with own(run) as mine:
        assert not mine.cut_off


def test_an_owner_whose_process_is_gone_is_dead_at_once(run, monkeypatch):
    (run.path / "owners" / "00000001.json").write_bytes(
        b'{"host": "elsewhere", "pid": 1, "machine": "another"}'
    )
    with pytest.raises(RunFolderError, match="process 1 on elsewhere"), own(run):
        pass  # on another machine it may live
    with monkeypatch.context() as later:
        later.setattr(claims, "STALE_SECONDS", -60.0)
        with own(run) as mine:
            assert mine.cut_off
    lost = own(run)
    lost.__enter__()
    monkeypatch.setattr(claims, "_started", lambda pid: 0.0)
    with own(run) as mine:
        assert mine.cut_off


def test_signs_of_life(run, monkeypatch):
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.1)
    with own(run):
        (file,) = (run.path / "owners").iterdir()
        begun, waiting = file.stat().st_mtime, threading.Event()
        for _ in range(300):
            if file.stat().st_mtime > begun:
                break
            waiting.wait(0.1)
        assert file.stat().st_mtime > begun


def test_of_many_that_come_at_once_one_owns_the_run(run):
    owned, told, hold = [], [], threading.Event()

    def take():
        try:
            with own(run):
                owned.append(1)
                hold.wait(60)
        except RunFolderError:
            told.append(1)
        if len(told) == 3:
            hold.set()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(owned), len(told)) == (1, 3)
