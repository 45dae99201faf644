"""``mlfs logs``: all of it, the last lines, and following a run to its end."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from mlfs_dask.jobs import lock, logfile
from mlfs_dask.jobs.logfile import read_log


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(logfile, "_POLL_SECONDS", 0.01)


def test_the_whole_log(invoke, document, tiny_run):
    assert invoke("logs", "tiny").stdout == tiny_run.log.read_text()
    assert tiny_run.id in tiny_run.log.read_text()
    found = document("logs", "tiny")
    assert found["lines"] == tiny_run.log.read_text().splitlines()
    assert found["log"] == str(tiny_run.log)


@pytest.mark.parametrize(
    ("text", "count", "shown"),
    [
        (b"a\nb\nc\n", 2, "b\nc\n"),
        (b"a\nb\nc\n", 0, ""),
        (b"a\nb\nc\n", 9, "a\nb\nc\n"),
        (b"a\nb\ntorn", 2, "b\ntorn\n"),
        (b"", 3, ""),
        (b"\n\n\n", 2, "\n\n"),
        (b"x\n" * 50_000, 49_999, "x\n" * 49_999),
    ],
)
def test_the_last_lines(invoke, tiny_run, text, count, shown):
    tiny_run.log.write_bytes(text)
    assert invoke("logs", "tiny", "-n", count).stdout == shown
    assert invoke("logs", "tiny", "--lines", count, "-f").stdout == shown


def test_bytes_that_are_no_text_are_passed_on(invoke, document, tiny_run):
    tiny_run.log.write_bytes(b"\xff\xfe good\n")
    assert invoke("logs", "tiny").stdout_bytes == b"\xff\xfe good\n"
    assert document("logs", "tiny")["lines"] == ["�� good"]


def test_a_run_without_a_log(invoke, document, tiny_run):
    tiny_run.log.unlink()
    for more in ([], ["-f"], ["-n", "3"]):
        result = invoke("logs", "tiny", *more)
        assert result.stdout == ""
        assert "has no log yet" in result.stderr
    assert document("logs", "tiny")["lines"] == []


@pytest.mark.parametrize("name", ["nobody", "../runs", "", "/", "log.txt"])
def test_no_such_run(invoke, tiny_run, name):
    invoke("logs", name, code=2)


def test_lines_below_none_are_refused(invoke, tiny_run):
    invoke("logs", "tiny", "-n", "-1", code=2)


class Writer(threading.Thread):
    """Holds the run and writes its log bit by bit."""

    def __init__(self, folder, act):
        super().__init__()
        self.folder, self.act, self.held = folder, act, threading.Event()

    def run(self):
        with lock.hold(self.folder.lock):
            self.held.set()
            self.act(self.folder.log)

    def __enter__(self):
        self.start()
        assert self.held.wait(10)
        return self

    def __exit__(self, *_):
        self.join()


def wait_until(told, text):
    deadline = time.monotonic() + 10
    while text not in b"".join(told):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def follow(folder, act):
    """What a follower is told, while ``act`` writes to the log; ``seen`` waits for a text."""
    told = []
    reader = None

    def write(log):
        reader.start()
        act(log, lambda text: wait_until(told, text))

    reader = threading.Thread(
        target=lambda: told.extend(iter_into(told, read_log(folder, follow=True)))
    )
    with Writer(folder, write):
        pass
    reader.join(10)
    assert not reader.is_alive()
    return b"".join(told)


def iter_into(told, pieces):
    for piece in pieces:
        told.append(piece)
    return ()


def append(log, text):
    with log.open("ab") as file:
        file.write(text)


def test_following_shows_what_comes_until_the_lock_is_lifted(tiny_run):
    tiny_run.log.write_bytes(b"old\n")

    def act(log, seen):
        seen(b"old\n")
        append(log, b"on")
        seen(b"on")
        append(log, b"e\ntwo\n")
        seen(b"two")
        append(log, b"the last words\n")

    assert follow(tiny_run, act) == b"old\none\ntwo\nthe last words\n"


def test_following_survives_truncation(tiny_run):
    tiny_run.log.write_bytes(b"a long beginning\n")

    def act(log, seen):
        seen(b"beginning")
        os.truncate(log, 0)
        append(log, b"short\n")
        seen(b"short")

    assert follow(tiny_run, act) == b"a long beginning\nshort\n"


def test_following_survives_a_log_put_in_its_place(tiny_run):
    tiny_run.log.write_bytes(b"first\n")

    def act(log, seen):
        seen(b"first")
        log.with_name("new").write_bytes(b"second, and longer than the first\n")
        log.with_name("new").replace(log)
        seen(b"second")

    assert follow(tiny_run, act).endswith(b"first\nsecond, and longer than the first\n")


def test_following_waits_for_a_log_that_is_not_there_yet(tiny_run):
    tiny_run.log.unlink()

    def act(log, seen):
        time.sleep(0.05)
        append(log, b"here\n")
        seen(b"here")

    assert follow(tiny_run, act) == b"here\n"


def test_following_a_run_that_is_removed_ends(tiny_run):
    def act(log, seen):
        import shutil

        seen(b"units")
        shutil.rmtree(log.parent)

    assert follow(tiny_run, act)


def test_ctrl_c_ends_quietly(tiny_run):
    command = [sys.executable, "-m", "mlfs_dask", "logs", str(tiny_run.path), "-f"]
    with lock.hold(tiny_run.lock):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=dict(os.environ), **pipes)
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err == b""
