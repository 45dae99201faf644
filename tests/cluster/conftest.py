"""Real clusters of this machine, and commands as users type them."""

import json

import psutil
import pytest
from click.testing import CliRunner

from clusters import PLUGINS
from mlfs_dask import registry
from mlfs_dask.cli import mlfs
from mlfs_dask.jobs.clusters import processes
from mlfs_dask.jobs.clusters.record import ClusterFolder
from mlfs_dask.jobs.clusters.start import ClusterOrder, start_cluster
from mlfs_dask.jobs.clusters.stop import stop_cluster

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
def toys(monkeypatch):
    """The plug-ins in tests/plugins."""
    for folder in PLUGINS:
        monkeypatch.syspath_prepend(folder)
    registry.names.cache_clear()
    yield
    registry.names.cache_clear()


@pytest.fixture
def invoke():
    """Call a command; anything but our own errors fails the test."""

    def call(*arguments, code=0):
        result = CliRunner().invoke(mlfs, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def document(invoke):
    """The JSON document that a command prints."""
    return lambda *arguments, code=0: json.loads(invoke(*arguments, "--json", code=code).stdout)


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
