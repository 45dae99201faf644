"""What the loss of a worker costs, and what a long job leaves in the scheduler's memory."""

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
    the_run,
    wait_until,
)
from mlfs_dask import registry
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

MOST_GROWTH = 10 * 2**20
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


def submitted(cluster, tmp_path, delay, repeats):
    path = tmp_path / "tiny.toml"
    text = JOB.replace("DELAY", str(delay)).replace("repeats = 2", f"repeats = {repeats}")
    path.write_text(text)
    submit(cluster, path, tmp_path)
    return the_run(tmp_path)


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
