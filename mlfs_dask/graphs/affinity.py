"""Similarities of the rows of two tiles, in strips: what the block-pair road multiplies by.

A similarity is a value with two abilities: ``prepare`` makes of a tile's rows what comparing needs
(packed words, scaled columns), ``fill`` writes the similarities of some rows of one tile to all
rows of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.kernels.affinity import add_distances, exponentials, packed_affinities
from mlfs_dask.kernels.bits import bit_layout, pack_csr, pack_dense
from mlfs_dask.kernels.distances import DistanceRule, scale_csr, scale_dense
from mlfs_dask.kernels.labelsets import LabelSets
from mlfs_dask.kernels.similarity import LabelBits, SimilarityRule, similarity_tile

# Features scaled at a time, and the bytes of scaled columns kept per tile.
_FEATURE_BLOCK = 256
_KEPT_BYTES = 32 * 2**20


class Affinity(Protocol):
    """Similarity of rows."""

    def arrays(self) -> Sequence[AnyArray]:
        """Arrays over all rows that tasks carry slices of."""

    def prepare(self, block: Block, rows: Sequence[AnyArray]) -> Any:
        """What comparing needs to know of a tile's rows."""

    def fill(
        self, left: Any, begin: int, end: int, right: Any, out: FloatArray, *, diagonal: bool
    ) -> None:
        """Write similarities of rows ``begin:end`` on the left to all rows on the right.

        ``diagonal`` says that both are the same tile.
        """


@dataclass(frozen=True, eq=False)
class LabelAffinity:
    """Similarity of rows by their label sets.

    Attributes
    ----------
    sets, rule
        Label sets of all rows and how they are compared.
    """

    sets: LabelSets
    rule: SimilarityRule

    def arrays(self) -> Sequence[AnyArray]:
        """Words, sizes and shares of all rows."""
        codes = self.sets.codes
        words = np.ascontiguousarray(self.sets.words.T[codes])
        return words, self.sets.sizes[codes], (1.0 / self.sets.counts)[codes]

    def __getstate__(self) -> dict[str, Any]:
        # Rows travel with the tasks; workers need the rule only.
        return {"sets": None, "rule": self.rule}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def prepare(self, block: Block, rows: Sequence[AnyArray]) -> LabelBits:
        """The labels of a tile's rows."""
        words, sizes, share = rows
        return LabelBits(np.ascontiguousarray(words.T), sizes, share)

    def fill(
        self,
        left: LabelBits,
        begin: int,
        end: int,
        right: LabelBits,
        out: FloatArray,
        *,
        diagonal: bool,
    ) -> None:
        """Write similarities by labels."""
        similarity_tile(left.part(slice(begin, end)), right, self.rule, out)
        if diagonal and self.rule.empty == 0.0:
            for i in range(begin, end):
                out[i - begin, i] = 1.0


@dataclass
class PreparedRows:
    """Rows of a tile, packed or scaled on demand.

    Attributes
    ----------
    block : ndarray or CSR matrix
    packed : ndarray of uint64, shape (n_rows, n_words), or None
    by_word : ndarray of uint64, shape (n_words, n_rows), or None
    """

    block: Block
    packed: NDArray[np.uint64] | None = None
    by_word: NDArray[np.uint64] | None = None
    _kept: dict[int, FloatArray] = field(default_factory=dict)

    def scaled(self, rule: DistanceRule, begin: int) -> FloatArray:
        """Scaled columns of features ``begin`` to ``begin + 256`` of the rule."""
        if begin in self._kept:
            return self._kept[begin]
        part = rule.part(begin, begin + _FEATURE_BLOCK)
        columns = _scale(self.block, part)
        if (len(self._kept) + 1) * columns.nbytes <= _KEPT_BYTES:
            self._kept[begin] = columns
        return columns


@dataclass(frozen=True, eq=False)
class FeatureAffinity:
    """``exp(-|x - z|² / (2δ²))`` on scaled features.

    Attributes
    ----------
    rule
        Which features count and how they are scaled.
    rate : float
        1 / (2δ²).
    """

    rule: DistanceRule
    rate: float

    def arrays(self) -> Sequence[AnyArray]:
        """None: everything is in the tiles."""
        return ()

    def prepare(self, block: Block, rows: Sequence[AnyArray]) -> PreparedRows:
        """Pack 0/1 rows; others are scaled when they are asked for."""
        if not self.rule.packed:
            return PreparedRows(block)
        packed = pack_rows(block, self.rule)
        words = np.zeros((len(packed), max(1, -(-packed.shape[1] // 8)) * 8), dtype=np.uint8)
        words[:, : packed.shape[1]] = packed
        wide = words.view(np.uint64)
        return PreparedRows(block, wide, np.ascontiguousarray(wide.T))

    def fill(
        self,
        left: PreparedRows,
        begin: int,
        end: int,
        right: PreparedRows,
        out: FloatArray,
        *,
        diagonal: bool,
    ) -> None:
        """Write similarities by features."""
        if left.packed is not None and right.by_word is not None:
            table = np.exp(-self.rate * np.arange(len(self.rule.order) + 1.0))
            packed_affinities(left.packed, begin, end, right.by_word, table, out)
            return
        n_right = right.block.shape[0]
        out[: end - begin, :n_right] = 0.0
        for start in range(0, len(self.rule.order), _FEATURE_BLOCK):
            a = left.scaled(self.rule, start)
            b = a if diagonal else right.scaled(self.rule, start)
            how = self.rule.how[start : start + _FEATURE_BLOCK]
            add_distances(a, begin, end, b, how, out)
        exponentials(out, end - begin, n_right, self.rate)


def pack_rows(block: Block, rule: DistanceRule) -> ByteArray:
    """The 0/1 features that count, as bits.

    Parameters
    ----------
    block : ndarray or CSR matrix
        Rows.
    rule
        A packed one.

    Returns
    -------
    ndarray of uint8, shape (n_rows, n_bytes)
    """
    layout = bit_layout(rule.order, np.array([len(rule.order)]), block.shape[1])
    if sp.issparse(block):
        return pack_csr(block.data, block.indices, block.indptr, layout)
    return pack_dense(block, layout)


def _scale(block: Block, part: DistanceRule) -> FloatArray:
    if sp.issparse(block):
        place = np.full(block.shape[1], -1, dtype=np.int64)
        place[part.order] = np.arange(len(part.order))
        return scale_csr(block.data, block.indices, block.indptr, place, part.shift, part.span)
    return scale_dense(block, part.order, part.shift, part.span)
