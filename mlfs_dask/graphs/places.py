"""Which worker of a cluster a task shall go to."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from mlfs_dask.graphs.losses import is_future

_told: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
"""Clients, and the schedulers behind them that drop vain wishes."""
_TURNS: Final = itertools.count(os.getpid())  # of executors; other processes begin elsewhere


class Places:
    """Workers, and what was put on which of them.

    Parameters
    ----------
    slots
        Addresses, each as often as the worker has threads.

    Examples
    --------
    >>> Places(["here", "there"]).wishes(0, ["some", "thing", "else"])
    ['here', 'there', 'here']
    """

    def __init__(self, slots: Sequence[str]) -> None:
        self._slots = slots
        self._own_turn = next(_TURNS) % max(1, len(slots))
        self._homes: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def turn(self, items: Sequence[Any]) -> int:
        """The place in which the first item goes: the first, where all workers get something.

        Else the few tasks of many executors at a time would wish for the same few workers.

        Parameters
        ----------
        items
            Of one map.
        """
        return self._own_turn if len(items) < len(self._slots) else 0

    def wishes(self, turn: int, items: Sequence[Any]) -> list[str | None]:
        """Where each item should go: where what it depends on was put, else in turn.

        What tasks know of a block, and change, is of no use to a worker that fetched it earlier or
        has to fetch it.

        Parameters
        ----------
        turn
            Of the first of the items.
        items
            Of one map, in order.
        """
        found: list[str | None] = []
        for index, item in enumerate(items, turn):
            free = getattr(item, "dependency", None) is None and self._slots
            found.append(self._slots[index % len(self._slots)] if free else self.home_of(item))
        return found

    def settle(self, future: Any, home: str | None) -> None:
        """Note where a result is to stay.

        Parameters
        ----------
        future
            Of it.
        home
            Address of the worker; None: anywhere.
        """
        if home is not None:
            self._homes[future] = home

    def home_of(self, item: Any) -> str | None:
        """The worker where all that an item depends on was put.

        Parameters
        ----------
        item
            Of a map.
        """
        dependency = getattr(item, "dependency", None)
        kept = dependency if isinstance(dependency, list) else [dependency]
        homes = {self._homes.get(x) if is_future(x) else None for x in kept}
        return homes.pop() if len(homes) == 1 else None


def drop_vain_wishes(client: Any, scheduler_id: str) -> None:
    """Have a scheduler drop wishes that can't come true any more.

    Dask has a task wait for the worker that it shall go to, even if it may go to others, when there
    was no worker at all as it was about to be sent and others than that one came since.

    Parameters
    ----------
    client : distributed.Client
        Of the scheduler.
    scheduler_id
        Of the scheduler that it is connected to: another one may have taken its place.
    """
    if _told.get(client) == scheduler_id:
        return
    from distributed.diagnostics.plugin import SchedulerPlugin

    # Sent with what it is made of: the scheduler may have another version of this package, or none.
    class DropsWishes(SchedulerPlugin):
        name, idempotent = "mlfs-drops-wishes", True

        def add_worker(self, scheduler: Any, worker: str) -> None:
            for task in scheduler.unrunnable:
                if task.loose_restrictions:
                    task.worker_restrictions = set()

    client.register_plugin(DropsWishes())
    _told[client] = scheduler_id
