"""A job on a cluster that deploy/ssh started: a real sshd on loopback, nothing left at the end."""

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

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(SSHD is None, reason="no sshd here"),
    pytest.mark.skipif(os.geteuid() != 0, reason="this sshd takes nobody but root"),
]

DEPLOY = Path(__file__).parents[2] / "deploy" / "ssh"


@pytest.fixture
def ssh(tmp_path):
    """The ssh command that reaches a server of this test's own."""
    keys = tmp_path / "keys"
    keys.mkdir()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True
        )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": keys / "host",
        "AuthorizedKeysFile": keys / "user.pub",
        "PidFile": keys / "pid",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
    }
    config = keys / "sshd_config"
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    Path("/run/sshd").mkdir(exist_ok=True)
    subprocess.run([SSHD, "-f", config, "-E", keys / "log"], check=True)
    options = f"-p {port} -i {keys / 'user'} -o UserKnownHostsFile={keys / 'known'}"
    yield f"ssh {options} -o StrictHostKeyChecking=no -o LogLevel=ERROR"
    psutil.Process(int((keys / "pid").read_text())).terminate()
    for left in of_cluster(tmp_path / "shared folder"):
        left.kill()


def script(name, *words, ssh, **environment):
    done = subprocess.run(
        [DEPLOY / name, *words],
        env={
            **os.environ,
            "MLFS_SSH": ssh,
            "MLFS_VENV": str(Path(sys.executable).parents[1]),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    return done.returncode, done.stdout + done.stderr


def of_cluster(folder):
    """Processes that name the cluster's folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(folder) in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_job_over_ssh(ssh, tmp_path, invoke):
    """A worker that is killed with its nanny comes back; stop.sh ends every process."""
    make_tiny_store(tmp_path / "stores")
    job = tmp_path / "tiny.toml"
    job.write_text(TINY_JOB)
    shared = tmp_path / "shared folder"
    sizes = {"MLFS_WORKERS": "2", "MLFS_MEMORY": "2GiB"}
    code, said = script("start.sh", shared, "root@127.0.0.1", ssh=ssh, **sizes)
    assert code == 0, said
    assert (shared / "tls" / "key.pem").stat().st_mode & 0o777 == 0o600
    code, said = script("start.sh", shared, "127.0.0.1", ssh=ssh)
    assert (code, "already" in said) == (2, True)

    files = [
        word
        for name in ("ca-file", "cert", "key")
        for word in (f"--tls-{name}", shared / "tls" / f"{name.partition('-')[0]}.pem")
    ]
    where = ("--scheduler-file", shared / "scheduler.json", *files)

    def workers():
        return invoke("cluster", "info", *where).stdout.count("COORD=1")

    wait_for(lambda: workers() == 2)
    (nanny,) = [p for p in of_cluster(shared) if "worker" in p.cmdline() and "dask" in p.name()]
    nanny.kill()
    wait_for(lambda: workers() == 0)
    wait_for(lambda: workers() == 2)

    invoke("run", job, *where, "--runs", tmp_path / "there")
    invoke("doctor", *where, "--store", "tiny", "--runs", tmp_path / "there")
    code, said = script("stop.sh", shared, ssh=ssh)
    assert (code, said) == (0, "stopped\n")
    assert of_cluster(shared) == []

    invoke("run", job, "--workers", 0, "--runs", tmp_path / "here")
    (there,), (here,) = all_runs(tmp_path / "there"), all_runs(tmp_path / "here")
    assert there.results.read_bytes() == here.results.read_bytes()


def wait_for(look):
    deadline = time.monotonic() + 120
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.3)


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=touch hacked", "a;touch hacked", "$(touch hacked)"]
)
def test_hosts_are_hosts(tmp_path, monkeypatch, host):
    monkeypatch.chdir(tmp_path)
    code, said = script("start.sh", tmp_path / "shared", host, ssh="false")
    assert (code, "is no host" in said) == (2, True)
    assert not (tmp_path / "hacked").exists()


def test_stop_without_start(tmp_path):
    assert script("stop.sh", tmp_path, ssh="false")[0] == 2
