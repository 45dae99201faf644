"""What users would write by hand or pick instead, and the data both sides get."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import mlfs_dask as mlfs


def stored(name: str, *, full: bool, rows: int = 60, features: int = 12, dense: bool = False):
    """The store of a real data set when measuring, a small made one in the normal suite."""
    if full:
        if not os.environ.get("MLFS_DATA"):
            raise FileNotFoundError("set MLFS_DATA to the folder of benchmark files to measure")
        return mlfs.open_dataset(name)
    from mlfs_dask.storage.ingest import ingest
    from mlfs_dask.testing.tables import ArrayTable

    rng = np.random.default_rng(7)
    X = rng.random((rows, features)) if dense else (rng.random((rows, features)) < 0.3) * 1.0
    Y = (rng.random((rows, 4)) < 0.4).astype(np.uint8)
    Y[:, 0] |= X[:, 0] > 0.5
    table = ArrayTable(X if dense else sp.csr_matrix(X), Y)
    return ingest(table, Path(os.environ["MLFS_STORES"]) / f"{name}-small.zarr")


def in_memory(dataset):
    """X (CSR or array as stored) and Y of a store."""
    return dataset.X[:], dataset.Y


def jaccard(A, B):
    """Similarities of label sets; two empty ones are the same."""
    inter = A @ B.T
    union = A.sum(axis=1)[:, None] + B.sum(axis=1)[None, :] - inter
    return np.where(union > 0, inter / np.maximum(union, 1), 1.0)


def spec_collapsed(dataset):
    """Scores phi1 for Jaccard by summing X per distinct label set, from the opened store."""
    X, Y = in_memory(dataset)
    sets, codes, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    S = jaccard(*2 * (sets.astype(np.float64),))
    degree = S @ counts
    if sp.issparse(X):
        X = X.astype(np.float64)
        member = sp.csr_matrix((np.ones(len(Y)), (codes.ravel(), np.arange(len(Y)))))
        A = (member @ X).toarray()
        square = X.power(2).T @ degree[codes.ravel()]
    else:
        X = X.astype(np.float64)
        A = np.zeros((len(sets), X.shape[1]))
        np.add.at(A, codes.ravel(), X)
        square = (X**2).T @ degree[codes.ravel()]
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1.0 - np.einsum("uf,uf->f", A, S @ A) / square


def spec_blockwise(dataset, block=2048):
    """Scores phi1 for Jaccard over blocks of sample pairs, the straightforward way."""
    X, Y = in_memory(dataset)
    X = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    labels = Y.astype(np.float64)
    cross, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        degree = np.zeros(len(X[rows]))
        for other in range(0, len(X), block):
            columns = slice(other, other + block)
            S = jaccard(labels[rows], labels[columns])
            degree += S.sum(axis=1)
            cross += np.einsum("if,if->f", X[rows], S @ X[columns])
        square += (X[rows] ** 2).T @ degree
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1.0 - cross / square


def knn_blocks(X, k, block=1024):
    """Exact neighbours by float32 matrix products over blocks of rows, self excluded."""
    X = np.ascontiguousarray(X, dtype=np.float32)
    norms = np.einsum("ij,ij->i", X, X)
    found = np.empty((len(X), k), dtype=np.int64)
    for start in range(0, len(X), block):
        rows = np.arange(start, min(start + block, len(X)))
        D = norms[rows, None] + norms[None, :] - 2.0 * (X[rows] @ X.T)
        D[np.arange(len(rows)), rows] = np.inf
        near = np.argpartition(D, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(D, near, axis=1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(near, order, axis=1)
    return found
