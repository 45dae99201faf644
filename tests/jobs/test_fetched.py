"""Results of tasks while the scheduler dies: the run is interrupted, no unit fails."""

from pathlib import Path

import pytest
from distributed.comm.core import CommClosedError

from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs import fetched
from mlfs_dask.jobs.fetched import fetch_outcomes
from mlfs_dask.jobs.on_cluster import OnClient
from mlfs_dask.jobs.units import Unit
from mlfs_dask.jobs.work import Outcome, Task

UNIT = Unit(kind="select", dataset="d", selector="s")
DONE = Outcome(unit=UNIT, payload=b"{}", failure=None, seconds=1.0, worker="w")


def closed():
    return CommClosedError("Stream is closed")


def cancelled():
    from distributed.client import FutureCancelledError

    return FutureCancelledError("key", "scheduler-connection-lost")


class Future:
    """Gives one answer after the other: what is an exception is raised."""

    def __init__(self, *answers, status="finished"):
        self.answers, self.status = list(answers), status

    def result(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def release(self):
        assert not self.answers


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(fetched, "_NOTICED_SECONDS", 0.0)


def backend(future, task):
    made = OnClient(None, None, "s", Path("run"))
    made._tasks["k"] = (task, future)
    return made


@pytest.fixture
def task():
    return Task(name="t", session="s", job=None, addresses={}, units=(UNIT,))


@pytest.mark.parametrize("later", [closed, cancelled])
def test_a_scheduler_that_dies_while_it_is_asked_interrupts_the_run(task, later):
    future = Future(closed(), later())
    with pytest.raises(RunInterruptedError, match="the cluster was lost"):
        backend(future, task)._outcomes("k", future)


def test_a_connection_that_broke_is_made_anew(task):
    future = Future(closed(), [DONE])
    assert backend(future, task)._outcomes("k", future) == [DONE]


def test_what_the_task_itself_met_is_its_own():
    future = Future(FileNotFoundError("handed"), status="error")
    with pytest.raises(FileNotFoundError):
        fetch_outcomes(future)


def test_a_task_that_met_a_closed_connection_on_its_worker_fails(task):
    future = Future(closed(), status="error")
    (outcome,) = backend(future, task)._outcomes("k", future)
    assert outcome.failure.error == "CommClosedError"
