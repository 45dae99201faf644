"""Reading: each line of a journal once, each file only when it changed, time left by the pace."""

import json
import shutil
from pathlib import Path

import pytest
from made_runs import MadeRun, start

from mlfs_dask.dashboard import listing
from mlfs_dask.dashboard.board import Board
from mlfs_dask.dashboard.chosen import Selections
from mlfs_dask.dashboard.links import base_of
from mlfs_dask.dashboard.listing import Runs
from mlfs_dask.dashboard.pace import seconds_left
from mlfs_dask.dashboard.stages import FOLDS_SHOWN, folds_of
from mlfs_dask.dashboard.track import Done, Track
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.units import Unit
from mlfs_dask.storage.atomic import new_file


@pytest.fixture
def folder(tmp_path):
    """A run with an empty journal."""
    path = tmp_path / "runs" / "a-0123456789"
    path.mkdir(parents=True)
    return RunFolder(path)


def step(journal, unit, first, *features):
    decided = [{"feature": feature, "reason": f"{feature}"} for feature in features]
    facts = {"unit": unit, "first": first, "decided": decided, "seconds": 0.0, "worker": "w:1"}
    journal.append("step", **facts)


def done(journal, unit, seconds=1.0):
    facts = {"unit": unit, "what": unit, "worker": "w:1", "sha256": "", "bytes": 1, "notes": []}
    journal.append("unit", seconds=seconds, **facts)


def begin(journal, units, done_before=0, **more):
    event, facts = start(units, done=done_before)
    journal.append(event, **facts, **more)


def test_a_track_follows_a_run_through_interruptions(folder):
    track = Track(folder)
    track.read()
    assert track.events == 0
    with Journal(folder.journal) as journal:
        begin(journal, 4, plan={"seconds": 40.0, "memory_bytes": 5, "memory_limit_bytes": None})
        track.read()
        assert track.left(0, 4) == pytest.approx(40.0)
        step(journal, "a", 0, 7, 8)
        done(journal, "b")
        journal.append("incident", message="worker w was lost")
        track.read()
        assert track.events == 4
        assert track.in_hand["a"].decided == 2
        assert set(track.done) == {"b"}
        journal.append("stop", signal="SIGINT", cancelled=False)
    with Journal(folder.journal) as journal:  # somebody takes it up
        begin(journal, 4, done_before=1)
        step(journal, "a", 1, 8, 9)  # what it knew it may say again
        journal.append("incident", message="worker w was lost")
        track.read()
    assert [record["feature"] for record in track.in_hand["a"].last] == [7, 8, 9]
    assert track.in_hand["a"].decided == 3
    assert [session.end for session in track.sessions] == ["stopped by SIGINT", ""]
    assert [each.times for each in track.incidents.values()] == [2]
    assert track.sessions[1].done_before == 1


def test_a_failed_unit_that_is_done_later_is_no_failure(folder):
    track = Track(folder)
    with Journal(folder.journal) as journal:
        begin(journal, 1)
        facts = {"unit": "a", "what": "a", "worker": "w", "error": "E", "message": "m"}
        journal.append("failed", **facts, hint=None, exit_code=1, traceback="")
        track.read()
        assert set(track.failed) == {"a"}
        done(journal, "a")
        track.read()
    assert (track.failed, set(track.done)) == ({}, {"a"})


def test_no_line_is_read_twice_and_a_journal_put_in_place_anew_goes_on(folder, monkeypatch):
    from mlfs_dask.jobs import follow

    parsed = []
    parse = follow._parsed
    monkeypatch.setattr(follow, "_parsed", lambda line: parsed.append(line) or parse(line))
    track = Track(folder)
    with Journal(folder.journal) as journal:
        begin(journal, 100)
        for number in range(50):
            done(journal, f"u{number}")
            track.read()
    assert len(parsed) == 51
    with new_file(folder.journal) as partial:  # as another coordinator does it
        partial.write_bytes(folder.journal.read_bytes())
    with Journal(folder.journal) as journal:
        done(journal, "last")
    track.read()
    assert len(parsed) == 52
    assert len(track.done) == 51


