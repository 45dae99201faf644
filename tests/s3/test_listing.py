"""Many runs at s3://: how often the server is asked for a list, and what pages show."""

import json

import pytest
from served import serve

from mlfs_dask.dashboard import listing
from mlfs_dask.dashboard.listing import Runs
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.storage.places import place
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

N_RUNS = 20


@pytest.fixture
def runs(bucket):
    """Runs as far as a list looks into them."""
    folder = place(f"{bucket}/runs")
    for number in range(N_RUNS):
        run = folder / f"made-{number:02d}"
        state = "interrupted" if number == 3 else "done"
        (run / "units" / "a.json").write_bytes(b"{}")
        (run / "journal" / "00000001.jsonl").write_bytes(b"no journal")
        (run / "state.json").write_bytes(
            json.dumps({"state": state, "progress": {"done": 1, "total": 2}}).encode()
        )
        (run / "manifest.json").write_bytes(manifest(run.name))
    (folder / "no-run" / "notes.txt").write_bytes(b"nothing of ours")
    return folder


def manifest(run):
    sizes = {"tile": 16, "n_samples": 60, "n_features": 8, "n_labels": 3}
    document = {
        "format": 1,
        "run": run,
        "name": "made",
        "job_digest": "0" * 64,
        "seed": 0,
        "created": "2026-11-30T12:00:00+00:00",
        "datasets": [{"name": "tiny", "path": "tiny.zarr", "digest": "0" * 64, **sizes}],
        "versions": {},
        "machine": {},
    }
    return json.dumps(document).encode()


def test_a_list_asks_three_times_for_each_run(runs, faulty, document):
    proxy = faulty()
    found = document("list", "--runs", str(runs))
    assert [each["run"] for each in found] == sorted(each["run"] for each in found)
    assert len(found) == N_RUNS
    assert {each["state"] for each in found} == {"done", "interrupted"}, found[0]
    assert all(each["bytes"] > 100 for each in found)
    assert proxy.requests <= 3 * N_RUNS + 10
    assert len(document("list", "--runs", str(runs), "--state", "interrupted")) == 1


def test_a_damaged_run_does_not_hide_the_others(runs, document):
    (runs / "made-05" / "state.json").write_bytes(b"{")
    found = {each["run"]: each["state"] for each in document("list", "--runs", str(runs))}
    assert found["made-05"] == "damaged"
    assert len(found) == N_RUNS


def test_pages_ask_once_for_each_run_that_may_change(runs, faulty, monkeypatch):
    monkeypatch.setattr(listing, "_ENDED_SECONDS", 1e9)
    monkeypatch.setattr(listing, "_LIST_SECONDS", 1e9)
    proxy = faulty()
    board = Runs([runs])
    board.refresh()
    assert board.listing.counts == {"interrupted": 1, "done": N_RUNS - 1}
    assert board.listing.missing == ()
    before = proxy.requests
    board.refresh()
    assert proxy.requests - before <= 3  # the interrupted one, who owns it, and what is no run
    monkeypatch.setattr(listing, "_ENDED_SECONDS", 0.0)
    monkeypatch.setattr(listing, "_LIST_SECONDS", 0.0)
    (runs / "made-07" / "manifest.json").unlink()
    (runs / "made-08" / "state.json").write_bytes(b'{"state": "failed"}')
    before = proxy.requests
    board.refresh()
    assert proxy.requests - before <= N_RUNS + 8
    assert board.find("made-07") is None
    assert board.row("made-08").state == "damaged"


def test_what_was_read_is_shown_while_the_server_does_not_answer(runs, faulty, monkeypatch):
    monkeypatch.setattr("mlfs_dask.storage.bucket._RETRIES", 0)
    monkeypatch.setattr("mlfs_dask.storage.bucket._ATTEMPTS", 1)
    proxy = faulty()
    board = Runs([runs])
    board.refresh()
    monkeypatch.setattr(listing, "_LIST_SECONDS", 0.0)
    proxy.faults.status = 500
    board.refresh()
    assert board.listing.missing == (str(runs),)
    assert len(board.listing.rows) == N_RUNS
    proxy.faults.status = None
    board.refresh()
    assert board.listing.missing == ()


def test_a_bucket_that_is_not_there_is_named_and_hides_no_other_folder(bucket, tmp_path):
    board = Runs([place("s3://none-of-these/runs"), tmp_path])
    board.refresh()
    assert board.listing.missing == ("s3://none-of-these/runs",)
    assert board.listing.taken > 0


@pytest.mark.slow
def test_pages_of_a_run(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFS_STORES", str(tmp_path / "stores"))
    make_tiny_store(tmp_path / "stores")
    job = parse_job(TINY_JOB.encode(), "tiny.toml", ("run.workers=0",))
    orders = [
        Order(job=job, text=TINY_JOB.encode(), runs=runs)
        for runs in (place(f"{bucket}/runs"), tmp_path / "runs")
    ]
    there, here = (run_job(order).folder for order in orders)
    shown = {}
    for folder in (there, here):
        with serve(folder.path.parent) as pages:
            pages.until("/mlfs", lambda answer, run=folder.id: run in answer.text)
            (row,) = pages.get("/mlfs/api/runs").json["runs"]
            assert (row["run"], row["state"]) == (folder.id, "done")
            page = pages.get(f"/mlfs/runs/{folder.id}")
            assert page.status == 200
            shown[folder] = pages.get(f"/mlfs/api/runs/{folder.id}").json
    assert shown[there]["points"] == shown[here]["points"]
    stages = [
        [(stage["name"], stage["done"], stage["total"]) for stage in shown[folder]["stages"]]
        for folder in (there, here)
    ]
    assert stages[0] == stages[1]
    assert shown[there]["done"] == shown[there]["total"] == shown[here]["done"]
