"""Whatever is killed, frozen, cut off or full: same bytes, nothing done twice, nothing hangs."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from clusters import (
    DEADLINE,
    MLFS,
    Cluster,
    assert_told,
    check,
    environment,
    events,
    mlfs,
    owner_pid,
    run_undisturbed,
    state,
    submit,
    the_run,
    wait_until,
)
from mlfs_dask.jobs.lease import next_number
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.cluster

TOY = 'method = "toy-online"\nlabel = "toy"'
SHORT = TINY_JOB.replace('method = "mllap"', f"{TOY}\ndelay = 0.05").replace(
    "repeats = 2", "repeats = 1"
)
LONG = TINY_JOB.replace('method = "mllap"', f"{TOY}\ndelay = 0.3")


@pytest.fixture
def env():
    return environment()


@pytest.fixture
def cluster(tmp_path, env):
    made = Cluster(tmp_path, env)
    wait_until(made.file.exists)
    yield made
    made.stop()


@pytest.fixture
def job(tmp_path, toys):
    """Makes a job file of a text, and says what it gives undisturbed."""
    make_tiny_store(tmp_path / "stores")

    def made(text):
        path = tmp_path / "tiny.toml"
        path.write_text(text)
        return path, run_undisturbed(text, tmp_path)

    return made


def n_units(folder):
    return len(events(folder, "unit"))


def n_decided(folder):
    return len(events(folder, "step"))


# --- killed -----------------------------------------------------------------------------------


def kill_and_replace(cluster, worker):
    cluster.kill(worker)
    cluster.add_worker()


def test_workers_killed_twice(cluster, job, tmp_path, env):
    """Of a scheduler with Dask's own patience, which is shorter."""
    path, undisturbed = job(SHORT.replace("delay = 0.05", "delay = 0.1"))
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    for kill in range(2):
        wait_until(lambda least=3 * kill: n_decided(folder) > least)
        kill_and_replace(cluster, cluster.workers[0])
    check(folder, undisturbed)
    assert_told(folder, env, "was lost" if "was lost" in lost(folder) else "broke off")


def lost(folder):
    return " ".join(event["message"] for event in events(folder, "incident"))


@pytest.mark.slow
def test_a_worker_killed_at_ten_random_moments(cluster, job, tmp_path, env):
    path, undisturbed = job(LONG)
    for _ in range(3):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: n_decided(folder) > 0)
    moments = random.Random(7)
    for _ in range(10):
        time.sleep(moments.uniform(0.2, 3.0))
        if state(folder) == "done":
            pytest.fail("the job is too short for ten kills")
        kill_and_replace(cluster, moments.choice(cluster.workers))
    check(folder, undisturbed)
    assert_told(folder, env, "was lost")


@pytest.mark.slow
def test_every_worker_killed_once_in_turn(cluster, job, tmp_path, env):
    path, undisturbed = job(LONG)
    first = [cluster.add_worker() for _ in range(3)]
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    for number, worker in enumerate(first):
        wait_until(lambda least=4 * number: n_decided(folder) > least)
        kill_and_replace(cluster, worker)
    check(folder, undisturbed)
    assert_told(folder, env, "broke off")  # one of them held the coordinator


@pytest.mark.slow
def test_all_workers_killed_at_once_and_none_for_a_while(cluster, job, tmp_path, env):
    path, undisturbed = job(LONG)
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: n_decided(folder) > 3)
    for worker in list(cluster.workers):
        cluster.kill(worker)
    time.sleep(3)
    cluster.add_worker()
    check(folder, undisturbed)
    assert_told(folder, env, "broke off")


@pytest.mark.slow
def test_a_job_of_200_units_survives_50_kills(cluster, job, tmp_path, env):
    """More than any task may lose by Dask's count; between kills something gets done."""
    text = LONG.replace("folds = 3, repeats = 2", "folds = 5, repeats = 8")
    path, undisturbed = job(text.replace("delay = 0.3", "delay = 0.1"))
    for _ in range(3):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    moments, total = random.Random(11), 5 * 40 + 2
    for kill in range(50):
        wait_until(lambda least=kill: n_units(folder) >= 3 * least)
        time.sleep(moments.uniform(0, 0.5))
        kill_and_replace(cluster, moments.choice(cluster.workers))
    check(folder, undisturbed, total)
    assert next_number(folder.path) > 12
    assert_told(folder, env, "was lost")
    assert_told(folder, env, "broke off")


@pytest.mark.slow
def test_a_unit_that_kills_its_worker_fails_alone(cluster, job, tmp_path, env):
    """Others on the same workers are done; what kills is tried again when it is asked for."""
    poison = tmp_path / "poison"
    text = SHORT.replace("delay = 0.05", f"dies_with = '{poison}'\nfinal = false")
    path, undisturbed = job(text.replace('"kfold", folds = 3, repeats = 1', '"holdout"'))
    poison.touch()
    for _ in range(2):
        cluster.add_worker("--memory-limit", "0")  # their nannies start them again
    runs = ("--runs", tmp_path / "runs")
    said = mlfs(env, "run", path, "--scheduler-file", cluster.file, *runs, code=1)
    folder = the_run(tmp_path)
    assert state(folder) == "partial", said
    failed = events(folder, "failed")
    assert [event["error"] for event in failed] == ["WorkerDiedError", "NotRun"]
    assert all("toy" in event["what"] for event in failed)
    assert n_units(folder) == 2 + 2
    assert_told(folder, env, "with nothing beside it")
    poison.unlink()
    mlfs(env, "resume", folder.id, *runs, "--retry-failed", "--scheduler-file", cluster.file)
    check(folder, undisturbed)


