"""Frozen or cut off from the others: same bytes, nothing done twice, nothing hangs."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from clusters import (
    DEADLINE,
    LONG,
    MLFS,
    Cluster,
    assert_told,
    check,
    environment,
    n_decided,
    owner_pid,
    the_run,
    wait_until,
)
from mlfs_dask.jobs.lease import next_number

pytestmark = pytest.mark.cluster


@pytest.mark.slow
def test_the_client_frozen_past_the_heartbeat(cluster, job_of, tmp_path, env):
    path, undisturbed = job_of(LONG)
    for _ in range(2):
        cluster.add_worker()
    words = ("run", path, "--scheduler-file", cluster.file, "--runs", tmp_path / "runs")
    client = subprocess.Popen([*MLFS, *map(str, words)], env=env)
    try:
        wait_until((tmp_path / "runs").exists)
        folder = wait_until(lambda: the_run(tmp_path) if any(runs_in(tmp_path)) else None)
        wait_until(lambda: n_decided(folder) > 3)
        client.send_signal(signal.SIGSTOP)
        time.sleep(40)  # beats every 5 s; silent owners are given up after 30 s by other machines
        client.send_signal(signal.SIGCONT)
        check(folder, undisturbed)
        assert client.wait(timeout=60) == 0
    finally:
        client.kill()
        client.wait()
    assert_told(folder, env, "stood still for")


def runs_in(tmp_path):
    return [path for path in (tmp_path / "runs").iterdir() if (path / "manifest.json").exists()]


@pytest.fixture
def hosts():
    """Network namespaces on one switch, each a host: names -> (prefix, address)."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    tag, made = f"m{os.getpid() % 100000}", []

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def namespace(name):
        try:
            ip("netns", "add", name)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr.decode()}")
        made.append(name)

    class Hosts(dict):
        def cut(self, name):
            ip("-n", f"{tag}sw", "link", "set", f"v{tag}{name}", "down")

        def heal(self, name):
            ip("-n", f"{tag}sw", "link", "set", f"v{tag}{name}", "up")

    hosts = Hosts()
    try:
        namespace(f"{tag}sw")
        ip("-n", f"{tag}sw", "link", "add", "br0", "type", "bridge")
        ip("-n", f"{tag}sw", "link", "set", "br0", "up")
        for number, name in enumerate(("s", "c", "a", "b"), start=1):
            host, link = f"{tag}{name}", f"v{tag}{name}"
            namespace(host)
            peer = ("peer", "name", "eth0", "netns", host)
            ip("link", "add", link, "netns", f"{tag}sw", "type", "veth", *peer)
            ip("-n", f"{tag}sw", "link", "set", link, "master", "br0")
            ip("-n", f"{tag}sw", "link", "set", link, "up")
            ip("-n", host, "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")
            hosts[name] = (("ip", "netns", "exec", host), f"10.77.0.{number}")
        yield hosts
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.slow
def test_a_worker_cut_off_while_it_holds_the_coordinator(hosts, job_of, tmp_path):
    """Two coordinators live for a moment; the lease decides which of them writes."""
    path, undisturbed = job_of(LONG.replace("delay = 0.3", "delay = 0.6"))
    env = environment(
        DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="10s",
        DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP="12s",
    )
    prefix, address = hosts["s"]
    cluster = Cluster(tmp_path, env, host=address, prefix=prefix)
    try:
        wait_until(cluster.file.exists)
        workers = {}
        for name in ("a", "b"):
            prefix, address = hosts[name]
            words = ("--host", address, "--no-nanny", "--memory-limit", "0")
            # They notice later than the scheduler that they are cut off, so two live for a while.
            late = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "120s"}
            workers[name] = cluster.add_worker(*words, prefix=prefix, **late)
        words = ("submit", path, "--scheduler-file", cluster.file, "--insecure")
        command = [*hosts["c"][0], *MLFS, *map(str, words), "--runs", str(tmp_path / "runs")]
        subprocess.run(command, env=env, check=True, timeout=DEADLINE)
        folder = the_run(tmp_path)
        wait_until(lambda: owner_pid(folder) is not None and n_decided(folder) > 3)
        (held,) = [name for name, worker in workers.items() if worker.pid == owner_pid(folder)]
        before = next_number(folder.path)
        hosts.cut(held)
        wait_until(lambda: next_number(folder.path) > before)
        assert workers[held].poll() is None
        n_before = n_decided(folder)
        wait_until(lambda: n_decided(folder) > n_before)
        hosts.heal(held)
        check(folder, undisturbed)
    finally:
        cluster.stop()
    assert_told(folder, env, "broke off without a word")
