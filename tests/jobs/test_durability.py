"""A run under everything that may befall it, in any order: its results do not change in a byte."""

import json
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mlfs_dask.errors import RunFolderError, RunInterruptedError
from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.coordinator import Order, resume_run, run_job
from mlfs_dask.jobs.driver import Driver
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.journal import read_journal
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.removal import remove_runs
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import make_tiny_store

JOB = """
schema = 1
name = "hard"
seed = 3
[data]
store = "{store}"
[[select]]
method = "toy-online"
label = "toy"
fails_with = "{switch}"
[[select]]
method = "mllap"
[evaluate]
split = {{ kind = "kfold", folds = 2 }}
features = {{ fractions = [0.5, 1.0] }}
metrics = ["hamming_loss"]
[[evaluate.classifier]]
method = "mlknn"
n_neighbors = 3
[run]
workers = 0
"""
UNITS = 2 * (2 + 3) + 2
FAILING = 2 * 2 + 1  # selections by the toy, and what judges them
EVENTS = UNITS + 3 * 8 + 3  # units, arrivals of the toy, steps of mllap


class Killed(BaseException):
    """Ends a run where it stands, without its leaving word."""


class At(Silent):
    """Calls something at the n-th event of a run."""

    def __init__(self, count, call):
        self.left, self.call = count, call

    def step(self, steps):
        self.left -= 1
        if self.left == 0:
            self.call()

    def unit(self, outcome):
        self.step(outcome)


def be_killed():
    raise Killed


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def machine(toys, monkeypatch):
    """The state machine, its store made and its results known."""
    end_early = Driver._end_early

    def unless_killed(self, error):
        if not isinstance(error, Killed):
            end_early(self, error)

    monkeypatch.setattr(Driver, "_end_early", unless_killed)
    with tempfile.TemporaryDirectory() as folder:
        Machine.home = Path(folder)
        store = make_tiny_store(Machine.home / "stores").path
        switch = Machine.home / "broken"
        Machine.text = JOB.format(store=store, switch=switch).encode()
        undisturbed = run_job(Machine.order(Machine.home / "undisturbed")).folder
        Machine.expected = Machine.results(undisturbed)
        yield Machine


class Machine(RuleBasedStateMachine):
    """What users and machines do to a run."""

    home: Path
    text: bytes
    expected: tuple[bytes, bytes]

    def __init__(self):
        super().__init__()
        self.runs = Path(tempfile.mkdtemp(dir=self.home))
        self.switch = self.home / "broken"
        self.switch.unlink(missing_ok=True)

    @classmethod
    def order(cls, runs, **more):
        job = parse_job(cls.text, "hard.toml")
        return Order(job=job, text=cls.text, file="hard.toml", runs=runs, **more)

    @staticmethod
    def results(folder):
        return folder.results.read_bytes(), folder.evaluation.read_bytes()

    @property
    def folder(self):
        found = all_runs(self.runs)
        return found[0] if found else None

    def state(self):
        return None if self.folder is None else self.folder.read_state()["state"]

    def events(self, kind):
        return [e for e in read_journal(self.folder.journal)[0] if e["event"] == kind]

    def go(self, again, **more):
        """Run the job, or take it up from its folder."""
        if again and self.folder is not None:
            return resume_run(self.folder, **more)
        return run_job(self.order(self.runs, **more))

    @rule(count=st.integers(1, EVENTS), again=st.booleans())
    def is_killed(self, count, again):
        try:
            self.go(again, progress=At(count, be_killed))
        except Killed:
            assert self.state() == "interrupted"

    @rule(count=st.integers(1, EVENTS), again=st.booleans())
    def is_interrupted(self, count, again):
        try:
            self.go(again, progress=At(count, interrupt))
        except RunInterruptedError:
            assert self.state() == "interrupted"

    @rule(count=st.integers(1, EVENTS), again=st.booleans())
    def is_cancelled_at_work(self, count, again):
        try:
            self.go(again, progress=At(count, lambda: request_cancel(self.folder)))
        except RunInterruptedError:
            assert self.state() == "cancelled"
        assert not self.folder.cancel.exists()

    @precondition(lambda self: self.folder is not None)
    @rule()
    def is_cancelled_at_rest(self):
        final = self.state() in ("done", "partial", "cancelled")
        try:
            assert request_cancel(self.folder) is False
        except RunFolderError:
            assert final
        else:
            assert self.state() == "cancelled"

    @precondition(lambda self: not self.switch.exists())
    @rule()
    def the_selector_breaks(self):
        self.switch.touch()

    @precondition(lambda self: self.switch.exists())
    @rule()
    def the_selector_is_mended(self):
        self.switch.unlink()

    @precondition(lambda self: self.folder is not None and self.state() != "done")
    @rule(bytes_lost=st.integers(1, 200))
    def power_fails(self, bytes_lost):
        """The end of the journal was not on the disk yet."""
        data = self.folder.journal.read_bytes() if self.folder.journal.exists() else b""
        if data:
            last = len(data.splitlines(keepends=True)[-1])
            self.folder.journal.write_bytes(data[: len(data) - min(bytes_lost, last)])

    @precondition(lambda self: self.folder is not None and self.state() != "done")
    @rule(place=st.floats(0, 1, exclude_max=True))
    def a_byte_flips(self, place):
        data = self.folder.journal.read_bytes() if self.folder.journal.exists() else b""
        lines = data.splitlines(keepends=True)
        if len(lines) < 2:
            return
        flipped = bytearray(data)
        flipped[int(place * (len(data) - len(lines[-1]) - 1))] ^= 1
        self.folder.journal.write_bytes(flipped)
        with pytest.raises(RunFolderError, match="journal"):
            self.go(again=True)
        self.folder.journal.write_bytes(data)

    @precondition(lambda self: self.folder is not None)
    @rule()
    def is_removed(self):
        remove_runs([self.folder.path], self.runs)
        assert list(self.runs.iterdir()) == []

    @rule(again=st.booleans(), retry=st.booleans())
    def runs_to_its_end(self, again, retry):
        before = None if self.folder is None else self.state()
        failed_before = before is not None and len(self.failed()) > 0
        resumed = again and before is not None
        finished = self.go(again, **({"retry_failed": retry} if resumed else {}))
        assert finished.fresh == (before != "done")
        tried = not resumed or retry
        if finished.state == "done":
            assert self.results(finished.folder) == self.expected
        else:
            assert self.switch.exists() or (failed_before and not tried)
            assert len(finished.failures) <= FAILING
            rows = set(self.results(finished.folder)[1].splitlines())
            assert rows <= set(self.expected[1].splitlines())
        if tried and not self.switch.exists():
            assert finished.state == "done"

    def failed(self):
        done = {event["unit"] for event in self.events("unit")}
        return {event["unit"] for event in self.events("failed")} - done

    @invariant()
    def the_folder_tells_its_state(self):
        if self.folder is None:
            return
        state = self.folder.read_state()
        assert 0 <= state["progress"]["done"] <= UNITS
        assert json.loads(self.folder.manifest.read_bytes())["run"] == self.folder.id


def test_whatever_happens_to_a_run_its_results_stay_the_same(machine):
    machine.TestCase.settings = settings(
        max_examples=settings().max_examples // 4, stateful_step_count=8, deadline=None
    )
    machine.TestCase().runTest()
