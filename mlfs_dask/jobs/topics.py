"""Topics of a scheduler's events by which tasks tell their coordinator what is decided.

A scheduler keeps each topic that it ever heard of, with the last events of it, while it lives, and
each group of tasks. Those of runs that have ended are dropped here, or they would add up over
months.
"""

from __future__ import annotations

from typing import Any, Final

from mlfs_dask.graphs.messages import SPAN

_OURS: Final = "mlfs-steps-"


def topic_of(session: str) -> str:
    """Topic of the events that a session's tasks send.

    Parameters
    ----------
    session
        As in `mlfs_dask.jobs.work.Task`.

    Examples
    --------
    >>> topic_of("0123")
    'mlfs-steps-0123'
    """
    return f"{_OURS}{session}"


def empty_topic(dask_scheduler: Any, topic: str) -> None:
    """Have a scheduler forget the events that it passed on; runs there.

    Parameters
    ----------
    dask_scheduler : distributed.Scheduler
        Dask has no public way to do that.
    topic
        Which events.
    """
    dask_scheduler._broker.truncate(topic)


def forget_session(dask_scheduler: Any, topic: str) -> None:
    """Have a scheduler forget a session's topic, and what else of ours is over; runs there.

    That is topics whose coordinators are gone, and groups of tasks that a span of Dask keeps though
    the scheduler has forgotten their tasks.

    Parameters
    ----------
    dask_scheduler : distributed.Scheduler
        Dask has no public way to do that.
    topic
        Of a session that has ended.
    """
    topics, clients = dask_scheduler._broker._topics, dask_scheduler.clients
    for name in [name for name in topics if name.startswith(_OURS)]:
        if name == topic or topics[name].subscribers.isdisjoint(clients):
            del topics[name]
    spans = dask_scheduler.extensions.get("spans")
    span = None if spans is None else spans.spans.get(SPAN)
    if span is not None:
        known = dask_scheduler.task_groups
        span.groups = {group for group in span.groups if known.get(group.name) is group}
        span._metadata = None
