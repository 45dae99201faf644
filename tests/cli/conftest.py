"""Commands as users type them, and runs made once per session to be copied."""

import json
import shutil

import pytest

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.journal import Journal, read_journal
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """A finished run of 17 units, made once; not to be changed."""
    folder = tmp_path_factory.mktemp("once")
    store = make_tiny_store(folder / "stores")
    overrides = ("run.workers=0", "evaluate.split.repeats=1", f"data.store={store.path}")
    job = parse_job(TINY_JOB.encode(), "tiny.toml", overrides)
    return run_job(Order(job=job, text=TINY_JOB.encode(), runs=folder / "runs")).folder.path


@pytest.fixture
def tiny_run(once, tmp_path):
    """A copy of the finished run in the folder of runs."""
    shutil.copytree(once, tmp_path / "runs" / once.name)
    return RunFolder(tmp_path / "runs" / once.name)


@pytest.fixture
def cut_run(tiny_run):
    """The same run, as if it had been killed with two units done and a third begun."""
    events, _ = read_journal(tiny_run.journal)
    kept = [event["unit"] for event in events if event["event"] == "unit"][:2]
    before = [e for e in events if e["event"] == "start" or e.get("unit") in kept]
    begun = next(e for e in events if e["event"] == "step" and e["unit"] not in kept)
    tiny_run.journal.unlink()
    with Journal(tiny_run.journal) as journal:
        for event in (*before, begun):
            journal.append(**{key: event[key] for key in event.keys() - {"time"}})
    for path in tiny_run.units.iterdir():
        if path.stem not in kept:
            path.unlink()
    for path in (tiny_run.results, tiny_run.evaluation, tiny_run.timings, tiny_run.report):
        path.unlink(missing_ok=True)
    state = json.loads(tiny_run.state.read_bytes())
    del state["outputs"]
    tiny_run.state.write_text(json.dumps({**state, "state": "running"}))
    return tiny_run
