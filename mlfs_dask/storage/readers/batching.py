"""Pieces of rows joined into batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse as sp

from mlfs_dask.storage.records import RowBatch


def rebatch(pieces: Iterable[RowBatch], max_bytes: int) -> Iterator[RowBatch]:
    """Join small pieces, cut large ones, so that batches come near the bound.

    Parameters
    ----------
    pieces
        Consecutive rows; empty ones are passed over.
    max_bytes
        Bound on the decoded size of a batch, in bytes; a batch has at least one row.
    """
    held: list[RowBatch] = []
    held_bytes = 0
    for piece in pieces:
        if piece.n_rows == 0:
            continue
        size = _size(piece)
        if held and held_bytes + size > max_bytes:
            yield _joined(held)
            held, held_bytes = [], 0
        if size > max_bytes:
            step = max(1, piece.n_rows * max_bytes // size)
            for start in range(0, piece.n_rows, step):
                rows = slice(start, start + step)
                yield RowBatch(piece.X[rows], piece.Y[rows], piece.split[rows])
            continue
        held.append(piece)
        held_bytes += size
    if held:
        yield _joined(held)


def _size(piece: RowBatch) -> int:
    if isinstance(piece.X, sp.csr_matrix):
        cells = int(piece.X.data.nbytes + piece.X.indices.nbytes + piece.X.indptr.nbytes)
    else:
        cells = int(piece.X.nbytes)
    return cells + int(piece.Y.nbytes) + int(piece.split.nbytes)


def _joined(held: list[RowBatch]) -> RowBatch:
    if len(held) == 1:
        return held[0]
    rows = [piece.X for piece in held]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return RowBatch(
        X,
        np.concatenate([piece.Y for piece in held]),
        np.concatenate([piece.split for piece in held]),
    )
