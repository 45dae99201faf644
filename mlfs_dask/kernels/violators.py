"""Lists of the violators within reach of a few rows, with the features that separate them."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.reach import Reach
from mlfs_dask.kernels.separation import (
    GROUP,
    STRIP,
    Chosen,
    Panel,
    WordArray,
    is_separated,
    separators,
    violates,
)


@jit
def list_violators(
    panel: Panel, chosen: Chosen, reach: Reach, n_found: int, owner: IntArray, words: WordArray
) -> int:
    """Enter all violators within reach that stand in a panel.

    Parameters
    ----------
    panel
        Rows.
    chosen
        Features that put violators out of reach.
    reach
        Rows whose violators are listed; what it knows is not looked for again.
    n_found
        Entries so far.
    owner : ndarray of int64, shape (room,), changed
        Position in the block of the row that each violator belongs to.
    words : ndarray of uint64, shape (room, n_words), changed
        All features, by slot, that separate the two.

    Returns
    -------
    int
        Entries now; one more than there is room for if they don't fit.
    """
    own, other, base, every = panel.own, panel.other, panel.base, ~np.uint64(0)
    n_rows, end_of_panel = len(reach.row), base + len(other.labels)
    for first in range(0, n_rows, GROUP):
        for begin in range(base, end_of_panel, STRIP):
            end = min(begin + STRIP, end_of_panel)
            for r in range(first, min(first + GROUP, n_rows)):
                i, read = reach.row[r], 0
                for j in range(begin, end):
                    if j < reach.scanned[r]:
                        while read < reach.n_held[r] and reach.held[r, read] < j:
                            read += 1
                        if read == reach.n_held[r] or reach.held[r, read] != j:
                            continue
                    elif not violates(own.labels, i, other.labels, j - base):
                        continue
                    if is_separated(own, i, other, j - base, chosen):
                        continue
                    if n_found == len(owner):
                        return n_found + 1
                    owner[n_found] = i
                    for w in range(words.shape[1]):
                        words[n_found, w] = separators(own, i, other, j - base, w, every)
                    n_found += 1
    return n_found
