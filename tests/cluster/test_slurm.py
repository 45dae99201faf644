"""A job inside a real Slurm: slurmctld and three slurmd on this machine, the scripts of deploy/."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "runuser")
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
MISSING = [name for name in NEEDED if shutil.which(name, path=PATH) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(bool(MISSING), reason=f"no Slurm here: {', '.join(MISSING)} not found"),
    pytest.mark.skipif(os.geteuid() != 0, reason="slurmd needs root"),
]

DEPLOY = Path(__file__).parents[2] / "deploy" / "slurm"
DEADLINE = 150
CONFIGURATION = """
ClusterName=mlfs
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=10
CryptoType=crypto/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=5
MinJobAge=300
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=15
DefMemPerCPU=2000
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(look, what):
    deadline = time.monotonic() + DEADLINE
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.3)
    return found


@pytest.fixture
def slurm(tmp_path):
    """Three nodes that are idle; yields a function that runs a command there."""
    for folder, mode in (("/run/munge", 0o755), ("/var/log/munge", 0o700)):
        Path(folder).mkdir(exist_ok=True)
        os.chmod(folder, mode)
        shutil.chown(folder, "munge", "munge")
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")
    had_munge = "munged" in {process.name() for process in psutil.process_iter()}
    if not had_munge:
        subprocess.run(["runuser", "-u", "munge", "--", "/usr/sbin/munged"], check=True)
    site = tmp_path / "slurm"
    for name in ("state", "log"):
        (site / name).mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    nodes = "\n".join(
        f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=1 "
        "RealMemory=6000 State=UNKNOWN"
        for i in (1, 2, 3)
    )
    text = CONFIGURATION.format(host=host, port=free_port(), folder=site, nodes=nodes)
    (site / "slurm.conf").write_text(text)
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(site / "slurm.conf")}

    def call(*words, check=True):
        done = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    call("slurmctld", "-c")
    for i in (1, 2, 3):
        call("slurmd", "-c", "-N", f"n{i}")
    try:
        wait_for(lambda: call("sinfo", "-h", "-o", "%D", "-t", "idle", check=False) == "3", "idle")
        call.environment = environment
        yield call
    finally:
        call("scancel", "-u", "root", check=False)
        wait_for(lambda: not call("squeue", "-h", check=False), "the end of all jobs")
        call("scontrol", "shutdown", check=False)
        time.sleep(2)
        munge = [] if had_munge else [Path("/run/munge/munged.pid")]
        for file in [*site.glob("*.pid"), *munge]:
            pid = int(file.read_text())
            if psutil.pid_exists(pid):
                psutil.Process(pid).kill()


def test_a_job_inside_slurm(slurm, tmp_path, invoke, document, monkeypatch):
    """Scheduler and workers by sbatch; one worker is cancelled on the way and replaced."""
    make_tiny_store(tmp_path / "stores")
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    shared = tmp_path / "shared"
    slurm.environment |= {
        "MLFS_SLURM": str(shared),
        "MLFS_VENV": str(Path(sys.executable).parents[1]),
        "MLFS_INTERFACE": "lo",
    }
    small = ("--mem=2000", "--time=00:10:00")
    scheduler = slurm("sbatch", "--parsable", *small, DEPLOY / "scheduler.sbatch")
    workers = slurm(
        "sbatch",
        "--parsable",
        *small,
        f"--dependency=after:{scheduler}",
        "--array=0-9%2",
        DEPLOY / "workers.sbatch",
    )
    wait_for((shared / "scheduler.json").exists, "scheduler.json")
    assert (shared / "tls" / "key.pem").stat().st_mode & 0o777 == 0o600

    profiles = tmp_path / "profiles"
    profiles.mkdir()
    text = (DEPLOY.parent / "profiles" / "slurm.toml").read_text()
    (profiles / "slurm.toml").write_text(text.replace("~/mlfs-slurm", str(shared)))
    monkeypatch.setenv("MLFS_PROFILES", str(profiles))

    def at_work():
        done = invoke("cluster", "info", "--profile", "slurm").stdout
        return done.count("tls://127.0.0.1") - 1 == 2  # the scheduler's line, and two workers

    wait_for(at_work, "two workers")
    slurm("scancel", f"{workers}_0")
    runs = ("--runs", tmp_path / "there")
    run = invoke("submit", job, "--profile", "slurm", *runs).stdout.strip()
    wait_for(lambda: document("status", run, *runs)["state"] == "done", "the end of the run")
    wait_for(at_work, "the third worker in the first one's place")
    invoke("doctor", "--profile", "slurm", "--store", "tiny", "--runs", tmp_path / "there")

    invoke("run", job, "--workers", 0, "--runs", tmp_path / "here")
    (there,), (here,) = all_runs(tmp_path / "there"), all_runs(tmp_path / "here")
    assert there.results.read_bytes() == here.results.read_bytes()
    assert there.evaluation.read_bytes() == here.evaluation.read_bytes()
