"""Real data: what the papers report is reproduced, and the jobs of paper A run."""

import numpy as np
import pytest

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import find_job, read_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.resources import declaration


def run(path, *overrides):
    job = read_job(path, overrides)
    return open_run(run_job(Order(job=job, text=path.read_bytes())).folder.path)


@pytest.mark.parametrize(("normalize", "published"), [("none", 0.263), ("minmax", 0.194)])
def test_mlknn_on_emotions_has_the_hamming_loss_of_the_papers(
    mlfs_data, tmp_path, normalize, published
):
    whole = declaration("jobs/emotions-spectral.toml").read_text("utf-8")
    job = tmp_path / "emotions-baseline.toml"
    job.write_text(whole.partition("[compare]")[0], "utf-8")  # nothing to compare
    done = run(
        job,
        "select=[]",
        "evaluate.split.repeats=5",
        f"evaluate.classifier.0.normalize={normalize}",
        "run.workers=0",
    )
    rows = done.evaluation
    values = rows["value"][rows["metric"] == "hamming_loss"]
    assert len(values) == 50
    assert np.mean(values) == pytest.approx(published, abs=0.005)


def test_the_job_of_paper_a_on_emotions(mlfs_data):
    done = run(find_job(declaration("jobs/emotions-spectral.toml")), "run.workers=0")
    assert len(done.selections) == 33
    # 10 folds x (3 selectors x 20 shares + baseline) x 2 measures
    assert len(done.evaluation) == 10 * 61 * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yeast", "medical", "tmc2007-500"])
def test_the_jobs_of_paper_a(mlfs_data, name):
    done = run(declaration(f"jobs/{name}-spectral.toml"))
    assert done.state == "done"
    best = done.evaluation[done.evaluation["metric"] == "average_precision"]
    assert best["value"].min() > 0.3
