"""What is sent to a Dask cluster: how much at a time, to which workers, under which name."""

from __future__ import annotations

import pickle
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

MOST_TOGETHER: Final = 8
"""Results that are fetched in one message, at most; else two of each worker."""
IN_FLIGHT: Final = 4
"""Tasks of each worker that are sent before their results are fetched."""
SPAN: Final = "mlfs"
"""Name and id of the span of Dask that all our tasks belong to."""


def fetched_together(n_workers: int) -> int:
    """Results that are fetched in one message from so many workers.

    Examples
    --------
    >>> fetched_together(2), fetched_together(100)
    (4, 8)
    """
    return min(2 * n_workers, MOST_TOGETHER)


class Wrapped:
    """A value that Dask passes on as it is, whatever it is made of.

    Parameters
    ----------
    value
        Any.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


def unwrap(wrapped: Wrapped) -> Any:
    """The value.

    Parameters
    ----------
    wrapped
        On a worker.
    """
    return wrapped.value


def sent_bytes(value: Any) -> int:
    """Bytes of a value on its way to others; arrays are not copied to find out.

    Parameters
    ----------
    value
        Any that can be pickled.

    Examples
    --------
    >>> sent_bytes("a") < 100, sent_bytes(bytearray(1000)) > 1000
    (True, True)
    """
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)


@dataclass(frozen=True)
class Wishes:
    """The workers that tasks shall go to, by the number at the end of their keys.

    Attributes
    ----------
    first
        Number of the first task.
    workers
        Address for each, in order.
    """

    first: int
    workers: list[str]

    def __call__(self, key: str) -> list[str]:
        """The worker of one task, as Dask asks for it."""
        return [self.workers[int(key.rpartition("-")[2]) - self.first]]


def in_one_span() -> AbstractContextManager[Any]:
    """Have tasks that are sent while the block runs belong to one span of Dask, `SPAN`.

    Else Dask makes a span for each time that somebody sends tasks after a pause, and schedulers and
    workers keep all of them, with their measures, while they live.
    """
    from dask.base import annotate

    return annotate(span={"name": (SPAN,), "ids": (SPAN,)})
