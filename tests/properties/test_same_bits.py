"""The promise on bits, for every selector and classifier that is registered.

Small random jobs with all of them run in process, on 2 workers (the longer check: 1 and 4), from
stores cut into other chunks, and interrupted and taken up again; ``results.json`` and
``evaluation.csv`` must not differ in a byte. A method joins by being registered.
"""

import os
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask import registry
from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs.coordinator import Order, resume_run, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.jobs.worker_setup import WorkerSetup
from mlfs_dask.storage import layout
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

pytestmark = pytest.mark.cluster

HEAD = """
schema = 1
name = "bits"
seed = {seed}
[data]
store = "{store}"
impute = "{impute}"
{missing}
[evaluate]
split = {{ kind = "{kind}", folds = 2 }}
features = {{ fractions = [0.3, 1.0] }}
metrics = ["hamming_loss", "ranking_loss"]
"""
# Searches that are cut short.
OPTIONS = {"mlnb": "n_individuals = 6\nn_generations = 4\n"}


def job_text(what, **values) -> str:
    """All selectors with one classifier, or one selector with all classifiers."""
    selectors = registry.names("selectors") if what == "selectors" else ["variance"]
    classifiers = registry.names("classifiers") if what == "classifiers" else ["mlknn"]
    selects = [f'[[select]]\nmethod = "{name}"\n{OPTIONS.get(name, "")}' for name in selectors]
    judges = [f'[[evaluate.classifier]]\nmethod = "{name}"\n' for name in classifiers]
    return "\n".join([HEAD.format(**values), *selects, *judges])


@pytest.fixture(scope="module")
def clients(request, two_workers):
    """Clients of clusters of so many worker processes, kept for all examples."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        made = []
        for workers in request.param:
            cluster = two_workers
            if workers != 2:
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=0,
                    dashboard_address="127.0.0.1:0",
                )
                stack.enter_context(cluster)
            made.append(stack.enter_context(Client(cluster, set_as_default=False)))
            made[-1].register_plugin(WorkerSetup())
        yield made


@st.composite
def tables(draw):
    """Rows with ties, duplicates, constants, rows without labels; not negative, as chi2 asks."""
    n, d, q = draw(st.integers(34, 60)), draw(st.integers(3, 9)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 5, 1000]))
    X = rng.integers(0, levels, (n, d)) / max(1, levels // 4)
    X[:, rng.random(d) < 0.15] = 1.0
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    Y = (X[:, rng.integers(0, d, q)] + rng.random((n, q)) > X.mean()).astype(np.uint8)
    if draw(st.booleans()):
        Y[rng.random(n) < 0.2] = 0
    return (X * (rng.random((n, d)) < 0.4) if draw(st.booleans()) else X), Y


class InterruptAt(Silent):
    """Sends SIGINT at the n-th event."""

    def __init__(self, count):
        self.left = count

    def step(self, steps):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

    def unit(self, outcome):
        self.step(outcome)


def results(folder):
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def interrupted(order, count):
    """The run of an order that was interrupted after so many events, twice as many, and so on."""
    try:
        return run_job(Order(**order, progress=InterruptAt(count)))
    except RunInterruptedError:
        (folder,) = all_runs(order["runs"])
    while True:
        count *= 2
        try:
            return resume_run(folder, progress=InterruptAt(count))
        except RunInterruptedError:
            continue


@pytest.mark.parametrize(
    "clients", [(2,), pytest.param((1, 4), marks=pytest.mark.slow)], indirect=True, ids=str
)
@pytest.mark.parametrize("what", ["selectors", "classifiers"])
@settings(max_examples=max(2, settings().max_examples // 20))
@given(table=tables(), data=st.data())
def test_all_roads_lead_to_the_same_bytes(what, table, data, clients):
    X, Y = table
    tile = data.draw(st.sampled_from([16, 32]))
    values = {
        "seed": data.draw(st.integers(0, 99)),
        "kind": data.draw(st.sampled_from(["kfold", "iterative"])),
        "impute": "mean",
        "missing": data.draw(st.sampled_from(["", "missing = { rate = 0.1 }"])),
    }
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        home = Path(name)

        def store(folder):
            return ingest(
                ArrayTable(X, Y), home / folder / "bits.zarr", tile=tile, name="bits"
            ).path

        def order(path, runs, **more):
            text = job_text(what, store=path, **values)
            job = parse_job(text.encode(), "bits.toml", ("run.workers=0",))
            return {"job": job, "text": b"", "file": "bits.toml", "runs": home / runs, **more}

        usual = store("usual")
        for limit in ("_MIN_CHUNK_BYTES", "_MAX_CHUNK_BYTES", "_MIN_CHUNK_ENTRIES"):
            patch.setattr(layout, limit, 1)
        cut = store("cut")
        assert len(list(Path(cut).rglob("c/*"))) > len(list(Path(usual).rglob("c/*")))

        runs = {"in process": run_job(Order(**order(usual, "0")))}
        runs["small chunks"] = run_job(Order(**order(cut, "cut")))
        for client in clients:
            workers = len(client.scheduler_info()["workers"])
            runs[f"{workers} workers"] = run_job(
                Order(**order(usual, f"w{workers}", client=client))
            )
        count = data.draw(st.integers(3, 40))
        runs["interrupted"] = interrupted(order(cut, "interrupted"), count)
        for finished in runs.values():
            assert [failure.message for _, failure in finished.failures] == []
        first = results(runs["in process"].folder)
        differing = [road for road, run in runs.items() if results(run.folder) != first]
        assert differing == []
