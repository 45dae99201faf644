"""The pages of runs in headless Chromium, while a job runs on processes that are killed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from chromium import MESSAGES, Chromium, find_chromium
from served import Served

from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.browser
TESTS = Path(__file__).parents[1]
MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.25')
JOB = JOB.replace("repeats = 2", "repeats = 30")  # longer than looking takes; it is cancelled
WIDTHS = (1280, 390)
CHOSEN = "document.getElementById('chosen').textContent"
MAIN = "document.querySelector('main').textContent"
DONE = "document.querySelector('.whole progress').value"


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    with Chromium(program) as chromium:
        yield chromium


@pytest.fixture
def job(tmp_path):
    """`mlfs run` on two worker processes: the process, and the address of its run's page."""
    make_tiny_store(tmp_path / "stores")
    (tmp_path / "tiny.toml").write_text(JOB)
    folders = [str(TESTS / "plugins"), str(TESTS), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        "MLFS_STORES": str(tmp_path / "stores"),
    }
    words = ("run", str(tmp_path / "tiny.toml"), "--workers", "2", "--runs", str(tmp_path / "runs"))
    with subprocess.Popen([*MLFS, *words], env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if page := re.search(r"its page, while it runs: (http://127\.0\.0\.1:\S+)", line):
                    yield process, page[1]
                    break
            else:
                pytest.fail("no page was told")
        finally:
            process.kill()


@pytest.mark.slow
def test_the_page_moves_and_a_killed_worker_is_an_incident(browser, job, tmp_path):
    process, page = job
    for width in WIDTHS:
        browser.open(page, width=width)
        assert browser.content_width() <= width
    assert browser.evaluate("document.querySelector('.state').textContent") in ("running", "queued")
    browser.evaluate("window.kept = true")
    before = browser.evaluate(DONE)
    browser.until("document.querySelector('.tag.hand')")  # a selection in hand, with its decisions
    chosen = browser.evaluate(CHOSEN)
    assert "so far, the latest first" in chosen
    browser.until(f"{CHOSEN} != {json.dumps(chosen)}")

    worker = next(p for p in psutil.Process(process.pid).children(recursive=True) if _works(p))
    worker.kill()
    browser.until("document.getElementById('incidents')")
    said = browser.evaluate("document.querySelector('#incidents .alert').textContent")
    assert "was lost" in said
    assert browser.evaluate("window.kept")
    assert browser.saw(*MESSAGES) is None

    _it_moves_without_scripts(browser, page)
    _the_menu_of_dask_leads_there(page)
    _the_list_leads_to_the_run(browser, page)
    browser.until(f"{DONE} > {before} && document.querySelector('#curves figure svg')")
    for width in WIDTHS:
        browser.open(page, width=width)
        assert browser.content_width() <= width
        assert browser.boxes("#curves figure > svg")

    (folder,) = all_runs(tmp_path / "runs")
    request_cancel(folder)
    process.stderr.read()
    assert process.wait(120) == 1
    assert folder.read_state()["state"] == "cancelled"


def _works(process):
    return "spawn_main" in " ".join(process.cmdline())


def _it_moves_without_scripts(browser, page):
    browser.open(page, width=390, scripts=False)
    before = browser.evaluate(MAIN)
    browser.until(f"document.querySelector('footer') && {MAIN} != {json.dumps(before)}")


def _the_menu_of_dask_leads_there(page):
    root = page.partition("/mlfs")[0]
    text = Served(int(root.rpartition(":")[2])).get("/status").text
    assert '<a href="mlfs">' in text


def _the_list_leads_to_the_run(browser, page):
    for width in WIDTHS[::-1]:
        browser.open(page.partition("/runs/")[0], width=width)
        assert browser.content_width() <= width
    browser.click(".runs a")
    browser.until("document.getElementById('stages')")
    assert browser.evaluate("location.href") == page
