"""Information that features share with labels and with each other, from counts of a source."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.cooccurrence import Cooccurrence
from mlfs_dask.kernels.information import (
    add_cells,
    conditional_sums,
    feature_information,
    interaction_sums,
    log_table,
    relevance_sums,
)


class Information:
    """Information terms of binned features and labels, in bits.

    Every method gives one number per feature; a term below 1e-12 counts as 0, and terms are added
    in the order of the labels. A table of logarithms takes 8 bytes per row.

    Parameters
    ----------
    counts
        Counts of the rows.
    Y : ndarray of uint8, shape (n_samples, n_labels)
        Their labels.
    """

    def __init__(self, counts: Cooccurrence, Y: ByteArray) -> None:
        self._counts = counts
        self._table = log_table(len(Y))
        self._cells = self._cells_of(counts.counts, counts.start)
        member = sp.csr_matrix(Y, dtype=np.int64)
        pairs = (member.T @ member).toarray()
        self._label_counts = np.column_stack([np.diagonal(pairs), pairs])
        each = np.arange(Y.shape[1] + 1)
        self._label_cells = self._cells_of(self._label_counts, each)

    def relevance(self) -> FloatArray:
        """Sum over labels of I(f;l), shape (n_features,)."""
        return relevance_sums(self._cells, self._label_cells[:, 0].copy(), self._table)

    def label_interactions(self) -> FloatArray:
        """Sum over pairs of labels l < l' of I3(f;l;l'), shape (n_features,)."""
        sums = np.zeros(len(self._cells))
        for k, part in enumerate(self._counts.of_labels()):
            joint = self._joint([(part, self._label_counts[k])], first=k + 1)
            sums += self._interactions(joint, self._label_cells[k], first=k + 1)
        return sums

    def interactions(self, feature: int) -> FloatArray:
        """Sum over labels of I3(f;s;l) for one feature s, shape (n_features,).

        Parameters
        ----------
        feature
            Index of s.
        """
        joint = self._joint(self._counts.of_feature(feature))
        return self._interactions(joint, self._cells[feature], first=0)

    def net_redundancy(self, feature: int) -> FloatArray:
        """I(f;s) less the sum over labels of I(f;l|s), for one feature s, shape (n_features,).

        Parameters
        ----------
        feature
            Index of s.
        """
        joint, own = self._joint(self._counts.of_feature(feature)), self._cells[feature]
        shared = feature_information(joint, self._cells, own, self._table)
        return shared - conditional_sums(joint, own, len(self._table) - 1)

    def _interactions(self, joint: FloatArray, own: FloatArray, first: int) -> FloatArray:
        labels = self._label_cells[:, 0].copy()
        return interaction_sums(joint, self._cells, own, labels, self._table, first)

    def _cells_of(self, counts: IntArray, start: IntArray) -> FloatArray:
        cells = np.zeros((len(start) - 1, counts.shape[1]))
        add_cells(counts, self._counts.totals, start, self._table, 0, cells)
        return cells

    def _joint(self, parts: Iterable[tuple[IntArray, IntArray]], first: int = 0) -> FloatArray:
        """G(f,s) and G(f,s,l), from the counts of all values of s but its base."""
        rest, left = self._counts.counts.copy(), self._counts.totals.copy()
        joint = np.zeros(self._cells.shape)
        start = self._counts.start
        for counts, totals in parts:
            add_cells(counts, totals, start, self._table, first, joint)
            rest -= counts
            left -= totals
        add_cells(rest, left, start, self._table, first, joint)
        return joint
