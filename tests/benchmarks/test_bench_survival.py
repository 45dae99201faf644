"""What jobs on a cluster wait for: their submission, other jobs, the loss of a worker; and what a
long one leaves in the scheduler's memory."""

import time

import psutil
import pytest

from benchmarks.side_by_side import Row, SideBySide, show_bytes, show_seconds
from clusters import (
    PLUGINS,
    Cluster,
    environment,
    events,
    owner_pid,
    state,
    submit,
    wait_until,
)
from mlfs_dask import registry
from mlfs_dask.jobs.rundir import find_run
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

MOST_GROWTH = 10 * 2**20
MOST_TO_SUBMIT = 3.0
MOST_BEHIND_ANOTHER = 60.0
JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = DELAY')


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    for folder in PLUGINS:
        monkeypatch.syspath_prepend(folder)
    registry.names.cache_clear()
    make_tiny_store(tmp_path / "stores")
    made = Cluster(tmp_path, environment())
    wait_until(made.file.exists)
    for _ in range(2):
        made.add_worker()
    yield made
    made.stop()
    registry.names.cache_clear()


def submitted(cluster, tmp_path, delay, repeats, name="tiny"):
    """Selections by the toy take 8 times the delay; there are 3 a repeat, and one on all rows."""
    path = tmp_path / f"{name}.toml"
    text = JOB.replace("DELAY", str(delay)).replace("repeats = 2", f"repeats = {repeats}")
    path.write_text(text.replace('"tiny"', f'"{name}"', 1))
    return find_run(submit(cluster, path, tmp_path)["run"], tmp_path / "runs")


def bounded(side_by_side, what, seconds, most):
    """A row; times of a whole run of the benchmarks count, others don't."""
    met = seconds <= most if side_by_side.full else None
    asked = f"at most {most:g} s"
    side_by_side.rows.append(Row(what, show_seconds(seconds), "", "", "", asked, met))


def test_until_a_job_is_submitted(side_by_side: SideBySide, cluster, tmp_path) -> None:
    seconds = []
    for number in range(side_by_side.size(full=5, quick=1)):
        begun = time.monotonic()
        folder = submitted(cluster, tmp_path, delay=0.0, repeats=1, name=f"job{number}")
        seconds.append(time.monotonic() - begun)
        wait_until(lambda folder=folder: state(folder) == "done")
    middle = sorted(seconds)[len(seconds) // 2]
    what = "from `mlfs submit` to its end, the job checked, the cluster started before"
    bounded(side_by_side, what, middle, MOST_TO_SUBMIT)


def test_a_short_job_behind_a_long_one(side_by_side: SideBySide, cluster, tmp_path) -> None:
    """As many coordinators as threads: the short one's tasks go first all the same."""
    long_delay = side_by_side.size(full=75, quick=20) / 100
    long = submitted(cluster, tmp_path, delay=long_delay, repeats=33, name="long")
    wait_until(lambda: len(events(long, "unit")) > 3)
    begun = time.monotonic()
    short_delay = side_by_side.size(full=30, quick=5) / 100
    short = submitted(cluster, tmp_path, delay=short_delay, repeats=1, name="short")
    wait_until(lambda: state(short) == "done")
    took = time.monotonic() - begun
    assert state(long) == "running"
    assert len(events(long, "unit")) < 33 * 15
    what = "from the submission of a job of 10 s behind one of 5 minutes to its end, two workers"
    bounded(side_by_side, what, took, MOST_BEHIND_ANOTHER)


def n_events(folder):
    return len(events(folder, "step")) + len(events(folder, "unit"))


@pytest.mark.parametrize("which", ["the coordinator's worker", "the other worker"])
def test_from_kill_to_progress(side_by_side: SideBySide, cluster, tmp_path, which) -> None:
    folder = submitted(cluster, tmp_path, delay=0.1, repeats=10)
    seconds = []
    for _ in range(side_by_side.size(full=5, quick=1)):
        before = n_events(folder)
        holder = wait_until(lambda least=before: n_events(folder) > least and owner_pid(folder))
        holds = {worker.pid == holder: worker for worker in cluster.workers}
        begun, before = time.time(), n_events(folder)
        cluster.kill(holds[which == "the coordinator's worker"])
        cluster.add_worker()
        wait_until(lambda least=before: n_events(folder) > least)
        seconds.append(time.time() - begun)
        wait_until(lambda: alive(cluster) == len(cluster.workers))
    middle = sorted(seconds)[len(seconds) // 2]
    what = f"from the kill of {which} to the next decision, two workers, one killed"
    side_by_side.rows.append(Row(what, show_seconds(middle), "", "", "", "", None))


def alive(cluster):
    from distributed import Client

    with Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def test_the_scheduler_s_memory_stays_flat_over_500_units(
    side_by_side: SideBySide, cluster, tmp_path
) -> None:
    folder = submitted(cluster, tmp_path, delay=0.0, repeats=35)  # 3 x 35 folds of 5 units, and 2
    scheduler = psutil.Process(cluster.scheduler.pid)
    wait_until(lambda: len(events(folder, "unit")) >= 100)
    early = scheduler.memory_info().rss
    wait_until(lambda: state(folder) == "done")
    n_units = len(events(folder, "unit"))
    assert n_units > 500
    growth = scheduler.memory_info().rss - early
    what = f"growth of the scheduler's memory from the 100th to the {n_units}th unit of a job"
    asked = f"at most {show_bytes(MOST_GROWTH)}"
    met = growth <= MOST_GROWTH
    side_by_side.rows.append(Row(what, show_bytes(max(0, growth)), "", "", "", asked, met))
