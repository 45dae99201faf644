"""A whole job on a warm cluster of two workers against the same job in one process."""

import itertools

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import read_job
from mlfs_dask.resources import declaration


@pytest.mark.cluster
def test_the_medical_job(side_by_side: SideBySide, tmp_path) -> None:
    from distributed import Client, LocalCluster

    dataset = peers.stored("medical", full=side_by_side.full)
    path = declaration("jobs/medical-spectral.toml")
    job = read_job(path, [f'data.store="{dataset.path}"', "run.workers=0"])
    folders = (tmp_path / str(number) for number in itertools.count())

    def evaluation(client=None):
        order = Order(job=job, text=path.read_bytes(), runs=next(folders), client=client)
        return np.frombuffer(run_job(order).folder.evaluation.read_bytes(), np.uint8)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        evaluation(client)  # workers import what they need and compile
        side_by_side.compare(
            "the job of paper A on medical, two workers",
            ours=lambda: evaluation(client),
            peers={"one process": evaluation},
            bounds={"one process": at_most(1.3, plus_seconds=0.3)},
            agree={"one process": np.testing.assert_array_equal},
        )
