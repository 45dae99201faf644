"""Whole jobs on a warm cluster of two workers against the same jobs in one process."""

import itertools

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import read_job
from mlfs_dask.resources import declaration

JOBS = {
    "medical": ("jobs/medical-spectral.toml", at_most(1.3, plus_seconds=0.3)),
    "yeast": ("jobs/yeast-spectral.toml", at_most(1.2)),
}


@pytest.mark.cluster
def test_the_jobs_of_paper_a(side_by_side: SideBySide, tmp_path) -> None:
    from distributed import Client, LocalCluster

    folders = (tmp_path / str(number) for number in itertools.count())
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        for name, (file, bound) in JOBS.items():
            dataset = peers.stored(name, full=side_by_side.full)
            path = declaration(file)
            quickly = () if side_by_side.full else ("evaluate.split.folds=2",)
            job = read_job(path, [f'data.store="{dataset.path}"', "run.workers=0", *quickly])

            def evaluation(client=None, job=job, path=path):
                order = Order(job=job, text=path.read_bytes(), runs=next(folders), client=client)
                return np.frombuffer(run_job(order).folder.evaluation.read_bytes(), np.uint8)

            evaluation(client)  # workers import what they need and compile
            side_by_side.compare(
                f"the job of paper A on {name}, two workers",
                ours=lambda run=evaluation: run(client),
                peers={"one process": evaluation},
                bounds={"one process": bound},
                agree={"one process": np.testing.assert_array_equal},
            )
