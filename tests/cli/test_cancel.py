"""``mlfs cancel``, and all that is done to a run while another process works on it."""

import json
import os
import subprocess
import sys
import time

import pytest

from mlfs_dask.jobs import lock
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


def start(*arguments):
    command = [sys.executable, "-m", "mlfs_dask", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=dict(os.environ), **pipes)


@pytest.fixture
def at_work(tmp_path):
    """A process in the middle of 1502 units, and its run."""
    make_tiny_store(tmp_path / "stores")
    (tmp_path / "tiny.toml").write_text(TINY_JOB)
    more = ("--set", "evaluate.split.repeats=100", "--workers", "0")
    process = start("run", tmp_path / "tiny.toml", *more)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "runs").glob("*/units/*.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (path,) = (tmp_path / "runs").iterdir()
    yield process, RunFolder(path)
    process.kill()
    process.communicate()


def test_a_run_at_work_is_seen_kept_and_cancelled(invoke, document, at_work):
    process, run = at_work
    follower = start("logs", run.path, "-f")
    assert document("list", "--state", "running")[0]["run"] == run.id
    assert f"running by process {process.pid} on" in invoke("status", "tiny").stdout
    for refused in (("rm", "tiny"), ("rm", "tiny", "--force"), ("resume", "tiny")):
        assert f"being written by process {process.pid}" in invoke(*refused, code=2).stderr
    asked = document("cancel", "tiny")
    assert (asked["asked"], asked["holder"]["pid"]) == (True, process.pid)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert f"{run.id} was cancelled" in err
    assert f"Go on with: mlfs resume {run.id} --runs {run.path.parent}" in err
    followed, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert followed == run.log.read_text()
    found = document("status", "tiny")
    assert found["state"] == "cancelled"
    assert found["go_on"] == f"mlfs resume {run.id} --runs {run.path.parent}"
    assert 0 < found["progress"]["done"] < 1502
    assert not run.cancel.exists()
    invoke("rm", "tiny")
    assert not run.path.exists()


def test_a_run_that_nobody_works_on_is_marked_and_goes_on_all_the_same(invoke, document, cut_run):
    text = invoke("cancel", "tiny").stdout
    assert "marked as cancelled, no process was at work on it" in text
    assert f"mlfs resume {cut_run.id} --runs {cut_run.path.parent}" in text
    found = document("status", "tiny")
    assert (found["state"], found["progress"]) == ("cancelled", {"done": 2, "total": 17})
    assert "is cancelled already" in invoke("cancel", "tiny", code=2).stderr
    assert document("resume", "tiny")["state"] == "done"
    told = document("cancel", "tiny", code=2)["error"]
    assert told["message"] == f"{cut_run.id} is done already: there is nothing to cancel"


def test_json_says_whether_a_process_was_asked(document, cut_run):
    with lock.hold(cut_run.lock):
        asked = document("cancel", "tiny")
    assert (asked["run"], asked["asked"]) == (cut_run.id, True)
    assert asked["holder"]["pid"] == os.getpid()
    assert cut_run.cancel.exists()
    assert document("cancel", "tiny") == {"run": cut_run.id, "asked": False, "holder": None}


def test_a_partial_run_is_at_its_end(invoke, tiny_run):
    state = json.loads(tiny_run.state.read_bytes())
    tiny_run.state.write_text(json.dumps({**state, "state": "partial"}))
    before = tiny_run.state.read_bytes()
    assert "is partial already" in invoke("cancel", "tiny", code=2).stderr
    assert tiny_run.state.read_bytes() == before


def test_a_damaged_run_is_not_written_to(invoke, tiny_run):
    tiny_run.state.write_bytes(b"{")
    assert "state.json" in invoke("cancel", "tiny", code=2).stderr
    assert tiny_run.state.read_bytes() == b"{"
    assert not tiny_run.cancel.exists()


@pytest.mark.parametrize("name", ["nobody", "../x", "", "/"])
def test_no_such_run(invoke, tiny_run, name):
    invoke("cancel", name, code=2)
