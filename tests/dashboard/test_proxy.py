"""Behind a proxy that rewrites paths, with a prefix, and without bokeh."""

import http.client
import re
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin, urlsplit

import dask
import pytest
from served import Served, links, serve

from mlfs_dask.jobs.rundir import all_runs

BEHIND = "/user/ada/proxy/8787"


@contextmanager
def rewriting(port):
    """A proxy that takes a prefix off and knows nothing else, as notebooks and gateways have."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if not self.path.startswith(BEHIND):
                self.send_error(404, "outside of the proxy")
                return
            inner = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            inner.request("GET", self.path.removeprefix(BEHIND) or "/")
            answer = inner.getresponse()
            text = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            inner.close()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Served(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


def crawl(pages, start):
    """Every page of runs that can be reached by links, with its status; Dask's own are not read."""
    seen, waiting = {}, [start]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        answer = pages.get(path)
        seen[path] = answer.status
        if answer.status in (301, 302):
            waiting.append(urljoin(path, answer.headers["location"]))
        if "html" in answer.headers["content-type"] and "/mlfs" in path:
            for link in links(answer.text):
                assert not urlsplit(link).netloc
                assert not link.startswith("/"), link
                waiting.append(urljoin(path, link))
    return seen


@pytest.mark.parametrize("start", ["/mlfs", "/mlfs/", "/mlfs/runs/RUN", "/mlfs/runs/RUN/"])
def test_all_links_hold_behind_a_proxy(served, runs, start):
    (run,) = all_runs(runs)
    served.until("/mlfs", lambda answer: run.id in answer.text)
    with rewriting(served.port) as pages:
        seen = crawl(pages, BEHIND + start.replace("RUN", run.id))
    assert set(seen.values()) == {200}, seen
    for part in ("style.css", "refresh.js", f"runs/{run.id}", "api/runs", f"api/runs/{run.id}"):
        assert f"{BEHIND}/mlfs/{part}" in seen
    assert f"{BEHIND}/status" in seen  # the way back to Dask's own pages


def test_the_pages_stand_under_the_prefix_of_the_dashboard(runs):
    with serve(runs, http_prefix="/sub/dask") as pages:
        assert pages.get("/mlfs").status == 404
        seen = crawl(pages, "/sub/dask/mlfs")
        assert set(seen.values()) == {200}, seen
        assert "/sub/dask/status" in seen


def test_dasks_own_menu_leads_to_the_runs(served):
    for page in ("/status", "/workers"):
        text = served.get(page).text
        assert re.search(r'<a href="[./]*mlfs">', text), page


def test_without_bokeh_the_pages_are_there_and_say_what_is_missing(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed.dashboard.scheduler", None)
    routes = list(dask.config.get("distributed.scheduler.http.routes"))
    with dask.config.set({"distributed.scheduler.http.routes": routes}), serve(runs) as pages:
        assert "bokeh" in pages.get("/status").text  # Dask's own hint
        text = pages.get("/mlfs").text
        assert "they need bokeh" in text
        seen = crawl(pages, "/mlfs")
        assert set(seen.values()) == {200}, seen
        assert "/status" not in seen
