"""The last steps of a search for a reduct: few rows are open, and all their violators are listed.

As soon as the open rows are few, one request lists their violators within reach, each with the
features that separate the two. Which rows a further feature settles is then a question to bits at
hand; no worker is asked again::

    features     1  2  3  4  5  6
    row 7  ┌─    x     x              each line a violator, x: the feature separates it from the row
           └─          x  x           feature 3 settles row 7, as it separates all its violators
    row 9  ──    x  x                 once feature 1 is chosen, no line is left of row 9: settled
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.graphs.block_reach import KeptBlock, state_of
from mlfs_dask.graphs.region_tasks import AllRows, Gains
from mlfs_dask.kernels.separation import Layout, WordArray, choose
from mlfs_dask.kernels.violators import list_violators


class Listed(NamedTuple):
    """Violators within reach of a block's open rows.

    Attributes
    ----------
    row : ndarray of int64, shape (n_found,)
        The row among all rows that each belongs to.
    words : ndarray of uint64, shape (n_found, n_words)
        Features, by slot, that separate the two.
    """

    row: IntArray
    words: WordArray


@dataclass(frozen=True, eq=False)
class Remaining:
    """All violators that are left of all open rows.

    Attributes
    ----------
    chosen : tuple of int
        Features for which they are.
    row : ndarray of int64, shape (n_left,)
        Rows that they belong to, ascending.
    weight : ndarray of int64, shape (n_left,)
        Rows of the source that each of these stands for.
    words : ndarray of uint64, shape (n_left, n_words)
        Features, by slot, that separate the two.
    """

    chosen: tuple[int, ...]
    row: IntArray
    weight: IntArray
    words: WordArray

    def after(self, chosen: tuple[int, ...], layout: Layout) -> Self | None:
        """What is left once further features are chosen.

        Parameters
        ----------
        chosen
            All features.
        layout
            Where features stand.

        Returns
        -------
        Remaining or None
            None if the features don't start with those for which the violators are.
        """
        n_known = len(self.chosen)
        if chosen[:n_known] != self.chosen:
            return None
        new = choose(layout, np.array(chosen[n_known:], dtype=np.int64)).words
        left = ~np.any(self.words & new, axis=1)
        return type(self)(chosen, self.row[left], self.weight[left], self.words[left])

    def gains(self) -> Gains:
        """Open rows, and how many of them one more feature would settle."""
        begins = np.flatnonzero(np.diff(self.row, prepend=-1))
        if len(begins) == 0:
            return Gains(0, np.zeros(64 * self.words.shape[1], dtype=np.int64))
        of_all = np.bitwise_and.reduceat(self.words, begins, axis=0)
        # The lowest byte first: little-endian processors only.
        bits = np.unpackbits(of_all.view(np.uint8), axis=1, bitorder="little")
        weight = self.weight[begins]
        return Gains(int(weight.sum()), weight @ bits)


def list_block(
    block: KeptBlock, rows: AllRows, chosen: tuple[int, ...], room: int
) -> tuple[Listed | None, int]:
    """List the violators within reach of a block's open rows.

    Parameters
    ----------
    block
        With its state.
    rows
        All rows.
    chosen
        In order of choice.
    room
        Violators that may be listed.

    Returns
    -------
    Listed or None
        None if there are more.
    int
        Pairs of rows looked at.
    """
    state, layout = state_of(block), rows.columns.layout
    state.missed(chosen)
    reach, own = state.writable(), rows.of_block(block.block)
    among = choose(layout, np.array(chosen, dtype=np.int64))
    owner = np.zeros(room, dtype=np.int64)
    words = np.zeros((room, layout.n_words), dtype=np.uint64)
    n_found, looks = 0, int(reach.n_held.sum())
    for panel in rows.panels(block.block, own):
        end = panel.base + len(panel.other.labels)
        looks += int((end - reach.scanned.clip(panel.base, end)).sum())
        n_found = list_violators(panel, among, reach, n_found, owner, words)
        del panel
        if n_found > room:
            return None, looks
    return Listed(block.block.first + owner[:n_found], words[:n_found].copy()), looks


def join_lists(
    parts: Iterable[Listed | None], chosen: tuple[int, ...], room: int, weight: IntArray
) -> Remaining | None:
    """The violators of all blocks.

    Parameters
    ----------
    parts
        Of the blocks, in order.
    chosen
        Features for which they were listed.
    room
        Violators that may be listed.
    weight : ndarray of int64, shape (n_rows,)
        Rows of the source that each row stands for.

    Returns
    -------
    Remaining or None
        None if there are more.
    """
    found: list[Listed] = []
    for part in parts:
        if part is None or sum(len(each.row) for each in [*found, part]) > room:
            return None
        found.append(part)
    row = np.concatenate([each.row for each in found])
    order = np.argsort(row, kind="stable")
    words = np.concatenate([each.words for each in found])[order]
    return Remaining(chosen, row[order], weight[row[order]], words)
