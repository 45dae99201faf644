"""How long work takes on more processes, on paper, and what keeps it from taking less.

Of a stage, tasks run side by side, as far as there are enough of them; meanwhile the scheduler
hands out one after the other, and results come to one process, which does what is left. It fetches
a few at a time, while others are at work; if these are done sooner, workers wait for messages::

    stage = max(tasks on workers, handing out, results on the wire, messages) + rounds of waiting
    unit  = sum of its stages and of what is decided between them

Workers do more than their tasks: they unpack them, and have threads beside the one that computes.
Where all processes share a machine, these find a core that is free, as long as one is; then all of
them, scheduler and client too, share what there is, and get their turn later.

A loss is what a stage takes beyond its even share of the workers; the largest is the bottleneck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mlfs_dask.graphs.messages import IN_FLIGHT, fetched_together
from mlfs_dask.jobs import selector_costs
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.rates import Rates, known_rates
from mlfs_dask.jobs.spec import Job, Method
from mlfs_dask.jobs.workload import Stage, Work
from mlfs_dask.storage.dataset import Dataset

SAMPLES: Final = (10**6, 10**8)
WORKERS: Final = (16, 128, 1024)
_NO_LOSS: Final = 0.1  # of the time: less is no bottleneck

DECIDING: Final = "one process decides"
FEW_TASKS: Final = "too few tasks"
UPKEEP: Final = "workers do more than their tasks"
SCHEDULER: Final = "the scheduler hands out tasks"
RESULTS: Final = "results come to one process"
WAITING: Final = "rounds of waiting"
NONE: Final = "none"


@dataclass(frozen=True)
class Elapsed:
    """Time of work on some workers.

    Attributes
    ----------
    seconds
        All of it.
    losses
        Cause -> seconds beyond an even share of the workers.
    """

    seconds: float
    losses: dict[str, float] = field(default_factory=dict)

    @property
    def bottleneck(self) -> str:
        """The largest loss; "none" if all of them are little."""
        cause = max(self.losses, key=lambda each: self.losses[each], default=NONE)
        if sum(self.losses.values()) < _NO_LOSS * self.seconds:
            return NONE
        return cause


@dataclass(frozen=True)
class Forecast:
    """A selection on one core and on many.

    Attributes
    ----------
    dataset, selector
        Name, and label.
    n_samples, workers
        Rows, and processes of one core each.
    seconds
        On the workers.
    efficiency
        Time on one core over that of all workers together.
    bottleneck
        What the rest is lost to.
    """

    dataset: str
    selector: str
    n_samples: int
    workers: int
    seconds: float
    efficiency: float
    bottleneck: str


def elapsed(work: Work, workers: int, rates: Rates, cores: int | None = None) -> Elapsed:
    """Time of work on the workers of a cluster.

    Parameters
    ----------
    work
        Stages in seconds of this machine, as `Rates.seconds` makes them.
    workers
        Processes with one thread each.
    rates
        What handing out and sending take.
    cores
        Of the one machine that workers, scheduler and client share; None: each has its own.

    Examples
    --------
    >>> stage = Stage("sums", 8.0, tasks=4)
    >>> round(elapsed(Work("", (stage,)), 2, Rates(upkeep=0.01)).seconds, 2)
    4.05
    >>> elapsed(Work("", (stage,)), 16, Rates()).bottleneck
    'too few tasks'
    """
    losses = dict.fromkeys((DECIDING, FEW_TASKS, UPKEEP, SCHEDULER, RESULTS, WAITING), 0.0)
    total = 0.0
    for stage in work.stages:
        if stage.tasks <= 0:
            total += stage.seconds
            losses[DECIDING] += stage.seconds * (1 - 1 / workers)
            continue
        tasks = stage.seconds + stage.read_bytes / rates.read_bytes_per_second
        own = tasks + stage.tasks * rates.worker_seconds
        every = own * (1 + rates.upkeep)
        messages = max(1.0, stage.rounds) * _messages_of_a_round(stage, workers)
        handing = stage.making_seconds + stage.tasks * rates.task_seconds
        handing += messages * _visited(stage, workers) * rates.message_seconds
        sending = (stage.result_bytes + workers * stage.sent_bytes) / rates.bytes_per_second
        waiting = stage.rounds * rates.round_seconds
        if cores is None:
            computing, shared = every * _rounds_of_tasks(stage, workers), 0.0
        else:
            computing = own * _rounds_of_tasks(stage, workers)
            shared = (every + handing + sending) / max(cores / 2, cores - rates.background)
        turning = 0.0
        if stage.rounds:
            crowded = 0.0 if cores is None or workers < cores else rates.crowded
            turning = (messages - stage.rounds) * _turn(stage, own, workers, rates, crowded)
        busiest = max(computing, handing, sending, turning, shared)
        total += busiest + waiting
        losses[UPKEEP] += (computing / _rounds_of_tasks(stage, workers) - tasks) / workers
        losses[FEW_TASKS] += computing - computing / _rounds_of_tasks(stage, workers) / workers
        causes = {WAITING: turning, SCHEDULER: max(handing, shared), RESULTS: sending}
        losses[max(causes, key=lambda each: causes[each])] += busiest - computing
        losses[WAITING] += waiting
    return Elapsed(total, losses)


def _rounds_of_tasks(stage: Stage, workers: int) -> float:
    """Share of a stage's work that the busiest worker does."""
    each = max(1.0, stage.tasks / max(1.0, stage.rounds))
    return math.ceil(each / workers) / each


