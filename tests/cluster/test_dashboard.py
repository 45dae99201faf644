"""Pages of runs of a real cluster: there by themselves, and for this machine alone."""

from urllib.parse import urlsplit

import pytest
from made_runs import MadeRun
from served import Served

from mlfs_dask.jobs.clusters.address import is_loopback

pytestmark = pytest.mark.cluster


def test_cluster_start_serves_the_runs_on_loopback_even_with_tls(secured):
    address = urlsplit(secured.read().dashboard)
    assert is_loopback(address.hostname)
    pages = Served(address.port)
    document = pages.until("/mlfs/api/runs", lambda answer: answer.json["taken"]).json
    assert document["cluster"]["n_workers"] == 2
    assert all(worker["limit_bytes"] for worker in document["cluster"]["workers"])
    page = pages.get("/mlfs")
    assert page.status == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert '<a href="mlfs">' in pages.get("/status").text


def test_cluster_start_shows_the_folder_that_it_is_told(invoke, tmp_path):
    made = MadeRun("quick")
    made.state = "cancelled"
    made.write(tmp_path / "shelf")
    said = invoke(
        *("cluster", "start", "--workers", "1", "--memory", "1 GiB"),
        *("--runs", tmp_path / "shelf"),
    )
    (line,) = (line for line in said.stdout.splitlines() if line.startswith("runs:"))
    address = urlsplit(line.split()[1])
    assert address.path == "/mlfs"
    pages = Served(address.port)
    rows = pages.until("/mlfs/api/runs", lambda answer: answer.json["runs"]).json["runs"]
    assert [(row["run"], row["state"]) for row in rows] == [("quick-0123456789", "cancelled")]
    invoke("cluster", "stop")
