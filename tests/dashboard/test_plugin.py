"""How a scheduler comes to its pages: preload, plugin, setting; what else it is given."""

import logging
import sys

import dask
import pytest
from distributed import Client
from made_runs import MadeRun
from served import serve

from mlfs_dask.dashboard import metrics
from mlfs_dask.dashboard.board import Board
from mlfs_dask.dashboard.plugin import DashboardPlugin, _warn_if_open, served_folders
from mlfs_dask.dashboard.workers import Watch


def test_a_scheduler_that_runs_gets_the_pages_once(tmp_path):
    MadeRun("here").write(tmp_path)
    with serve(preload=False) as pages, Client(pages.cluster, set_as_default=False) as client:
        assert pages.get("/mlfs").status == 404
        client.register_plugin(DashboardPlugin([tmp_path]))
        pages.until("/mlfs", lambda answer: "here-0123456789" in answer.text)
        before = len(pages.cluster.scheduler.http_application.applications)
        client.register_plugin(DashboardPlugin([tmp_path / "other"]))
        assert len(pages.cluster.scheduler.http_application.applications) == before
        assert "here-0123456789" in pages.get("/mlfs").text
        assert pages.get("/status").text.count('href="mlfs"') == 1
        client.unregister_scheduler_plugin(DashboardPlugin.name)
        pages.until("/mlfs", lambda answer: answer.status == 404)
        assert len(pages.cluster.scheduler.http_application.applications) == before - 1
        assert 'href="mlfs"' not in pages.get("/status").text
        client.register_plugin(DashboardPlugin([tmp_path]))
        pages.until("/mlfs", lambda answer: "here-0123456789" in answer.text)


def test_folders_are_told_by_argument_setting_or_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFS_RUNS", raising=False)
    assert served_folders() == (tmp_path / "runs",)
    monkeypatch.setenv("MLFS_RUNS", "/a")
    assert [str(folder) for folder in served_folders()] == ["/a"]
    with dask.config.set({"mlfs.dashboard.runs": "/b"}):
        assert [str(folder) for folder in served_folders()] == ["/b"]
    with dask.config.set({"mlfs.dashboard.runs": ["/b", "/c", "/b"]}):
        assert [str(folder) for folder in served_folders()] == ["/b", "/c"]
        assert [str(folder) for folder in served_folders(["d"])] == [str(tmp_path / "d")]


def test_numbers_join_those_of_dask(tmp_path):
    pytest.importorskip("prometheus_client")
    MadeRun("over").write(tmp_path)
    made = MadeRun("waits")
    made.state = "queued"
    made.write(tmp_path)
    with serve(tmp_path) as pages:
        pages.until("/metrics", lambda answer: 'mlfs_runs{state="queued"} 1.0' in answer.text)
        text = pages.get("/metrics").text
        assert "dask_scheduler_workers" in text
        assert 'mlfs_runs{state="done"} 1.0' in text
        assert 'mlfs_run_units{kind="total",run="waits-0123456789"} 32.0' in text
        assert "over-0123456789" not in text
    with serve(tmp_path) as pages:  # the next scheduler of this process has its own
        pages.until("/metrics", lambda answer: 'mlfs_runs{state="done"} 1.0' in answer.text)


def test_without_the_library_there_are_no_numbers_and_one_line_in_the_log(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    caplog.set_level(logging.INFO, "mlfs_dask")
    nothing = metrics.register(Board([], Watch(Workers())))
    assert nothing is None
    metrics.unregister(nothing)
    (line,) = caplog.messages
    assert "prometheus-client is not installed" in line


class Workers:
    """What is asked of a scheduler, without one."""

    def __init__(self, **bytes_by_worker):
        self.workers = {}
        for name, (status, held) in bytes_by_worker.items():
            self.workers[name] = _Worker(name, status, held)


class _Worker:
    def __init__(self, name, status, held):
        self.name, self.address = name, f"tcp://{name}"
        self.status = type("Status", (), {"name": status})
        self.metrics = {"memory": held}
        self.memory_limit, self.processing, self.last_seen = 2**30, ["t"], 0.0


def test_paused_workers_and_peaks_are_told():
    scheduler = Workers(a=("running", 100), b=("paused", 900))
    watch = Watch(scheduler)
    watch.sample()
    scheduler.workers["b"].metrics["memory"] = 50
    seen = watch.look()
    assert (seen.n_workers, seen.n_paused, seen.peak_bytes) == (2, 1, 900)
    assert [(w.name, w.memory_bytes, w.peak_bytes) for w in seen.workers] == [
        ("a", 100, 100),
        ("b", 50, 900),
    ]


def test_workers_that_were_lost_at_work_are_told_and_no_others():
    watch = Watch(Workers())
    gone = {"action": "remove-worker", "worker": "tcp://a", "processing-tasks": {"t": 1}}
    watch.heard({**gone, "expected": True})
    watch.heard({**gone, "processing-tasks": {}})
    watch.heard({"action": "add-worker", "worker": "tcp://b"})
    watch.heard("anything")
    watch.heard(gone)
    assert [(lost.address, lost.tasks) for lost in watch.look().lost] == [("tcp://a", 1)]


@pytest.mark.parametrize(
    ("address", "pages", "secured", "warns"),
    [
        ("tls://10.0.0.5:8786", "0.0.0.0", None, True),
        ("tls://10.0.0.5:8786", "0.0.0.0", object(), False),
        ("tls://10.0.0.5:8786", "127.0.0.1", None, False),
        ("tcp://10.0.0.5:8786", "0.0.0.0", None, False),
    ],
)
def test_open_pages_of_a_closed_scheduler_are_warned_of(address, pages, secured, warns, caplog):
    server = type("Server", (), {"address": pages, "port": 8787, "ssl_options": secured})
    _warn_if_open(type("Scheduler", (), {"address": address, "http_server": server}))
    assert ("are not: bind them" in caplog.text) == warns
