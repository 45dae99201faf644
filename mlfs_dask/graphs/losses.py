"""What a cluster holds for us by reference, and how it is had again when workers are lost.

::

    share(value) ──> future ────────────────> tasks of many maps
                       │ its only worker is lost: Dask cancels it, and all that needs it
                       └──> the value is put on another worker, tasks that are left are sent again

Dask computes again what tasks made, but not what it was given, nor what was made of that. The value
itself is the caller's, no copy of it; it is let go of together with the future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

from mlfs_dask.errors import WorkersLostError

MOST_LOSSES: Final = 5
"""How often in a row, without any result in between, what tasks need may be lost."""
# Cancelled for that, things are not to be had again: somebody wants it so, or there is no cluster.
_ENDS: Final = frozenset({"scheduler-restart", "scheduler-connection-lost"})


class Held:
    """Futures, and for those that Dask can't compute again, a way to have them again.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._ways: WeakKeyDictionary[Any, Callable[[], Any]] = WeakKeyDictionary()
        self._anew: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def put(self, values: list[Any]) -> list[Any]:
        """Futures of values, which are dealt out to the workers.

        Parameters
        ----------
        values
            Not to be changed while their futures live.
        """
        futures = self._scattered(values)
        for future, value in zip(futures, values, strict=True):
            self._ways[future] = partial(self._put_one, value)
        return futures

    def made_of(self, future: Any, make: Callable[..., Any], *inputs: Any) -> None:
        """Note what a future was made of, should Dask not be able to make it again.

        Parameters
        ----------
        future
            Of a task.
        make
            Sends the task again, as ``make(*inputs)``.
        *inputs
            Futures, lists of them, or other things. Futures are not kept alive for that.
        """
        if any(each in self._ways for each in _futures_in(inputs)):
            weak = [_weakly(each) for each in inputs]
            self._ways[future] = lambda: make(*(_strongly(each) for each in weak))

    def present(self, value: Any) -> Any:
        """A future, or each of a list, in the form in which it is there now; others as they are.

        Parameters
        ----------
        value
            What a task needs.

        Raises
        ------
        WorkersLostError
            It was lost, and there is nothing to make it of.
        """
        if isinstance(value, list) and any(map(is_future, value)):
            return [self.present(each) for each in value]
        if not is_future(value):
            return value
        now = self._anew.get(value, value)
        if now.status == "cancelled":
            if value not in self._ways:
                raise nothing_left()
            now = self._anew[value] = self._ways[value]()
        return now

    def bear(self, error: Exception, losses: int) -> None:
        """Go on after a loss, unless that is of no use.

        Parameters
        ----------
        error
            That a task was cancelled with.
        losses
            How many there were in a row.

        Raises
        ------
        WorkersLostError
            Too many.
        CancelledError
            The same error: nothing was lost, somebody cancelled.
        """
        if self._client.status != "running" or getattr(error, "reason", None) in _ENDS:
            raise error
        if losses > MOST_LOSSES:
            raise WorkersLostError(
                f"what tasks need was lost with the workers that held it {losses} times in a row, "
                "before any task ended: expected workers that stay for longer than a task takes",
                hint="Their logs say why they end; often it is memory. Data that you put on the "
                "cluster yourself (persisted, scattered) have to be put there again.",
            ) from error

    def _put_one(self, value: Any) -> Any:
        return self._scattered([value])[0]

    def _scattered(self, values: list[Any]) -> list[Any]:
        for _ in range(MOST_LOSSES):
            try:
                return self._scatter(values)
            except (OSError, KeyError):  # the worker died as it got them, or there is none by now
                if self._client.status != "running":
                    raise
        return self._scatter(values)

    def _scatter(self, values: list[Any]) -> list[Any]:
        futures: list[Any] = self._client.scatter(values, hash=False, broadcast=False)
        return futures


def is_future(value: Any) -> bool:
    """Whether a value is a future; a delayed object answers to every name, its type doesn't.

    Parameters
    ----------
    value
        Any.
    """
    return hasattr(type(value), "result")


def nothing_left() -> WorkersLostError:
    """The error for what can't be had again."""
    return WorkersLostError(
        "what tasks need was lost with the workers that held it, and so was what it was made of",
        hint="Fit again. Data that you put on the cluster yourself (persisted, scattered) have to "
        "be put there again first.",
    )


def _futures_in(inputs: tuple[Any, ...]) -> Iterator[Any]:
    for value in inputs:
        yield from filter(is_future, value if isinstance(value, list) else [value])


def _weakly(value: Any) -> Any:
    if isinstance(value, list):
        return [_weakly(each) for each in value]
    return ref(value) if is_future(value) else value


def _strongly(value: Any) -> Any:
    if isinstance(value, list):
        return [_strongly(each) for each in value]
    if not isinstance(value, ref):
        return value
    future = value()
    if future is None:
        raise nothing_left()
    return future
