"""Ceph's S3 gateway on this machine, in memory: one monitor, one store of objects."""

import os
import shutil
import socket
import subprocess
import time
import urllib.request
import uuid

PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "monmaptool", "ceph", "radosgw-admin")
PACKAGES = ("radosgw", "ceph-mon", "ceph-osd", "ceph-base", "ceph-common")

_SETTINGS = """
[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:127.0.0.1:{monitor}]
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
osd objectstore = memstore
memstore device bytes = 1073741824
run dir = {folder}
log file = {folder}/$name.log
admin socket = {folder}/$name.$pid.asok
pid file = {folder}/$name.pid
mon data = {folder}/mon
osd data = {folder}/osd
public addr = 127.0.0.1
cluster addr = 127.0.0.1
[client.rgw]
# The gateway asks for encryption, which needs keys.
ms mon client mode = crc
rgw frontends = beast endpoint=127.0.0.1:{gateway}
rgw data = {folder}/rgw
"""


def install():
    """Get the programs, if this process may; what is in the way otherwise."""
    if all(map(shutil.which, PROGRAMS)):
        return None
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        return "Ceph's gateway is not installed, and only root with apt-get can"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in ("update",), ("install", "-y", "--no-install-recommends", *PACKAGES):
        done = subprocess.run(["apt-get", "-q", *words], env=environment, capture_output=True)
        if done.returncode != 0:
            return f"apt-get {words[0]} failed: {done.stderr.decode()[-200:]}"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"apt-get brought no {', '.join(missing)}" if missing else None


class Gateway:
    """A gateway that knows one user."""

    def __init__(self, folder, key, secret):
        ports = [_free_port() for _ in range(2)]
        self.folder = folder
        self.address = f"http://127.0.0.1:{ports[1]}"
        fsid = str(uuid.uuid4())
        text = _SETTINGS.format(fsid=fsid, monitor=ports[0], gateway=ports[1], folder=folder)
        (folder / "ceph.conf").write_text(text)
        for name in ("mon", "osd", "rgw"):
            (folder / name).mkdir()
        monitor = f"[v2:127.0.0.1:{ports[0]}]"
        monmap = str(folder / "monmap")
        self._do("monmaptool", "--create", "--addv", "a", monitor, "--fsid", fsid, monmap)
        self._do("ceph-mon", "-i", "a", "--mkfs", "--monmap", monmap)
        self._do("ceph-mon", "-i", "a")
        osd = str(uuid.uuid4())
        self._do("ceph", "osd", "new", osd, "0")
        self._do("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self._do("ceph-osd", "-i", "0")
        self._do("radosgw", "-n", "client.rgw")
        self._wait()
        user = (
            "--uid=test",
            "--display-name=test",
            f"--access-key={key}",
            f"--secret-key={secret}",
        )
        self._do("radosgw-admin", "-n", "client.rgw", "user", "create", *user)

    def stop(self):
        for file in self.folder.glob("*.pid"):
            subprocess.run(["kill", file.read_text().strip()], check=False, capture_output=True)

    def _do(self, program, *words):
        command = [program, "-c", str(self.folder / "ceph.conf"), *words]
        with (self.folder / "out.log").open("ab") as log:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)

    def _wait(self, seconds=180):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return urllib.request.urlopen(self.address, timeout=5).close()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
