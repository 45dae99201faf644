"""Real clusters of this machine."""

import psutil
import pytest

from clusters import Cluster, environment, run_undisturbed, wait_until
from mlfs_dask.jobs.clusters import processes
from mlfs_dask.jobs.clusters.record import ClusterFolder
from mlfs_dask.jobs.clusters.start import ClusterOrder, start_cluster
from mlfs_dask.jobs.clusters.stop import stop_cluster
from mlfs_dask.testing.jobs import make_tiny_store

MEMORY = 2 * 2**30


@pytest.fixture(autouse=True)
def _no_cluster_named(tmp_path, monkeypatch):
    """Nothing in the environment names a cluster or profiles; what a failed test left is ended."""
    for name in ("DASK_SCHEDULER_ADDRESS", "MLFS_PROFILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MLFS_CLUSTER", str(tmp_path / "cluster"))
    yield
    if (tmp_path / "cluster" / "cluster.json").exists():
        stop_cluster(ClusterFolder(tmp_path / "cluster"))


@pytest.fixture
def env():
    """Of the processes of `cluster`."""
    return environment()


@pytest.fixture
def cluster(tmp_path, env):
    """A scheduler whose workers come and go by the test's will."""
    made = Cluster(tmp_path, env)
    wait_until(made.file.exists)
    yield made
    made.stop()


@pytest.fixture
def job_of(tmp_path, toys):
    """Makes a job file of a text, and says what it gives undisturbed."""
    make_tiny_store(tmp_path / "stores")

    def made(text):
        path = tmp_path / "tiny.toml"
        path.write_text(text)
        return path, run_undisturbed(text, tmp_path)

    return made


@pytest.fixture(scope="session")
def secured(tmp_path_factory):
    """A running cluster with TLS and two workers: its folder. Not to be stopped."""
    folder = ClusterFolder(tmp_path_factory.mktemp("secured") / "cluster")
    record = start_cluster(folder, ClusterOrder(workers=2, memory_bytes=MEMORY, tls=True))
    yield folder
    stop_cluster(folder)
    assert_gone(record.id)


@pytest.fixture
def plain(tmp_path):
    """A running cluster without TLS and one worker: its folder."""
    folder = ClusterFolder(tmp_path / "cluster")
    record = start_cluster(folder, ClusterOrder(workers=1, memory_bytes=MEMORY, tls=False))
    yield folder
    stop_cluster(folder)
    assert_gone(record.id)


@pytest.fixture
def nothing_left():
    """Fails if a process carries the id of a cluster."""
    return assert_gone


def assert_gone(cluster):
    """No process carries the id of a cluster any more."""
    left = [(process.pid, process.cmdline()) for process in processes.members(cluster)]
    for pid, _ in left:
        psutil.Process(pid).kill()
    assert not left
