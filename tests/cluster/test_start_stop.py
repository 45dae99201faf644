"""``mlfs cluster`` with real processes: they outlive the command, listen on loopback, all end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from mlfs_dask.errors import ClusterError, MachineError
from mlfs_dask.jobs.clusters import processes
from mlfs_dask.jobs.clusters.address import is_loopback
from mlfs_dask.jobs.clusters.connect import connected
from mlfs_dask.jobs.clusters.record import ClusterFolder
from mlfs_dask.jobs.clusters.start import ClusterOrder, start_cluster
from mlfs_dask.jobs.clusters.stop import stop_cluster
from mlfs_dask.jobs.clusters.target import Wanted, choose_target

pytestmark = pytest.mark.cluster

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
ONE_WORKER = ("--workers", "1", "--memory", "2 GiB")


def left_in(folder):
    return sorted(path.name for path in folder.path.iterdir())


def client_of(folder):
    return connected(choose_target(Wanted(scheduler_file=str(folder.scheduler_file))))


def test_a_cluster_outlives_its_command_and_ends_with_stop(
    tmp_path, document, invoke, nothing_left
):
    """Started by a command whose whole group of processes is killed once it has ended."""
    folder = ClusterFolder(tmp_path / "cluster")
    started = subprocess.Popen(
        [*MLFS, "cluster", "start", *ONE_WORKER, "--json"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    said, _ = started.communicate(timeout=200)
    assert started.returncode == 0
    facts = json.loads(said)
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    assert facts["folder"] == str(folder.path)
    assert facts["address"].startswith("tcp://127.0.0.1:")

    live = document("cluster", "info")
    (worker,) = live["workers"]
    assert document("cluster", "info", "--scheduler", facts["address"])["workers"]
    assert worker["resources"] == {"COORD": 1.0}
    assert worker["memory_limit_bytes"] == 2 * 2**30
    assert live["dashboard"] == facts["dashboard"] + "/status"
    shown = invoke("cluster", "info").stdout
    assert facts["address"] in shown
    assert "COORD=1" in shown

    again = invoke("cluster", "start", *ONE_WORKER, code=2)
    assert "running" in again.stderr

    counts = document("cluster", "stop")["stopped"]
    assert counts["ended"] >= 3
    assert counts["killed"] == 0
    nothing_left(facts["id"])
    assert left_in(folder) == ["lock", "logs"]
    assert document("cluster", "stop")["stopped"] is None
    assert "no cluster was started" in invoke("cluster", "info", code=2).stderr


def test_processes_listen_to_this_machine_alone_and_are_set_up_for_long_jobs(secured):
    record = secured.read()
    assert listening(record) == {"127.0.0.1"}
    assert secured.record.stat().st_mode & 0o777 == 0o600
    assert secured.path.stat().st_mode & 0o777 == 0o700
    with client_of(secured) as client:
        assert client.run_on_scheduler(patience) == (10, 60.0)
        for found in client.run(threads).values():
            assert found == {"blas": {1}, "numba": 1}


def patience(dask_scheduler):
    return dask_scheduler.allowed_failures, dask_scheduler.worker_ttl


def threads():
    import numba
    import scipy.linalg  # noqa: F401  brings its BLAS
    from threadpoolctl import threadpool_info

    return {
        "blas": {pool["num_threads"] for pool in threadpool_info()},
        "numba": numba.get_num_threads(),
    }


def test_stop_ends_what_is_left(plain, nothing_left, invoke):
    """The scheduler is gone, a worker hangs in the middle of a task, its nanny is gone."""
    record = plain.read()
    with client_of(plain) as client:
        future = client.submit(time.sleep, 600)
        (worker,) = client.run(os.getpid).values()
        os.kill(worker, signal.SIGSTOP)
        for pid in record.pids.values():
            os.kill(pid, signal.SIGKILL)
        future.release()
    while {process.pid for process in processes.members(record.id)} & {*record.pids.values()}:
        time.sleep(0.02)  # they are dying
    assert processes.members(record.id)
    done = invoke("cluster", "info", code=2)
    assert "no scheduler answers" in done.stderr
    assert "`mlfs cluster stop` if parts are left" in done.stderr
    stopped = stop_cluster(plain)
    assert stopped.killed >= 1
    nothing_left(record.id)
    assert left_in(plain) == ["lock", "logs"]


@pytest.mark.slow
def test_a_cluster_that_died_makes_room_for_another(plain, nothing_left):
    before = plain.read()
    processes.kill(before.id)
    record = start_cluster(plain, ClusterOrder(workers=1, memory_bytes=2 * 2**30))
    assert record.id != before.id
    with client_of(plain) as client:
        assert client.submit(sum, [1, 2]).result() == 3
    stop_cluster(plain)
    nothing_left(record.id)


def test_a_start_that_fails_leaves_nothing_and_says_why(tmp_path, nothing_left, monkeypatch):
    folder = ClusterFolder(tmp_path / "cluster")
    folder.path.mkdir()
    folder.scratch.write_text("a file where workers want a folder")
    started = []
    spawn = processes.spawn

    def spying(words, *, cluster, **rest):
        started.append(cluster)
        return spawn(words, cluster=cluster, **rest)

    monkeypatch.setattr(processes, "spawn", spying)
    with pytest.raises(MachineError, match=r"(?s)workers ended while starting.*scratch"):
        start_cluster(folder, ClusterOrder(workers=1, memory_bytes=2 * 2**30))
    assert len(started) == 2
    nothing_left(started[0])
    assert left_in(folder) == ["lock", "logs"]


# Tests may run with SIGINT ignored, as jobs in the background of a shell do.
ON_A_TERMINAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mlfs_dask.cli import main
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_start_that_is_stopped_leaves_nothing(tmp_path, nothing_left, sent):
    folder = ClusterFolder(tmp_path / "cluster")
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, "cluster", "start", *ONE_WORKER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (record := folder.read()) or not record.pids:
        time.sleep(0.02)
        assert process.poll() is None, process.stderr.read()
    process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode != 0
    nothing_left(record.id)
    assert folder.read() is None


# --- refused before anything starts -----------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ({"host": "0.0.0.0"}, "no address by which others can reach"),
        ({"host": "--help"}, "no address by which others can reach"),
        ({"host": "10.255.255.1", "tls": False}, "without TLS"),
        ({"host": "10.255.255.1"}, "cannot listen"),
        ({"workers": 4, "memory_bytes": 2**20}, "less than Python"),
    ],
)
def test_orders_that_are_refused(tmp_path, order, problem):
    folder = ClusterFolder(tmp_path / "cluster")
    with pytest.raises(ClusterError, match=problem):
        start_cluster(folder, ClusterOrder(**order))
    assert not folder.path.exists() or left_in(folder) == ["lock"]


def test_a_port_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ClusterError, match=f"port {port}"):
            start_cluster(ClusterFolder(tmp_path / "cluster"), ClusterOrder(port=port))


def test_records_of_other_machines_and_of_nobody(tmp_path, invoke):
    folder = ClusterFolder(tmp_path / "cluster")
    folder.path.mkdir()
    folder.record.write_text("{}")
    for command in ("info", "start", "stop"):
        assert "no record of a cluster" in invoke("cluster", command, code=2).stderr
    facts = {
        "id": "0",
        "host": "elsewhere",
        "created": "then",
        "version": "0",
        "workers": 1,
        "threads": 1,
        "memory_bytes": 1,
    }
    folder.record.write_text(json.dumps(facts))
    for command in ("start", "stop"):
        assert "runs on elsewhere" in invoke("cluster", command, code=2).stderr
    folder.record.unlink()


def test_only_one_command_at_a_time(tmp_path):
    folder = ClusterFolder(tmp_path / "cluster")
    with folder.alone(), pytest.raises(ClusterError, match="another command"):
        start_cluster(folder, ClusterOrder(workers=1))


def test_a_process_with_a_recorded_number_but_without_the_mark_is_left_alone(tmp_path):
    """The number was given to somebody else since."""
    from datetime import UTC, datetime

    from mlfs_dask.jobs.clusters.record import ClusterRecord

    folder = ClusterFolder(tmp_path / "cluster")
    folder.path.mkdir()
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.write(
            ClusterRecord(
                id="0123",
                host=os.uname().nodename,
                created=datetime.now(UTC).isoformat(),
                version="0",
                workers=1,
                threads=1,
                memory_bytes=1,
                pids={"scheduler": other.pid, "workers": other.pid},
            )
        )
        stopped = stop_cluster(folder)
        assert (stopped.ended, stopped.killed) == (0, 0)
        assert other.poll() is None
        other.kill()


# --- for other machines -----------------------------------------------------------------------


@pytest.fixture
def outer():
    """An address of this machine that others could reach."""
    addresses = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and not is_loopback(address.address)
    ]
    if not addresses:
        pytest.skip("this machine has no address but loopback")
    return addresses[0]


def listening(record):
    return {
        connection.laddr.ip
        for process in processes.members(record.id)
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.mark.slow
def test_a_cluster_for_other_machines_has_tls_and_hides_its_dashboard(
    outer, document, invoke, tmp_path, nothing_left
):
    facts = document("cluster", "start", *ONE_WORKER, "--host", outer)
    assert facts["address"].startswith(f"tls://{outer}:")
    folder = ClusterFolder(tmp_path / "cluster")
    record = folder.read()
    assert listening(record) == {"127.0.0.1", outer}
    assert "http://127.0.0.1:" in facts["dashboard"]
    found = document("doctor", "--profile", "local")
    assert found["fit"], found
    with pytest.raises(ClusterError, match="needs certificates"):
        choose_target(Wanted(scheduler=facts["address"]))
    invoke("cluster", "stop")
    nothing_left(record.id)


@pytest.mark.slow
def test_without_tls_other_machines_need_insecure_at_both_ends(
    outer, document, invoke, tmp_path, nothing_left
):
    refused = invoke("cluster", "start", "--host", outer, "--no-tls", code=2)
    assert "--insecure" in refused.stderr
    facts = document("cluster", "start", *ONE_WORKER, "--host", outer, "--no-tls", "--insecure")
    assert facts["address"].startswith(f"tcp://{outer}:")
    where = ("--scheduler-file", facts["scheduler_file"])
    refused = invoke("cluster", "info", *where, code=2)
    assert "plain TCP to another machine" in refused.stderr
    allowed = invoke("cluster", "info", *where, "--insecure")
    assert "whoever reaches it can run programs" in allowed.stderr
    found = document("doctor", *where, "--insecure", code=2)
    problems = {finding["check"] for finding in found["findings"] if finding["level"] == "problem"}
    assert problems == {"tls"}
    invoke("cluster", "stop")
    nothing_left(facts["id"])
