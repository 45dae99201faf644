"""Jobs on a cluster that is there already: same bytes, and only for those it trusts."""

import shutil

import pytest

from mlfs_dask.errors import ClusterError
from mlfs_dask.jobs.clusters.certificates import make_certificates
from mlfs_dask.jobs.clusters.connect import connected
from mlfs_dask.jobs.clusters.target import Wanted, choose_target
from mlfs_dask.jobs.clusters.versions import differences, installed_versions, refuse_other_versions
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.cluster


@pytest.fixture
def job(tmp_path):
    make_tiny_store(tmp_path / "stores")
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_JOB.replace("repeats = 2", "repeats = 1"))
    return path


@pytest.fixture
def flags(secured):
    """All that leads to the cluster, without its folder."""
    record = secured.read()
    return ("--scheduler", record.address, *record.tls.flags())


def outputs(runs):
    (folder,) = all_runs(runs)
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def test_the_same_bytes_as_in_this_process(invoke, job, secured, flags, tmp_path, monkeypatch):
    """By file, by profile; and a run that began in this process goes on there, by address."""
    invoke("run", job, "--workers", 0, "--runs", tmp_path / "here")
    expected = outputs(tmp_path / "here")
    monkeypatch.setenv("MLFS_CLUSTER", str(secured.path))
    ways = {
        "file": ("--scheduler-file", secured.scheduler_file),
        "profile": ("--profile", "local"),
    }
    for name, words in ways.items():
        done = invoke("run", job, *words, "--runs", tmp_path / name)
        assert "2 workers" in done.stderr
        assert outputs(tmp_path / name) == expected
    (begun,) = all_runs(tmp_path / "here")
    cut(begun)
    done = invoke("resume", begun.path, *flags)
    assert "on a Dask cluster" in done.stderr
    assert outputs(tmp_path / "here") == expected


def cut(folder):
    """As if the run had been killed after its third unit."""
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(b"".join(lines[:4]))
    for path in (folder.results, folder.evaluation, folder.state):
        path.unlink()


def test_a_run_that_is_stopped_names_the_cluster_in_the_way_on(invoke, job, flags, monkeypatch):
    from mlfs_dask.jobs.driver import Driver

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Driver, "run", stop)
    done = invoke("run", job, *flags, code=1)
    assert f"mlfs run {job} --scheduler {flags[1]} --tls-ca-file" in done.stderr


def test_keys_of_the_cluster_are_for_its_owner_alone(secured):
    assert secured.tls.stat().st_mode & 0o777 == 0o700
    names = {path.name: path.stat().st_mode & 0o777 for path in secured.tls.iterdir()}
    assert names == {"ca.pem": 0o600, "cert.pem": 0o600, "key.pem": 0o600}


def refused(**given):
    with pytest.raises(ClusterError) as caught, connected(choose_target(Wanted(**given))):
        pass
    return str(caught.value)


def test_who_has_not_the_clusters_certificates_is_refused(secured, tmp_path):
    record = secured.read()
    foreign = make_certificates(tmp_path / "foreign")
    theirs = {"tls_ca_file": foreign.ca_file, "tls_cert": foreign.cert, "tls_key": foreign.key}
    assert "do not trust each other" in refused(scheduler=record.address, **theirs)
    # They trust the cluster, but it does not trust them.
    knowing = {**theirs, "tls_ca_file": record.tls.ca_file}
    assert "do not trust each other" in refused(scheduler=record.address, **knowing)
    plain = record.address.replace("tls://", "tcp://")
    assert "does not talk to plain connections" in refused(scheduler=plain)
    assert "needs certificates" in refused(scheduler=record.address)
    # A copy of the scheduler file alone is not enough either.
    copy = shutil.copy(secured.scheduler_file, tmp_path)
    assert "needs certificates" in refused(scheduler_file=copy)


def test_a_scheduler_without_tls_is_not_taken_for_one_with(secured, plain):
    """What answers without certificates gets nothing from a client that wants them."""
    tls = secured.read().tls
    given = {"tls_ca_file": tls.ca_file, "tls_cert": tls.cert, "tls_key": tls.key}
    address = plain.read().address.replace("tcp://", "tls://")
    assert "does not talk TLS" in refused(scheduler=address, **given)


def test_nothing_listens(tmp_path, invoke, job):
    done = invoke("run", job, "--scheduler", "127.0.0.1:9", "--runs", tmp_path / "runs", code=2)
    assert "no scheduler answers at tcp://127.0.0.1:9" in done.stderr
    assert not (tmp_path / "runs").exists()


# --- versions ---------------------------------------------------------------------------------


class OtherCluster:
    """Answers like a client of a cluster with other packages."""

    def __init__(self, scheduler, **workers):
        self.scheduler, self.workers = scheduler, workers

    def run_on_scheduler(self, function):
        if isinstance(self.scheduler, Exception):
            raise self.scheduler
        return self.scheduler

    def run(self, function, on_error):
        assert on_error == "return"
        return self.workers


def test_the_same_packages_are_accepted():
    here = installed_versions()
    assert here["mlfs-dask"]
    refuse_other_versions(OtherCluster(here, a=here, b={**here, "zarr": "0"}))


@pytest.mark.parametrize("package", ["mlfs-dask", "dask", "distributed", "numpy", "scipy", "numba"])
def test_packages_that_decide_bits_or_the_protocol_must_be_the_same(package):
    here = installed_versions()
    other = {**here, package: "0.0"}
    with pytest.raises(ClusterError, match=rf"{package} 0.0 on b, .* here") as caught:
        refuse_other_versions(OtherCluster(here, a=here, b=other))
    assert caught.value.facts["packages"] == [package]
    with pytest.raises(ClusterError, match=f"{package} 0.0 on scheduler"):
        refuse_other_versions(OtherCluster(other, a=here))


def test_a_process_without_our_package_is_named():
    here = installed_versions()
    lost = ModuleNotFoundError("No module named 'mlfs_dask'")
    with pytest.raises(ClusterError, match="mlfs-dask is missing on scheduler, b"):
        refuse_other_versions(OtherCluster(lost, a=here, b=lost))


def test_python_must_agree_up_to_the_minor_version():
    assert not differences({"a": {"python": "3.11.2"}}, {"python": "3.11.9"})
    (difference,) = differences({"a": {"python": "3.12.2"}}, {"python": "3.11.9"})
    assert difference.matters
