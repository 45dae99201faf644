"""Disks that are full or fail now and then: the run says so and goes on, to the same bytes."""

import os
import shutil
import subprocess

import pytest

from clusters import (
    LONG,
    SHORT,
    assert_told,
    check,
    mlfs,
    n_decided,
    state,
    submit,
    the_run,
    wait_until,
)

pytestmark = pytest.mark.cluster


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


def test_a_disk_that_fails_one_write_in_ten(job_of, flaky, tmp_path, env):
    path, undisturbed = job_of(SHORT)
    words = ("run", path, "--runs", tmp_path / "runs", "--workers", 0)
    mlfs({**env, **flaky}, *words)
    assert (tmp_path / "failed").stat().st_size > 10
    check(the_run(tmp_path), undisturbed)


@pytest.mark.slow
def test_a_coordinator_on_a_disk_that_fails_one_write_in_ten(cluster, job_of, flaky, tmp_path, env):
    path, undisturbed = job_of(LONG)
    for _ in range(2):
        cluster.add_worker(**flaky)
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: n_decided(folder) > 5)
    cluster.replace(cluster.workers[0], **flaky)
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


def test_the_disk_of_the_run_is_full(small_disk, job_of, tmp_path, env):
    """It says so, in the run too, and goes on when there is room again."""
    path, undisturbed = job_of(SHORT)
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
def test_the_disk_of_a_submitted_run_is_full(small_disk, cluster, job_of, tmp_path, env):
    path, undisturbed = job_of(SHORT)
    cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: state(folder) == "failed")
    small_disk.unlink()
    assert submit(cluster, path, tmp_path)["state"] == "queued"
    check(folder, undisturbed)
    assert_told(folder, env, "No space left")