@pytest.mark.slow
def test_a_worker_out_of_memory(cluster, job, tmp_path, env):
    food = tmp_path / "food"
    path, undisturbed = job(SHORT.replace("delay = 0.05", f"eats_with = '{food}'"))
    food.touch()
    for _ in range(2):
        cluster.add_worker("--memory-limit", "600MB")
    runs = ("--runs", tmp_path / "runs")
    mlfs(env, "run", path, "--scheduler-file", cluster.file, *runs)
    folder = the_run(tmp_path)
    check(folder, undisturbed)
    assert not food.exists()
    assert_told(folder, env, "of memory, above its limit")


# --- frozen and cut off -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_client_frozen_past_the_heartbeat(cluster, job, tmp_path, env):
    path, undisturbed = job(LONG)
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
def test_a_worker_cut_off_while_it_holds_the_coordinator(hosts, job, tmp_path):
    """Two coordinators live for a moment; the lease decides which of them writes."""
    path, undisturbed = job(LONG.replace("delay = 0.3", "delay = 0.6"))
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


# --- disks ------------------------------------------------------------------------------------

FLAKY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *path) {
    static unsigned seed = 20240229;
    const char *folder = getenv("FLAKY_FOLDER");
    if (!folder || strncmp(path, folder, strlen(folder))) return 0;
    seed = __sync_add_and_fetch(&seed, 12345) * 1103515245u;
    if ((seed >> 16) % 10) return 0;
    const char *count = getenv("FLAKY_COUNT");
    FILE *file = count ? fopen(count, "a") : NULL;
    if (file) { fputc('x', file); fclose(file); }
    errno = EIO;
    return 1;
}

static int fails_fd(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return fails(path);
}

ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return fails_fd(fd) ? -1 : real(fd, data, size);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return fails_fd(fd) ? -1 : real(fd);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = dlsym(RTLD_NEXT, "rename");
    return fails(to) ? -1 : real(from, to);
}
"""


@pytest.fixture
def flaky(tmp_path):
    """Environment in which a write, flush or renaming in ten below the folder of runs fails."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for a library that makes writes fail")
    source, library = tmp_path / "flaky.c", tmp_path / "flaky.so"
    source.write_text(FLAKY)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return {
        "LD_PRELOAD": str(library),
        "FLAKY_FOLDER": str(tmp_path / "runs"),
        "FLAKY_COUNT": str(tmp_path / "failed"),
    }


def test_a_disk_that_fails_one_write_in_ten(job, flaky, tmp_path, env):
    path, undisturbed = job(SHORT)
    words = ("run", path, "--runs", tmp_path / "runs", "--workers", 0)
    mlfs({**env, **flaky}, *words)
    assert (tmp_path / "failed").stat().st_size > 10
    check(the_run(tmp_path), undisturbed)


@pytest.mark.slow
def test_a_coordinator_on_a_disk_that_fails_one_write_in_ten(cluster, job, flaky, tmp_path, env):
    path, undisturbed = job(LONG)
    for _ in range(2):
        cluster.add_worker(**flaky)
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: n_decided(folder) > 5)
    kill_and_replace(cluster, cluster.workers[0])
    check(folder, undisturbed)
    assert (tmp_path / "failed").stat().st_size > 10


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MiB for the folder of runs, and a file on it that leaves little room."""
    runs = tmp_path / "runs"
    runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(runs)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("making a small disk needs root and the right to mount")
    ballast = runs / ".ballast"
    ballast.write_bytes(bytes(4 * 2**20 - 150 * 2**10))
    yield ballast
    subprocess.run(["umount", "-l", str(runs)], check=True)


def test_the_disk_of_the_run_is_full(small_disk, job, tmp_path, env):
    """It says so, in the run too, and goes on when there is room again."""
    path, undisturbed = job(SHORT)
    runs = ("--runs", tmp_path / "runs")
    said = mlfs(env, "run", path, *runs, "--workers", 0, code=1)
    assert "No space left on device" in said
    folder = the_run(tmp_path)
    assert state(folder) == "failed"
    assert "No space left" in mlfs(env, "status", folder.id, *runs)
    small_disk.unlink()
    mlfs(env, "resume", folder.id, *runs)
    check(folder, undisturbed)
    assert_told(folder, env, "No space left")


@pytest.mark.slow
def test_the_disk_of_a_submitted_run_is_full(small_disk, cluster, job, tmp_path, env):
    path, undisturbed = job(SHORT)
    cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: state(folder) == "failed")
    small_disk.unlink()
    assert submit(cluster, path, tmp_path)["state"] == "queued"
    check(folder, undisturbed)
    assert_told(folder, env, "No space left")
