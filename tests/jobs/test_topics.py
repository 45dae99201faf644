"""What schedulers and workers keep of runs that have ended: nothing that adds up."""

import asyncio
import time
from types import SimpleNamespace

from distributed import Client
from distributed.broker import Broker

from mlfs_dask.graphs.executor import OnCluster
from mlfs_dask.graphs.messages import SPAN
from mlfs_dask.jobs import work
from mlfs_dask.jobs.topics import empty_topic, forget_session, topic_of


def test_topics_of_coordinators_that_are_gone_are_dropped():
    scheduler = SimpleNamespace(
        plugins={}, clients={"here": None}, extensions={}, send_all=lambda *_, **__: None
    )
    scheduler._broker = broker = Broker(10, scheduler)
    broker.subscribe("all", "here")
    for session, client in (("own", "here"), ("other", "here"), ("lost", "gone")):
        broker.subscribe(topic_of(session), client)
        broker.publish(topic_of(session), "a step")
    broker.publish(topic_of("late"), "a step of a task that was left off")
    empty_topic(scheduler, topic_of("other"))
    assert not broker.get_events(topic_of("other"))
    forget_session(scheduler, topic_of("own"))
    assert set(broker._topics) == {"all", topic_of("other")}
    assert broker._topics[topic_of("other")].subscribers == {"here"}


def test_a_worker_knows_the_last_sessions_that_were_stopped():
    sessions = [f"session-{number}" for number in range(work._MOST_STOPPED + 5)]
    for session in sessions:
        asyncio.run(work.stop_session(session))
    assert list(work._stopped) == sessions[5:]
    assert work.stopped(SimpleNamespace(session=sessions[-1]))
    work._stopped.clear()


def test_all_tasks_belong_to_one_span_that_keeps_no_groups(two_workers):
    """Workers keep measures by span, so the number of spans is theirs too."""
    scheduler = two_workers.scheduler
    spans = scheduler.extensions["spans"].spans
    before = set(spans)
    with Client(two_workers, set_as_default=False) as client:
        for turn in range(3):
            assert list(OnCluster(client).map(pow, [turn, 2], 2)) == [turn**2, 4]
        while scheduler.tasks:  # what was released is on its way
            time.sleep(0.01)
        client.run_on_scheduler(forget_session, topic=topic_of("any"))
        assert set(spans) - before <= {SPAN}
        assert spans[SPAN].groups <= set(scheduler.task_groups.values())
