"""How long pages of runs take to answer with many runs, some of them at work."""

import json
import shutil
import time
from contextlib import ExitStack

import pytest
from made_runs import MadeRun, start
from served import serve, serve_apart

from benchmarks.side_by_side import Row, SideBySide, show_seconds
from mlfs_dask.dashboard.listing import Runs
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.lease import own
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

AT_WORK = 5
ASKED_SECONDS = 0.2
ROUNDS = 25


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """A finished run with all its files."""
    monkeypatch.setenv("MLFS_STORES", str(tmp_path / "stores"))
    make_tiny_store(tmp_path / "stores")
    job = parse_job(TINY_JOB.encode(), "tiny.toml", ("run.workers=0",))
    return run_job(Order(job=job, text=TINY_JOB.encode(), runs=tmp_path / "whole")).folder


@pytest.fixture
def many(side_by_side: SideBySide, tmp_path, whole):
    """Folder of many runs: finished ones, and some that this process writes."""
    runs = tmp_path / "runs"
    small = ("manifest.json", "state.json", "journal.jsonl", "resolved.json", "evaluation.csv")
    for number in range(side_by_side.size(full=1000, quick=20)):
        folder = runs / f"tiny-{number:010x}"
        folder.mkdir(parents=True)
        for name in small:
            shutil.copyfile(whole.path / name, folder / name)
    shutil.copytree(whole.path, runs / whole.id)
    with ExitStack() as stack:
        yield runs, [stack.enter_context(at_work(runs, number)) for number in range(AT_WORK)]


def at_work(runs, number):
    made = MadeRun(f"live-{number}")
    made.state, made.events = "running", [start(1000)]
    return Writer(RunFolder(made.write(runs).path))


class Writer:
    """Owns a run and adds to its journal, 200 lines at a time."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def __enter__(self):
        self._stack = ExitStack()
        self._stack.enter_context(own(self.folder.path, self.folder.lock))
        self._journal = self._stack.enter_context(Journal(self.folder.journal))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def write(self):
        decided = [
            {"step": i, "feature": i % 20, "score": 0.5, "reason": "gain"} for i in range(20)
        ]
        for _ in range(200):
            facts = {"unit": f"u{self.count}", "worker": "w:1", "seconds": 0.0}
            self._journal.append("step", first=0, decided=decided, **facts)
            self._journal.append("unit", what="", sha256="", bytes=1, notes=[], **facts)
            self.count += 1
        self.folder.write_state("running", done=self.count, total=100_000)


def test_pages_with_many_runs(side_by_side: SideBySide, many, whole, tmp_path) -> None:
    runs, writers = many
    with serve_apart(runs, tmp_path) if side_by_side.full else serve(runs) as pages:
        n_runs = len(list(runs.iterdir()))
        pages.until("/mlfs/api/runs", lambda answer: len(answer.json["runs"]) == n_runs)
        for name, path in (
            (f"list of {n_runs:,} runs, {AT_WORK} at work", "/mlfs"),
            ("the same as JSON", "/mlfs/api/runs"),
            ("page of a finished run", f"/mlfs/runs/{whole.id}"),
        ):
            seconds = [
                timed(pages, path, writers) for _ in range(side_by_side.size(full=ROUNDS, quick=2))
            ]
            note(side_by_side, f"dashboard: {name}", seconds)
        rows = {row["run"]: row for row in pages.get("/mlfs/api/runs").json["runs"]}
        assert all(rows[w.folder.id]["state"] == "running" for w in writers)


def timed(pages, path, writers):
    """Seconds of one answer, after all runs at work have gone on and the last look is old."""
    for writer in writers:
        writer.write()
    time.sleep(1.1)
    begin = time.perf_counter()
    answer = pages.get(path)
    assert answer.status == 200
    return time.perf_counter() - begin


def note(side_by_side, name, seconds):
    """The slowest answer counts: somebody waited for it."""
    if side_by_side.full:
        worst = max(seconds)
        text = f"{show_seconds(sorted(seconds)[len(seconds) // 2])}, at worst {show_seconds(worst)}"
        asked = f"at most {show_seconds(ASKED_SECONDS)}"
        side_by_side.rows.append(Row(name, text, "", "", "", asked, worst <= ASKED_SECONDS))


def test_looking_again_against_looking_anew(side_by_side: SideBySide, many) -> None:
    folder, _ = many
    runs = Runs([folder])
    runs.refresh()

    def again():
        runs.refresh()
        return json.dumps(sorted(row.run for row in runs.listing.rows))

    def anew():
        fresh = Runs([folder])
        fresh.refresh()
        return json.dumps(sorted(row.run for row in fresh.listing.rows))

    def same(ours, theirs):
        assert ours == theirs

    side_by_side.compare(
        f"dashboard: {len(runs.listing.rows):,} runs looked at again",
        ours=again,
        peers={"all read anew": anew},
        agree={"all read anew": same},
    )
