"""A long task that runs here while its kernels run on the workers of a cluster.

For when there are fewer tasks than workers: a single selection on a large data set would else keep
one worker busy and leave the others idle. Which way a task goes changes no bit of its results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from mlfs_dask.graphs.executor import OnCluster, use_executor
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.work import Outcome, Task, run_task

# Less than that is over on one worker before tiles and their results have travelled.
_WORTH_SECONDS: Final = 1.0
# What Dask raises where workers, or what they held, are gone; by name, as outcomes keep it.
_OF_THE_CLUSTER: Final = frozenset(
    {
        "CancelledError",
        "FutureCancelledError",
        "WorkersLostError",
        "KilledWorker",
        "CommClosedError",
        "TimeoutError",
    }
)


def is_worth_it(seconds: float, n_tasks: int, n_threads: int) -> bool:
    """Whether to spread a task over the workers.

    Parameters
    ----------
    seconds
        Estimated time on one core.
    n_tasks
        How many tasks could run now, this one among them.
    n_threads
        Threads of all workers.

    Examples
    --------
    >>> is_worth_it(60.0, 1, 2), is_worth_it(60.0, 2, 2), is_worth_it(0.5, 1, 2)
    (True, False, False)
    """
    return seconds >= _WORTH_SECONDS and 2 * n_tasks <= n_threads


def run_spread(
    task: Task, executor: OnCluster, tell: Callable[[Steps], None], should_stop: Callable[[], bool]
) -> Future[list[Outcome]]:
    """Do the units of a task in a thread of this process, their kernels on the workers.

    Parameters
    ----------
    task
        What to do.
    executor
        Runs the kernels.
    tell, should_stop
        As in `run_task`; called in that thread.
    """
    future: Future[list[Outcome]] = Future()

    def work() -> None:
        try:
            with use_executor(executor):
                future.set_result(list(run_task(task, tell, should_stop)))
        except BaseException as error:  # whoever waits for the future gets it
            future.set_exception(error)

    # A daemon: who leaves in a hurry does not wait for it.
    threading.Thread(target=work, name=f"mlfs-task-{task.name}", daemon=True).start()
    return future


def lost_with_the_cluster(outcomes: Sequence[Outcome]) -> bool:
    """Whether a unit failed for reasons of the cluster's, not its own.

    Parameters
    ----------
    outcomes
        Of a task that was spread.
    """
    failures = (outcome.failure for outcome in outcomes)
    return any(failure is not None and failure.error in _OF_THE_CLUSTER for failure in failures)
