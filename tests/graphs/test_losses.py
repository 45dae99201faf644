"""What a cluster holds by reference: how it is had again, and when no more."""

import gc
import weakref

import pytest
from distributed.client import FutureCancelledError

from mlfs_dask.errors import WorkersLostError
from mlfs_dask.graphs.losses import MOST_LOSSES, Held


class Value:
    pass


class Promise:
    """A future of the cluster below."""

    status = "finished"

    def result(self):
        raise NotImplementedError


class Cluster:
    """As a client sees it; errors come in turn, then values are taken."""

    status = "running"

    def __init__(self, errors=()):
        self.errors, self.given = list(errors), []

    def scatter(self, values, **_):
        if self.errors:
            raise self.errors.pop()
        self.given += [id(value) for value in values]
        return [Promise() for _ in values]


def cancelled(reason=None):
    return FutureCancelledError(key="some", reason=reason)


def test_a_value_that_is_lost_is_given_again_not_a_copy():
    cluster, value = Cluster(), Value()
    held = Held(cluster)
    [future] = held.put([value])
    assert held.present(future) is future
    future.status = "cancelled"
    again = held.present(future)
    assert again is not future
    assert held.present(future) is again
    assert cluster.given == [id(value)] * 2


def test_a_value_is_let_go_of_with_its_future():
    value = Value()
    there, held = weakref.ref(value), Held(Cluster())
    futures = held.put([value])
    del value
    gc.collect()
    assert there() is not None
    del futures
    gc.collect()
    assert there() is None


def test_other_things_are_passed_on():
    held, others = Held(Cluster()), [1, [2], None]
    assert held.present(others) is others
    assert held.present("it") == "it"


def test_what_was_made_of_a_lost_value_needs_its_future():
    held = Held(Cluster())
    [future] = held.put([Value()])
    made, own = Promise(), Promise()
    held.made_of(made, lambda parts, factor: (parts, factor), [future], 2)
    held.made_of(own, lambda factor: factor, 2)
    made.status = own.status = "cancelled"
    assert held.present([made, 5]) == [([future], 2), 5]
    with pytest.raises(WorkersLostError, match="so was what it was made of"):
        held.present(own)
    late = Promise()
    held.made_of(late, lambda parts: parts, [future])
    late.status = "cancelled"
    del future, made
    gc.collect()
    with pytest.raises(WorkersLostError, match="so was what it was made of"):
        held.present(late)


def test_workers_that_die_as_they_get_a_value_are_outlived():
    errors = [OSError("closed"), KeyError("tcp://gone"), TimeoutError("no valid workers found")]
    assert len(Held(Cluster(errors)).put([Value()])) == 1
    with pytest.raises(OSError, match="closed"):
        Held(Cluster([OSError("closed")] * (MOST_LOSSES + 1))).put([Value()])


def test_losses_are_borne_up_to_a_bound():
    held, error = Held(Cluster()), cancelled("lost dependencies")
    for losses in range(1, MOST_LOSSES + 1):
        held.bear(error, losses)
    with pytest.raises(WorkersLostError, match="6 times in a row") as raised:
        held.bear(error, MOST_LOSSES + 1)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("reason", ["scheduler-restart", "scheduler-connection-lost"])
def test_who_ends_a_cluster_ends_its_tasks(reason):
    with pytest.raises(FutureCancelledError):
        Held(Cluster()).bear(cancelled(reason), 1)


def test_a_client_that_was_closed_has_nothing_again():
    cluster = Cluster([OSError("closed")])
    cluster.status = "closed"
    with pytest.raises(FutureCancelledError):
        Held(cluster).bear(cancelled(), 1)
    with pytest.raises(OSError, match="closed"):
        Held(cluster).put([Value()])
