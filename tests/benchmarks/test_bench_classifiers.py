"""A study of many cells on two workers against one: whether both cores have work to the end."""

import itertools

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.side_by_side import SideBySide, faster
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import read_job

STUDY = """\
schema = 1
name = "hundred-cells"
seed = 0
data = { store = "STORE" }
select = [
  { method = "spec" }, { method = "mllap" }, { method = "mddm" },
  { method = "mutual-info" }, { method = "variance" },
]

[evaluate]
split = { kind = "kfold", folds = 5 }
features = { fractions = [0.1, 0.3] }
baseline = false
metrics = ["hamming_loss", "average_precision"]
classifier = [
  { method = "mlknn" }, { method = "brknn" }, { method = "iblr" }, { method = "br", base = "c45" },
]

[run]
workers = 0
"""


@pytest.mark.slow
@pytest.mark.cluster
def test_a_study_of_a_hundred_cells(side_by_side: SideBySide, tmp_path) -> None:
    """5 selectors x 4 classifiers x 5 folds; 1.6 times one worker: both cores busy for 80 %."""
    from distributed import Client, LocalCluster

    dataset = peers.stored("yeast", full=side_by_side.full, rows=120, dense=True)
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("STORE", str(dataset.path)), encoding="utf-8")
    job = read_job(path)
    folders = (tmp_path / str(number) for number in itertools.count())

    def evaluation(n_workers):
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            ) as workers,
            Client(workers, set_as_default=False) as client,
        ):
            order = Order(job=job, text=path.read_bytes(), runs=next(folders), client=client)
            return np.frombuffer(run_job(order).folder.evaluation.read_bytes(), np.uint8)

    one = "one worker"
    side_by_side.compare(
        "a study of a hundred cells on yeast, two workers, their start included",
        ours=lambda: evaluation(2),
        peers={one: lambda: evaluation(1)},
        bounds={one: faster(1.6)},
        agree={one: np.testing.assert_array_equal},
        repeats=1,  # after a warm-up: who comes first compiles the kernels of all
    )
