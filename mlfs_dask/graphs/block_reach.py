"""What a worker keeps of a block of rows between two questions about positive regions.

For each row that is not settled these are the few violators that stand against every candidate. It
is a cache: it knows for which decisions it was made and makes up for those that it has missed,
from nothing if need be. A block that is lost with its worker, or sent about as an old copy, gives
the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlfs_dask._typing import BoolArray, IntArray
from mlfs_dask.kernels.reach import Cursors, Reach

_FIRST_HELD = 16
_SURE = 64
# Rows for whose violators there was no room scan again; from this share on they get more room.
_FULL_SHARE = 1 / 64
_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class RowBlock:
    """Rows ``first:last`` of those that are compared, in tile ``tile``."""

    first: int
    last: int
    tile: int


class BlockReach:
    """Violators of a block's rows that are known; changed in place on the worker that keeps it.

    Parameters
    ----------
    rows : ndarray of int64
        Positions in the block of rows that aren't settled without any feature.
    weight : ndarray of int64, shape (n_rows,)
        Rows of the source that each of these stands for.

    Attributes
    ----------
    chosen : tuple of int
        Features for which ``reach`` holds.
    reach : Reach
    """

    def __init__(self, rows: IntArray, weight: IntArray) -> None:
        self._rows, self._weight = rows, weight
        self.forget()

    def forget(self) -> None:
        """Go back to no feature and no violator."""
        n = len(self._rows)
        self.chosen: tuple[int, ...] = ()
        self.reach = Reach(
            self._rows.copy(),
            self._weight.copy(),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, _FIRST_HELD), dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, _SURE), dtype=np.int32),
        )

    def missed(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Decisions still to be made up for.

        Parameters
        ----------
        chosen
            All decisions, in order.
        """
        if chosen[: len(self.chosen)] != self.chosen:
            self.forget()
        return chosen[len(self.chosen) :]

    def writable(self) -> Reach:
        """The arrays; copies if they came read-only from elsewhere."""
        self.reach = Reach._make(x if x.flags.writeable else x.copy() for x in self.reach)
        return self.reach

    def keep(self, chosen: tuple[int, ...], which: BoolArray, cursors: Cursors) -> None:
        """Take over where a walk over all rows ended.

        Parameters
        ----------
        chosen
            Features for which it was made.
        which : ndarray of bool, shape (n_rows,)
            Rows that aren't settled.
        cursors
            After the last panel.
        """
        reach = self.reach._replace(n_held=cursors.kept)
        if not which.all():
            reach = Reach._make(array[which] for array in reach)
        self.chosen, self.reach = chosen, reach

    def make_room(self, n_full: int, limit_bytes: int) -> None:
        """Hold more violators per row if that was too few for many rows.

        Parameters
        ----------
        n_full
            Rows for whose violators there was no room.
        limit_bytes
            What the block may keep.
        """
        held = self.reach.held
        if n_full > _FULL_SHARE * len(held) and 2 * held.nbytes <= limit_bytes:
            self.reach = self.reach._replace(held=np.concatenate([held, held], axis=1))


@dataclass(frozen=True, eq=False)
class KeptBlock:
    """A block and what is kept of it.

    Attributes
    ----------
    block : RowBlock
    rows, weight : ndarray of int64
        See `BlockReach`.
    dependency : BlockReach or Dask future of it, or None
    state : BlockReach or None
        Once attached.
    """

    block: RowBlock
    rows: IntArray
    weight: IntArray
    dependency: Any = None
    state: BlockReach | None = None

    def attached(self, state: BlockReach) -> KeptBlock:
        """The block with its state in memory.

        Parameters
        ----------
        state
            What `dependency` stands for.
        """
        return replace(self, dependency=None, state=state)

    def detached(self) -> KeptBlock:
        """The block without its state, which is sent beside it and knows the rows."""
        return replace(self, dependency=None, rows=_NO_ROWS, weight=_NO_ROWS)


def state_of(block: KeptBlock) -> BlockReach:
    """What is known of a block; nothing yet if nothing was kept.

    Parameters
    ----------
    block
        Attached, if its state was kept.
    """
    return BlockReach(block.rows, block.weight) if block.state is None else block.state