def _messages_of_a_round(stage: Stage, workers: int) -> int:
    """How often results are fetched."""
    each = max(1.0, stage.tasks / max(1.0, stage.rounds))
    return math.ceil(each / fetched_together(workers))


def _visited(stage: Stage, workers: int) -> float:
    """Workers that a message goes to."""
    return min(workers, fetched_together(workers), stage.tasks)


def _turn(stage: Stage, own: float, workers: int, rates: Rates, crowded: float) -> float:
    """Seconds from a message to the next if nothing but the answers to earlier ones limits them.

    Tasks that are sent after results of others have come are at work while those still on their way
    are done. In a crowd handing out takes `crowded` times longer while workers compute, which they
    do for a part of each turn.
    """
    together = fetched_together(workers)
    on_their_way = IN_FLIGHT * workers / together
    done = own / stage.tasks * max(1.0, together / workers)
    here = stage.making_seconds + stage.result_bytes / rates.bytes_per_second
    handed = together * (rates.task_seconds + here / stage.tasks)
    handed += _visited(stage, workers) * rates.message_seconds
    reply = rates.shared_reply_seconds if stage.shared else rates.reply_seconds
    turn = (done + handed + reply) / on_their_way
    # longer = turn + crowded * handed * (done / longer) / on_their_way
    return (turn + math.sqrt(turn**2 + 4 * crowded * handed * done / on_their_way)) / 2


def on_this_machine(work: Work, rates: Rates) -> Work:
    """Work in seconds of this machine.

    Parameters
    ----------
    work
        In seconds of the machine that the package was measured on.
    rates
        Of this one.
    """
    return work.slower(rates.seconds(work.road, 1.0))


def forecasts_of(job: Job, datasets: Sequence[Dataset]) -> list[Forecast]:
    """Each selection of a job; see `forecasts`.

    Parameters
    ----------
    job
        Resolved job.
    datasets
        Its opened data sets.
    """
    rates = known_rates().rates
    return [
        forecast
        for dataset in datasets
        for select in job.selects_on(dataset.name)
        for forecast in forecasts(dataset.name, select, Sizes.of(dataset), rates)
    ]


def forecasts(
    name: str,
    select: Method,
    sizes: Sizes,
    rates: Rates,
    samples: Sequence[int] = SAMPLES,
    workers: Sequence[int] = WORKERS,
) -> list[Forecast]:
    """A selection on more rows like those of a data set, on several numbers of workers.

    Label sets stay as many as they are.

    Parameters
    ----------
    name
        Of the data set.
    select
        The selector.
    sizes
        Of the data set.
    rates
        Of the machines.
    samples, workers
        What to look at.
    """
    cost = selector_costs.COSTS.get(select.method, selector_costs.any_other)
    found = []
    for n in samples:
        more = replace(sizes, n_samples=n, cells=round(sizes.cells / sizes.n_samples * n))
        work = on_this_machine(cost(more.shape(n), select.params), rates)
        read = sum(stage.read_bytes for stage in work.stages) / rates.read_bytes_per_second
        alone = work.seconds + read
        for count in workers:
            on = elapsed(work, count, rates)
            share = alone / (count * on.seconds)
            found.append(Forecast(name, select.label, n, count, on.seconds, share, on.bottleneck))
    return found