def test_runs_that_did_not_change_are_not_read_again(tmp_path, monkeypatch):
    for number in range(5):
        MadeRun(f"run{number}").write(tmp_path)
    looked = []
    read = listing._read
    monkeypatch.setattr(listing, "_read", lambda key, run: looked.append(key) or read(key, run))
    runs = Runs([tmp_path])
    runs.refresh()
    assert len(looked) == 5
    runs.refresh()
    assert len(looked) == 5
    RunFolder(tmp_path / "run3-0123456789").write_state("failed", done=1, total=3)
    runs.refresh()
    assert looked[5:] == ["run3-0123456789"]
    assert {row.run: row.state for row in runs.listing.rows}["run3-0123456789"] == "failed"


def test_a_run_whose_writer_died_is_interrupted_until_somebody_takes_it_up(tmp_path):
    made = MadeRun("dies")
    made.state = "running"
    folder = RunFolder(made.write(tmp_path).path)
    runs = Runs([tmp_path])
    runs.refresh()
    assert runs.row(folder.id).state == "interrupted"
    from mlfs_dask.jobs.lease import own

    with own(folder.path, folder.lock):  # it has not written its state yet
        runs.refresh()
        assert runs.row(folder.id).state == "running"
    runs.refresh()
    assert runs.row(folder.id).state == "interrupted"


def test_time_left_goes_by_the_pace_of_this_session():
    known = {"done": 30, "total": 50, "planned": None}
    assert seconds_left(**known, fresh=10, elapsed=20.0) == 40.0
    assert seconds_left(**known, fresh=0, elapsed=20.0) is None
    assert seconds_left(done=50, total=50, fresh=0, elapsed=1.0, planned=None) == 0.0
    assert seconds_left(done=0, total=10, fresh=0, elapsed=90.0, planned=60.0) is None
    assert seconds_left(done=0, total=0, fresh=0, elapsed=0.0, planned=0.0) == 0.0


def test_the_way_back_to_the_folder_of_all_pages():
    from urllib.parse import urljoin

    for path in ("", "/", "/runs/x", "/runs/x/", "/api/runs", "/no/such/page/"):
        assert urljoin(f"http://h/p/mlfs{path}", base_of(path)) == "http://h/p/mlfs/"


def test_numbers_that_json_does_not_know_are_null():
    from mlfs_dask.dashboard.pages import as_json

    odd = {"a": [float("nan"), {"b": float("-inf")}], "c": "\ud800 text"}
    assert json.loads(as_json(odd)) == {"a": [None, {"b": None}], "c": "\ud800 text"}


def test_what_a_stream_discarded_is_not_among_the_features_chosen():
    unit = Unit(kind="select", dataset="d", selector="s")
    track = Track(RunFolder(Path("nowhere")))
    track.done[unit.id] = Done(1.0, "w:1", "2026-01-01T00:00:00+00:00")
    path = [
        {"feature": 2, "reason": "accepted: dependency grows", "score": 0.5},
        {"feature": 0, "reason": "discarded: redundant", "score": 0.0},
        {"feature": 1, "reason": "accepted: no worse", "score": float("nan")},
    ]
    record = {"order": [2, 1], "scores": [None, 0.1, 0.5], "support": [1, 2], "path": path}
    (chosen,), left_out = Selections().so_far([unit], track, lambda _: "abc", lambda _: record)
    assert [(f.rank, f.name, f.score) for f in chosen.features] == [(1, "c", 0.5), (2, "b", None)]
    assert (chosen.n_decided, chosen.is_done, left_out) == (2, True, 0)


def test_of_many_folds_those_that_are_not_finished_come_first():
    units = [
        Unit(kind="select", dataset="d", selector="s", repeat=repeat, fold=0)
        for repeat in range(FOLDS_SHOWN + 5)
    ]
    track = Track(RunFolder(Path("nowhere")))
    for unit in units[:-1]:
        track.done[unit.id] = Done(1.0, "w:1", "2026-01-01T00:00:00+00:00")
    folds, left_out = folds_of(units, track)
    assert (len(folds), left_out) == (FOLDS_SHOWN, 5)
    assert folds[0].repeat == FOLDS_SHOWN + 4


def test_runs_that_were_removed_are_forgotten(tmp_path):
    for name in ("first", "second"):
        MadeRun(name).write(tmp_path)
    board = Board([tmp_path], None)
    board.runs.refresh()
    first, second = (row.run for row in board.listing.rows)
    assert board._read(first) is not None
    assert board._read(second) is not None
    shutil.rmtree(tmp_path / first)
    board.runs.refresh()
    assert board._read(first) is None
    assert list(board._readers) == [second]
    board.close()
