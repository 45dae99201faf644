"""What keeping a run costs: journal, folder, replay."""

import itertools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most
from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job, read_job
from mlfs_dask.jobs.perform import Address, Selected, perform
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.jobs.steps import UnitRecorder
from mlfs_dask.jobs.units import units_of
from mlfs_dask.resources import declaration
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]


def bare(job, dataset):
    """All units of a job one after the other, their results in memory only."""
    address = Address(dataset.path, dataset.digest)
    selected, rows = {}, []
    for unit in units_of(job, [dataset.name]):
        recorder = UnitRecorder(unit.id, (), lambda steps: None, lambda: False)
        result, _ = perform(job, unit, address, selected, recorder)
        if unit.kind == "select":
            selected[unit.id] = Selected.of(result)
        else:
            rows.append(len(result["measurements"]))
    return sum(rows)


def test_the_yeast_job_against_its_bare_units(side_by_side: SideBySide, tmp_path) -> None:
    dataset = open_dataset(peers.stored("yeast", full=side_by_side.full).path)
    path = declaration("jobs/yeast-spectral.toml")
    job = read_job(path, [f'data.store="{dataset.path}"', "run.workers=0"])
    folders = (tmp_path / str(number) for number in itertools.count())

    def kept():
        order = Order(job=job, text=path.read_bytes(), runs=next(folders))
        text = run_job(order).folder.evaluation.read_text()
        return text.count("\n") - 1

    side_by_side.compare(
        "the job of paper A on yeast, in this process, with journal and results",
        ours=kept,
        peers={"its units alone": lambda: bare(job, dataset)},
        bounds={"its units alone": at_most(1.1)},
        agree={"its units alone": np.testing.assert_equal},
        repeats=3,
    )


@pytest.fixture
def toys_environment():
    tests = Path(__file__).parents[1]
    folders = [str(tests / "plugins"), str(tests), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def test_a_ranking_of_many_steps(side_by_side: SideBySide, tmp_path, toys_environment) -> None:
    """As many steps as the full tmc2007 has features, each a line of the journal."""
    d = side_by_side.size(full=49_060, quick=300)
    make_tiny_store(tmp_path / "stores", d=d)
    job = tmp_path / "steps.toml"
    job.write_text(
        'schema = 1\nname = "steps"\n[data]\nstore = "tiny"\n[[select]]\nmethod = "toy-online"\n'
        "[run]\nworkers = 0\n"
    )
    runs = tmp_path / "runs"
    side_by_side.command(
        f"mlfs run: {d} steps of a selector, journaled",
        [*MLFS, "run", str(job), "--runs", str(runs)],
        env=toys_environment,
        at_most_seconds=15,
    )
    (folder,) = all_runs(runs)
    assert folder.journal.read_bytes().count(b'"event":"step"') == d


class InterruptAt(Silent):
    """Sends SIGINT at the n-th unit."""

    def __init__(self, count: int) -> None:
        self.left = count

    def unit(self, outcome) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def test_taking_up_a_run_of_1000_units(side_by_side: SideBySide, tmp_path) -> None:
    repeats = side_by_side.size(full=100, quick=1)
    make_tiny_store(tmp_path / "stores")
    text = TINY_JOB.replace("folds = 3, repeats = 2", f"folds = 5, repeats = {repeats}")
    text = text.replace('[[select]]\nmethod = "mllap"\n', "").replace(
        "[evaluate]", "[evaluate]\nbaseline = false"
    )
    job = parse_job(text.encode(), "tiny.toml", ("run.workers=0",))
    total = len(units_of(job, ["tiny"]))
    assert total == 2 * 5 * repeats + 1
    runs = tmp_path / "runs"
    stop = InterruptAt(total - 1)
    with pytest.raises(RunInterruptedError):
        run_job(Order(job=job, text=text.encode(), runs=runs, progress=stop))
    (folder,) = all_runs(runs)
    side_by_side.command(
        f"mlfs resume: a run with {total - 1} of {total} units done, to its end",
        [*MLFS, "resume", folder.id, "--runs", str(runs)],
        at_most_seconds=5,
    )
    assert folder.read_state()["state"] == "done"
