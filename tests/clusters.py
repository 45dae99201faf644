"""A Dask cluster of whole processes that can be killed, and runs that should not mind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB

TESTS = Path(__file__).parent
PLUGINS = [str(TESTS / "plugins"), str(TESTS)]
MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
TOY = 'method = "toy-online"\nlabel = "toy"'
SHORT = TINY_JOB.replace('method = "mllap"', f"{TOY}\ndelay = 0.05").replace(
    "repeats = 2", "repeats = 1"
)
LONG = TINY_JOB.replace('method = "mllap"', f"{TOY}\ndelay = 0.3")
DEADLINE = 400  # while others compute; with the machine for itself it is a tenth of that


def environment(**more):
    """Of the processes: they know the plug-ins, and are patient while others compute."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*PLUGINS, os.environ.get("PYTHONPATH", "")]),
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s",
        **more,
    }


class Cluster:
    """A scheduler and workers, each a process of its own; `prefix` puts them somewhere else."""

    def __init__(self, folder, env, port=0, host="127.0.0.1", prefix=()):
        self.file = folder / f"scheduler-{time.monotonic_ns()}.json"
        self.folder, self.env = folder, env
        self.workers = []
        self.scheduler = self.start(
            "scheduler",
            *("--host", host, "--port", str(port), "--scheduler-file", str(self.file)),
            *("--dashboard-address", "127.0.0.1:0"),
            prefix=prefix,
        )

    def start(self, kind, *words, prefix=(), **more):
        log = (self.folder / f"{kind}-{time.monotonic_ns()}.log").open("wb")
        command = [*prefix, sys.executable, "-m", "dask", kind, *words]
        return subprocess.Popen(command, env={**self.env, **more}, stdout=log, stderr=log)

    def add_worker(self, *words, prefix=(), **more):
        """One thread; without nanny and memory limit unless `words` says otherwise."""
        kind = words or ("--no-nanny", "--memory-limit", "0")
        worker = self.start(
            "worker",
            *("--scheduler-file", str(self.file), "--nthreads", "1", *kind),
            *("--death-timeout", "60", "--no-dashboard"),
            prefix=prefix,
            **more,
        )
        self.workers.append(worker)
        return worker

    def kill(self, worker):
        """SIGKILL; nobody starts it again."""
        worker.kill()
        worker.wait()
        self.workers.remove(worker)

    def replace(self, worker, **more):
        """SIGKILL, and another one comes."""
        self.kill(worker)
        self.add_worker(**more)

    def stop(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def wait_until(what, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def mlfs(env, *words, code=0):
    done = subprocess.run(
        [*MLFS, *map(str, words)],
        env=env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def submit(cluster, job, tmp_path):
    words = ("submit", job, "--scheduler-file", cluster.file, "--runs", tmp_path / "runs", "--json")
    return json.loads(mlfs(cluster.env, *words))


def run_undisturbed(text, tmp_path):
    """Its results, in this process."""
    resolved = parse_job(text.encode(), "tiny.toml", ("run.workers=0",))
    folder = run_job(Order(job=resolved, text=text.encode(), runs=tmp_path / "undisturbed")).folder
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def the_run(tmp_path):
    (folder,) = all_runs(tmp_path / "runs")
    return folder


def events(folder, kind):
    if not folder.journal.exists():
        return []
    return [event for event in open_run(folder.path).events if event["event"] == kind]


def n_units(folder):
    return len(events(folder, "unit"))


def n_decided(folder):
    return len(events(folder, "step"))


def wait_for_progress(folder):
    """Until something more is decided: a coordinator is at work."""
    before = n_decided(folder)
    wait_until(lambda: n_decided(folder) > before)


def state(folder):
    return folder.read_state()["state"]


def owner_pid(folder):
    owner = folder.owner()
    return None if owner is None else owner["pid"]


def check(folder, undisturbed, n_units=None):
    """The run ends as if nothing had happened: same bytes, nothing done twice."""
    wait_until(lambda: state(folder) == "done")
    assert folder.results.read_bytes() == undisturbed[0]
    assert folder.evaluation.read_bytes() == undisturbed[1]
    units = [event["unit"] for event in events(folder, "unit")]
    assert len(units) == len(set(units)) == (n_units or len(units))
    steps = decided(folder)
    assert len(steps) == len(set(steps))
    wait_until(folder.report.exists)


def decided(folder):
    """Unit and number of each decision, and how often the unit had failed: it then starts anew."""
    found, failures = [], Counter()
    for event in open_run(folder.path).events:
        if event["event"] == "failed":
            failures[event["unit"]] += 1
        elif event["event"] == "step":
            found.append((event["unit"], event["first"], failures[event["unit"]]))
    return found


def assert_told(folder, env, *words):
    """An incident stands in the journal, in `mlfs status` and in the report."""
    told = {
        "journal": json.dumps(events(folder, "incident") + events(folder, "stop")),
        "status": mlfs(env, "status", folder.path, "--json"),
        "report": folder.report.read_text(),
    }
    for place, text in told.items():
        assert all(word in text for word in words), f"{words} not in the {place}"
