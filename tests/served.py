"""A scheduler in this process that serves pages of runs, asked as a browser would ask it."""

import http.client
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser

import dask
from distributed import LocalCluster

PRELOAD = "mlfs_dask.dashboard.preload"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict
    text: str

    @property
    def json(self):
        return json.loads(self.text)


class Served:
    """The pages at a port of this machine."""

    def __init__(self, port, cluster=None):
        self.port = port
        self.cluster = cluster

    def get(self, path, method="GET", **headers):
        """One request, the path as it stands: nothing is tidied up on the way."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)

    def until(self, path, condition, seconds=20):
        """Ask again and again until the answer is as wanted."""
        deadline = time.monotonic() + seconds
        while not condition(answer := self.get(path)):
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.1)
        return answer


@contextmanager
def serve(*runs, workers=0, preload=True, **scheduler):
    """A scheduler with the preload; its pages have read all runs when the block begins."""
    words = [word for folder in runs for word in ("--runs", str(folder))]
    if preload:
        scheduler |= {"preload": [PRELOAD], "preload_argv": words}
    with (
        dask.config.set({"distributed.scheduler.preload": []}),
        LocalCluster(
            n_workers=workers,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            scheduler_kwargs=scheduler,
        ) as cluster,
    ):
        yield Served(cluster.scheduler.http_server.port, cluster)


@contextmanager
def serve_apart(runs, folder):
    """The same from a process of its own, which holds no more than a scheduler does."""
    file = folder / "pages-scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    words += ["--scheduler-file", str(file), "--preload", PRELOAD, "--runs", str(runs)]
    with (folder / "pages-scheduler.log").open("wb") as log:
        command = [sys.executable, "-m", "dask", "scheduler", *words]
        scheduler = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        yield Served(json.loads(file.read_text())["services"]["dashboard"])
    finally:
        scheduler.kill()
        scheduler.wait()


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [v for k, v in attrs if k in ("href", "src", "action") and v is not None]


def links(text):
    """Every address that a page names, in order."""
    parser = _Links()
    parser.feed(text)
    return [link for link in parser.found if not link.startswith(("#", "data:"))]
