"""``dask mlfs ...`` is the same command line under Dask's own."""

import json
import subprocess
import sys

import pytest

DASK = [sys.executable, "-m", "dask", "mlfs"]


def dask_mlfs(*words):
    return subprocess.run([*DASK, *words], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.cluster
def test_commands_work_under_dask():
    done = dask_mlfs("list", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.cluster
def test_errors_are_told_in_the_same_way():
    done = dask_mlfs("status", "nobody")
    assert done.returncode == 2
    assert "no run is named 'nobody'" in done.stderr
    assert "Traceback" not in done.stderr
