"""Runs that follow a store: blocks come while they wait; kills, Ctrl-C, stop rules, refusals."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from mlfs_dask.errors import JobFileError, RunFolderError, RunInterruptedError
from mlfs_dask.jobs.agenda import Agenda
from mlfs_dask.jobs.coordinator import Order, resume_run, run_job
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rows import costs_of
from mlfs_dask.jobs.rundir import RunFolder, all_runs
from mlfs_dask.jobs.units import units_of
from mlfs_dask.storage.append import append, close
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
CUTS = (0, 3, 4, 9)
JOB = """
schema = 1
name = "grow"
[data]
store = {store}
[[select]]
method = "nrs-stream"
follow = true
[[select]]
method = "ofs-a3m"
follow = true
[[select]]
method = "variance"
[evaluate]
split = {{ kind = "kfold", folds = 2 }}
features = {{ selected = true }}
metrics = ["hamming_loss"]
[[evaluate.classifier]]
method = "mlknn"
n_neighbors = 3
"""


def table(block, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((50, CUTS[-1])).round(2)
    Y = (X[:, [0, 5, 7]] + 0.2 * rng.random((50, 3)) > 0.6).astype(np.uint8)
    columns = slice(CUTS[block], CUTS[block + 1])
    names = [f"f{f}" for f in range(CUTS[-1])][columns]
    return ArrayTable(X[:, columns], Y, feature_names=names)


@pytest.fixture
def store(tmp_path):
    ingest(table(0), tmp_path / "s.zarr", tile=16, name="s")
    return tmp_path / "s.zarr"


def order(store, tmp_path, *overrides, **more):
    text = JOB.format(store=json.dumps(str(store)))
    job = parse_job(text.encode(), "grow.toml", ("run.workers=0", *overrides))
    return Order(job=job, text=text.encode(), runs=tmp_path / "runs", **more)


def test_the_plan_says_who_will_wait(store, tmp_path):
    job = order(store, tmp_path).job
    assert make_plan(job, open_datasets(job)).waits == {"s": ["nrs-stream", "ofs-a3m"]}
    close(store)
    assert make_plan(job, open_datasets(job)).waits == {}


def test_a_file_of_costs_may_name_features_to_come(store, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("".join(f"f{f},{f + 1}\n" for f in reversed(range(9))))
    costs = f"data.costs={file}"
    job = order(store, tmp_path, costs).job
    assert costs_of(job, *open_datasets(job)).tolist() == [1, 2, 3]
    append(store, table(1))
    assert costs_of(job, *open_datasets(job)).tolist() == [1, 2, 3, 4]
    alone = ("select.0.follow=false", "select.1.follow=false")
    with pytest.raises(JobFileError, match=r"costs.csv:1: no feature is named 'f8'"):
        open_datasets(order(store, tmp_path, costs, *alone).job)


def wait_until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.05)


def is_waiting(runs, decided):
    """Whether the run waits, with so many decisions journaled for each of its two streams."""
    found = all_runs(runs)
    if not found or not found[0].read_state().get("waiting"):
        return False
    in_hand = open_run(found[0].path).in_hand
    return [item.decided for item in in_hand] == [decided, decided]


def meanwhile(*steps):
    """A thread that takes steps one by one, each as soon as something holds."""

    def work():
        for holds, step in steps:
            wait_until(holds)
            step()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """Selections and evaluation of a run on the store with all blocks, closed from the start."""
    home = tmp_path_factory.mktemp("whole")
    ingest(table(0), home / "s.zarr", tile=16, name="s")
    for block in (1, 2):
        append(home / "s.zarr", table(block))
    close(home / "s.zarr")
    finished = run_job(order(home / "s.zarr", home))
    assert finished.state == "done"
    return outcome_of(finished.folder)


def outcome_of(folder):
    run = open_run(folder.path)
    return run.selections, str(run.evaluation.tolist())  # NaN is NaN there


def test_blocks_are_picked_up_until_the_store_is_closed(store, tmp_path, at_once):
    runs = tmp_path / "runs"
    subsets = []

    def note():
        in_hand = open_run(all_runs(runs)[0].path).in_hand
        subsets.append({item.what.split()[1]: item.subset for item in in_hand})

    thread = meanwhile(
        (lambda: is_waiting(runs, 3), lambda: (note(), append(store, table(1)))),
        (lambda: is_waiting(runs, 4), lambda: (note(), append(store, table(2)))),
        (lambda: is_waiting(runs, 9), lambda: (note(), close(store))),
    )
    finished = run_job(order(store, tmp_path))
    thread.join()
    assert finished.state == "done"
    assert outcome_of(finished.folder) == at_once
    run = open_run(finished.folder.path)
    assert run.datasets["s"]["features"] == [f"f{f}" for f in range(9)]
    taken = [event for event in run.events if event["event"] == "block"]
    assert [(event["block"], event["features"]) for event in taken] == [(1, 1), (2, 5)]
    # After any prefix the folder held the subset by then: members of the final path up to there.
    for decided, found in zip((3, 4, 9), subsets, strict=True):
        assert set(found) == {"nrs-stream", "ofs-a3m"}
        for selector, subset in found.items():
            path = run.selection(selector)["path"][:decided]
            gone = {g for step in path if step["kept"] for g in step.get("features", ())}
            kept = [step["feature"] for step in path if step["kept"]]
            assert list(subset) == [f for f in kept if f not in gone]
    steps = [event for event in run.events if event["event"] == "step"]
    assert sum(len(event["decided"]) for event in steps if event["first"] < 9) >= 18
    assert not run_job(order(store, tmp_path)).fresh
    assert [folder.id for folder in all_runs(runs)] == [finished.folder.id]


def test_a_stop_rule_ends_it(store, tmp_path):
    stops = ("select.0.max_features=1", "select.1.max_features=1")
    finished = run_job(order(store, tmp_path, *stops))
    assert finished.state == "done"
    run = open_run(finished.folder.path)
    assert run.selection("nrs-stream [max_features=1]")["stop"] == "1 feature is selected"


def test_resume_takes_the_store_as_it_was_when_the_run_does_not_follow(store, tmp_path):
    quiet = ("select.0.follow=false", "select.1.follow=false")
    finished = run_job(order(store, tmp_path, *quiet))
    before = finished.folder.results.read_bytes()
    finished.folder.results.unlink()
    append(store, table(1))
    again = resume_run(finished.folder)
    assert again.state == "done"
    assert again.folder.results.read_bytes() == before
    other = run_job(order(store, tmp_path, *quiet))
    assert other.folder.id != finished.folder.id


def start(*words, runs):
    return subprocess.Popen(
        [*MLFS, *words, "--runs", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def job(store, tmp_path):
    path = tmp_path / "grow.toml"
    path.write_text(JOB.format(store=json.dumps(str(store))))
    return path


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_killed_while_it_waits_and_resumed(job, store, tmp_path, at_once, workers):
    runs = tmp_path / "runs"
    process = start("run", str(job), "--workers", "0", runs=runs)
    wait_until(lambda: is_waiting(runs, 3))
    append(store, table(1))
    wait_until(lambda: is_waiting(runs, 4))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (folder,) = all_runs(runs)
    assert folder.read_state()["state"] == "interrupted"
    assert [item.decided for item in open_run(folder.path).in_hand] == [4, 4]
    append(store, table(2))
    close(store)
    process = start("resume", folder.id, "--workers", workers, runs=runs)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    assert outcome_of(folder) == at_once
    steps = [e for e in open_run(folder.path).events if e["event"] == "step"]
    places = [(e["unit"], e["first"] + i) for e in steps for i in range(len(e["decided"]))]
    assert len(places) == len(set(places)), "a decision was made again"


def test_ctrl_c_while_it_waits_says_how_to_go_on(job, store, tmp_path, at_once):
    runs = tmp_path / "runs"
    process = start("run", str(job), "--workers", "0", runs=runs)
    wait_until(lambda: is_waiting(runs, 3))
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    (folder,) = all_runs(runs)
    assert process.returncode == 1
    assert f"Go on with: mlfs resume {folder.id}" in told
    assert "Traceback" not in told
    assert folder.read_state()["state"] == "interrupted"
    for block in (1, 2):
        append(store, table(block))
    close(store)
    finished = run_job(order(store, tmp_path))  # the same job finds the run that it began
    assert finished.folder.path == folder.path
    assert outcome_of(folder) == at_once


def test_a_store_that_lost_blocks_is_refused(store, tmp_path):
    append(store, table(1))
    begun = order(store, tmp_path)
    thread = meanwhile(
        (lambda: is_waiting(begun.runs, 4), lambda: append(store, table(2))),
        (lambda: is_waiting(begun.runs, 9), lambda: cancel(begun.runs)),
    )
    with pytest.raises(RunInterruptedError):
        run_job(begun)
    thread.join()
    (folder,) = all_runs(begun.runs)
    (store / "blocks" / "0002").rename(tmp_path / "away")
    with pytest.raises(RunFolderError, match="has lost blocks of features that the run took up"):
        resume_run(folder)
    append(store, ArrayTable(np.zeros((50, 1)), table(0)._Y, feature_names=["f9"]))
    with pytest.raises(RunFolderError, match="has lost blocks"):
        resume_run(folder)


def cancel(runs):
    RunFolder(all_runs(runs)[0].path).cancel.touch()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("select.2.follow=true", "select.2.follow: true is for nrs-stream and ofs-a3m"),
        ("select.0.arrival='random'", "select.0.arrival: does not go with follow = true"),
        ("select.0.arrival=[0, 1]", "select.0.arrival: does not go with follow = true"),
        ("select.0.final=false", "select.0.final: does not go with follow = true"),
        ("select.1.prefilter={method='variance', n=2}", "select.1.prefilter: does not go with"),
        ("select.0.follow=1", "select.0.follow: 1 is not allowed; expected true or false"),
        ("select.0.max_features=0", "select.0.max_features: 0"),
    ],
)
def test_what_does_not_go_with_it(store, tmp_path, change, words):
    with pytest.raises(JobFileError) as error:
        order(store, tmp_path, change)
    assert words in str(error.value)
    assert not (tmp_path / "runs").exists()


def test_what_follows_comes_ahead_of_its_data_set_and_alone(store, tmp_path):
    from mlfs_dask.storage.store import open_store

    job = order(store, tmp_path).job
    sizes = dict.fromkeys(("s", "t"), Sizes.of(open_store(store)))
    units = units_of(job, ["s", "t"])
    ahead = [u for u in units if u.dataset == "s" and u.fold is None and u.selector != "variance"]
    agenda = Agenda(job, units, sizes, ahead=ahead)
    given = []
    while (group := agenda.next()) is not None:
        given.append(group)
        if group[0] not in ahead:
            assert {unit.dataset for unit in group} == {"t"}
            for unit in group:
                agenda.finish(unit)
    alone = [group for group in given if group[0] in ahead]
    assert sorted(alone, key=str) == sorted([(unit,) for unit in ahead], key=str)
    agenda.finish(ahead[0])
    agenda.add(ahead[1])
    assert agenda.next() == (ahead[1],)
    assert agenda.next() is None
    agenda.finish(ahead[1], failed=True)
    group = agenda.next()
    assert group is not None
    assert {unit.dataset for unit in group} == {"s"}
