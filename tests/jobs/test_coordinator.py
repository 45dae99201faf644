"""Runs: what they leave, what a second call does, what survives stops, faults and changes."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mlfs_dask.errors import MachineError, NotFoundError, RunFolderError, RunInterruptedError
from mlfs_dask.graphs.budget import NOTHING, memory_limit
from mlfs_dask.jobs import coordinator, lock
from mlfs_dask.jobs.evaluation import COLUMNS
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import find_run
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store
from mlfs_dask.testing.tables import ArrayTable

UNITS = 6 * 5 + 2


def results(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def units_run(folder):
    """Ids of all units that were ever committed, in order."""
    events = open_run(folder.path).events
    return [event["unit"] for event in events if event["event"] == "unit"]


def test_a_run_leaves_the_files_of_the_contract(run_tiny):
    finished = run_tiny()
    folder = finished.folder
    assert finished.state == "done"
    assert finished.fresh
    present = {path.name for path in folder.path.iterdir()}
    assert present >= {
        *("job.toml", "resolved.json", "manifest.json", "journal.jsonl", "results.json"),
        *("evaluation.csv", "timings.json", "log.txt", "state.json"),
    }
    assert folder.job.read_text() == TINY_JOB
    state = json.loads(folder.state.read_text())
    assert (state["state"], state["progress"]) == ("done", {"done": UNITS, "total": UNITS})
    assert folder.id in folder.log.read_text()
    assert not [path for path in folder.path.rglob(".*")]


def test_results_hold_what_the_contract_says(run_tiny):
    document = json.loads(run_tiny().folder.results.read_bytes())
    assert (document["format"], len(document["selections"])) == (1, 14)
    assert document["conventions"] == "default"
    (judge,) = document["classifiers"]
    assert (judge["classifier"], judge["method"]) == ("mlknn [n_neighbors=3]", "mlknn")
    assert (judge["params"]["conventions"], judge["params"]["n_neighbors"]) == ("default", 3)
    for selection in document["selections"]:
        assert list(selection) == [
            *("dataset", "selector", "method", "params", "repeat", "fold", "problems", "order"),
            *("scores", "higher_is_better", "support", "cost", "path", "stop"),
        ]
        assert sorted(selection["order"]) == list(range(8))
    final = [s for s in document["selections"] if s["fold"] is None]
    assert [(s["selector"], s["repeat"]) for s in final] == [("SPEC", None), ("mllap", None)]


def test_the_evaluation_is_sorted_and_whole(run_tiny):
    text = run_tiny().folder.evaluation.read_text()
    header, *rows = csv.reader(text.splitlines())
    assert tuple(header) == COLUMNS
    # 6 folds x (2 selectors x 3 points + baseline) x 3 measures
    assert len(rows) == 6 * 7 * 3
    keys = [(r[0], r[1], r[2], int(r[3]), int(r[4]), float(r[5]), float(r[6]), r[8]) for r in rows]
    assert keys == sorted(keys)
    assert {row[7] for row in rows} == {""}
    baseline = [row for row in rows if row[1] == "all"]
    assert {(row[5], row[6]) for row in baseline} == {("8", "1.0")}
    assert all(repr(float(row[9])) == row[9] for row in rows)


def test_an_undefined_value_is_an_empty_field(run_tiny, tmp_path):
    # One label, relevant to one row: two test folds of three have no AUC and no average precision.
    X = np.random.default_rng(0).normal(size=(30, 4))
    Y = np.zeros((30, 1), dtype=np.uint8)
    Y[0] = 1
    ingest(ArrayTable(X, Y), tmp_path / "stores" / "one.zarr", tile=16, name="one")
    finished = run_tiny("data.store=one", "select=[]", "evaluate.split.repeats=1")
    rows = list(csv.DictReader(finished.folder.evaluation.read_text().splitlines()))
    undefined = [r for r in rows if r["metric"] == "auc_macro" and r["n_scored"] == "0"]
    assert len(undefined) == 2
    assert {row["value"] for row in undefined} == {""}
    assert np.isnan(open_run(finished.folder.path).evaluation["value"]).sum() == 4


def test_a_finished_job_is_not_run_again(run_tiny):
    first = run_tiny()
    before = {p: p.stat().st_mtime_ns for p in first.folder.path.rglob("*") if p.is_file()}
    second = run_tiny()
    assert not second.fresh
    assert second.folder.id == first.folder.id
    after = {p: p.stat().st_mtime_ns for p in second.folder.path.rglob("*") if p.is_file()}
    assert after == before


def test_force_starts_another_run(run_tiny):
    ids = [run_tiny("select=[]", force=force).folder.id for force in (True, True, True, False)]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-3", ids[0]]


class StopAfter:
    """Progress that raises a signal after some units."""

    def __init__(self, count, number=signal.SIGINT):
        self.left, self.number = count, number

    def start(self, run, *, done, total, where):
        self.done_before = done

    def step(self, steps):
        pass

    def unit(self, outcome):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)

    def end(self, state):
        self.state = state


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_goes_on_and_ends_with_the_same_bytes(run_tiny, tmp_path, number):
    undisturbed = results(run_tiny(runs=tmp_path / "other").folder)
    with pytest.raises(RunInterruptedError, match="mlfs run x") as caught:
        run_tiny(progress=StopAfter(7, number), command="mlfs run x")
    assert caught.value.exit_code == 1
    folder = find_run("tiny", tmp_path / "runs")
    assert folder.read_state()["state"] == "interrupted"
    assert len(units_run(folder)) == 7
    again = StopAfter(0)
    finished = run_tiny(progress=again)
    assert again.done_before == 7
    assert results(finished.folder) == undisturbed
    assert len(units_run(folder)) == len(set(units_run(folder))) == UNITS


def test_a_second_ctrl_c_stops_at_once(run_tiny, tmp_path):
    class Twice(StopAfter):
        def unit(self, outcome):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_tiny(progress=Twice(0))
    folder = find_run("tiny", tmp_path / "runs")
    assert folder.read_state()["state"] == "interrupted"
    assert run_tiny().state == "done"


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tiny_store, run_tiny, tmp_path):
    """kill -9 in the middle: at most the unit in hand is lost."""
    long = ("evaluate.split.repeats=20",)
    undisturbed = results(run_tiny(*long, runs=tmp_path / "other").folder)
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    command = ["run", str(job), "--set", *long, "--workers", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from mlfs_dask.cli import main; main()", *command],
        env={**os.environ, "MLFS_RUNS": str(tmp_path / "runs")},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "runs").glob("*/units/*.json"))) < 20:
        assert process.poll() is None, "the job ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
    folder = find_run("tiny", tmp_path / "runs")
    assert folder.read_state()["state"] == "interrupted"
    before = units_run(folder)
    assert len(before) >= 19
    finished = run_tiny(*long)
    assert results(finished.folder) == undisturbed
    after = units_run(folder)
    assert after[: len(before)] == before
    assert len(after) == len(set(after))


def test_a_failed_unit_leaves_the_rest_and_is_tried_again(run_tiny, tmp_path, monkeypatch):
    from mlfs_dask.selectors.mllap import MLLAP

    undisturbed = results(run_tiny(runs=tmp_path / "other").folder)
    whole = MLLAP.selection_record

    def broken(self):
        raise ArithmeticError("it broke")

    monkeypatch.setattr(MLLAP, "selection_record", broken)
    finished = run_tiny()
    assert finished.state == "partial"
    # 7 selections of mllap and the 6 curves that would judge them
    assert len(finished.failures) == 13
    failed = [e for e in open_run(finished.folder.path).events if e["event"] == "failed"]
    assert "ArithmeticError: it broke" in failed[0]["traceback"]
    assert {s["selector"] for s in open_run(finished.folder.path).selections} == {"SPEC"}
    monkeypatch.setattr(MLLAP, "selection_record", whole)
    again = run_tiny()
    assert again.state == "done"
    assert results(again.folder) == undisturbed


def test_a_result_cut_short_is_done_again_and_a_changed_one_refused(run_tiny, tmp_path):
    finished = run_tiny()
    folder, expected = finished.folder, results(finished.folder)
    first, second = (folder.unit_file(unit) for unit in units_run(folder)[:2])
    folder.results.unlink()
    first.write_bytes(first.read_bytes()[:-9])
    second.unlink()
    again = run_tiny()
    assert results(again.folder) == expected
    assert len(units_run(folder)) == UNITS + 2
    folder.results.unlink()
    data = first.read_bytes()
    first.write_bytes(data.replace(b"1", b"2", 1))
    with pytest.raises(RunFolderError, match="was changed"):
        run_tiny()


def test_only_one_process_writes_a_run(run_tiny, tmp_path):
    folder = run_tiny().folder
    folder.results.unlink()
    with lock.hold(folder.lock):
        with pytest.raises(RunFolderError, match=f"process {os.getpid()} on"):
            run_tiny()
        assert lock.holder(folder.lock)["pid"] == os.getpid()
    assert lock.holder(folder.lock) is None
    assert run_tiny().state == "done"


def test_other_versions_do_not_go_on_with_a_run(run_tiny, tmp_path):
    with pytest.raises(RunInterruptedError):
        run_tiny(progress=StopAfter(3))
    folder = find_run("tiny", tmp_path / "runs")
    manifest = json.loads(folder.manifest.read_text())
    manifest["versions"]["numpy"] = "1.0"
    manifest["datasets"][0]["tile"] = 32
    folder.manifest.write_text(json.dumps(manifest))
    with pytest.raises(RunFolderError) as caught:
        run_tiny()
    assert caught.value.exit_code == 2
    assert caught.value.facts["differing"] == [
        f"numpy: 1.0 then, {np.__version__} now",
        "tile of tiny: 32 then, 16 now",
    ]


def test_a_full_disk_ends_the_run_and_keeps_what_is_finished(run_tiny, tmp_path, monkeypatch):
    import errno

    from mlfs_dask.jobs.rundir import RunFolder

    whole, count = RunFolder.write_unit, 0

    def full(self, unit_id, payload):
        nonlocal count
        count += 1
        if count > 5:
            raise MachineError(f"cannot write: {os.strerror(errno.ENOSPC)}")
        return whole(self, unit_id, payload)

    monkeypatch.setattr(RunFolder, "write_unit", full)
    with pytest.raises(MachineError):
        run_tiny()
    folder = find_run("tiny", tmp_path / "runs")
    assert folder.read_state()["state"] == "failed"
    monkeypatch.setattr(RunFolder, "write_unit", whole)
    assert run_tiny().state == "done"
    assert len(units_run(folder)) == UNITS


def test_a_file_where_the_runs_should_lie(run_tiny, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotFoundError, match="is a file"):
        run_tiny(runs=tmp_path / "file" / "runs")


def test_holdout_uses_the_split_of_the_store(run_tiny):
    finished = run_tiny("evaluate.split={ kind = 'holdout' }")
    run = open_run(finished.folder.path)
    assert set(run.evaluation["repeat"]) == set(run.evaluation["fold"]) == {0}
    assert set(run.evaluation["n_scored"][run.evaluation["metric"] == "hamming_loss"]) == {20}


def test_several_stores_make_one_run(run_tiny, tmp_path):
    make_tiny_store(tmp_path / "stores", "second", seed=1)
    finished = run_tiny('data.store=["tiny", "second"]')
    run = open_run(finished.folder.path)
    assert set(run.evaluation["dataset"]) == {"tiny", "second"}
    assert run.order("SPEC", "second").shape == (8,)
    from mlfs_dask.errors import InputError

    with pytest.raises(InputError, match="2 selections"):
        run.order("SPEC")


def test_selection_only(run_tiny):
    text = TINY_JOB[: TINY_JOB.index("[evaluate]")]
    run = open_run(run_tiny(text=text).folder.path)
    assert len(run.selections) == 2
    assert len(run.evaluation) == 0


def test_costs_make_cost_shares(run_tiny, tmp_path):
    make_tiny_store(tmp_path / "stores", "costly", feature_cost=np.arange(8.0))
    run = open_run(run_tiny("data.store=costly").folder.path)
    whole = run.evaluation[run.evaluation["n_features"] == 8]
    assert set(whole["cost_share"]) == {1.0}
    first = run.selections[0]
    half = run.evaluation[
        (run.evaluation["selector"] == "SPEC")
        & (run.evaluation["n_features"] == 4)
        & (run.evaluation["repeat"] == 0)
        & (run.evaluation["fold"] == 0)
    ]
    assert half["cost_share"][0] == sum(first["order"][:4]) / 28
    assert first["cost"] == 28.0


def test_small_jobs_in_process_import_no_dask(tiny_store, tmp_path):
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    script = (
        "import sys; from pathlib import Path\n"
        "from mlfs_dask.jobs.coordinator import Order, run_job\n"
        "from mlfs_dask.jobs.jobfile import read_job\n"
        f"path = Path({str(job)!r})\n"
        "run_job(Order(job=read_job(path), text=path.read_bytes()))\n"
        "loaded = [name for name in ('dask', 'distributed', 'bokeh') if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_lost_task_fails_its_units_only():
    from mlfs_dask.jobs import on_cluster
    from mlfs_dask.jobs.units import Unit

    unit = Unit(kind="select", dataset="d", selector="s")
    outcome = on_cluster._lost(unit, RuntimeError("KilledWorker"))
    assert outcome.payload is None
    assert outcome.failure.message == "KilledWorker"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("run.workers=2",), NOTHING),
        (("run.workers=2", 'run.memory_per_worker="2 GiB"'), NOTHING),
        (("run.workers=0", 'run.memory_per_worker="2 GiB"'), 2**31),
        (("run.workers=0",), None),
    ],
)
def test_a_process_that_only_hands_out_units_keeps_no_tiles(run_tiny, monkeypatch, given, expected):
    """It looks at all values before a run, and outlives it: 800 MB of a million rows."""

    class Looked(Exception):
        pass

    def look(*_):
        assert memory_limit() == expected
        raise Looked

    monkeypatch.setattr(coordinator, "refuse_values", look)
    with pytest.raises(Looked):
        run_tiny(*given)
