"""What a file of frequent words says of all words: how often they occur, how labels matter to them.

The file holds the cells of the most frequent words of a set of documents, the labels, and the
document frequency of all words. `mlfs_dask.storage.synth_like` makes data of the full shape of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.readers.mat5 import read_mat5
from mlfs_dask.storage.readers.textfile import read_whole
from mlfs_dask.storage.records import ReadOptions, RowBatch, TableHeader
from mlfs_dask.wording import counted_by_thousands

FREQUENCIES: Final = "attribDF"
"""Variable of the file that holds the document frequency of all words."""


@dataclass(frozen=True)
class Likeness:
    """What is taken from the file.

    Parameters
    ----------
    header
        Label names and source.
    Y : ndarray of uint8, shape (n, q)
        Labels of all rows.
    split : ndarray of uint8, shape (n,)
        The split as shipped.
    frequencies : ndarray of int64, shape (d,)
        Document frequency of all words.
    seen : ndarray of int64, shape (w,)
        Document frequency of the words whose cells the file has.
    log_odds : ndarray of float64, shape (w, q)
        Their theta.
    spread : float
        sigma, by how much documents differ in length.
    """

    header: TableHeader
    Y: ByteArray
    split: ByteArray
    frequencies: IntArray
    seen: IntArray
    log_odds: FloatArray
    spread: float


def read_likeness(path: Path) -> Likeness:
    """Read labels, frequencies and what words have to do with labels.

    Parameters
    ----------
    path
        The MATLAB file.

    Returns
    -------
    Likeness

    Raises
    ------
    DataFileError
        No such file, no ``attribDF`` in it, X not sparse 0/1, or counts that do not fit.
    """
    reader = open_table(path, options=ReadOptions(format="mat"))
    if not reader.header.is_sparse:
        raise _unfit(path, "its X is dense", "a sparse matrix of 0/1 values")
    batches = list(reader.batches())
    if any((batch.X.data != 1).any() for batch in batches if not isinstance(batch.X, np.ndarray)):
        raise _unfit(path, "its X holds values other than 0 and 1", "0/1 values")
    Y = np.concatenate([batch.Y for batch in batches])
    split = np.concatenate([batch.split for batch in batches])
    sets, codes = np.unique(Y, axis=0, return_inverse=True)
    found, lengths = _count(batches, codes.reshape(-1), len(sets))
    seen = found.sum(axis=0).astype(np.int64)
    frequencies = _frequencies(path, seen, len(Y))
    used = (seen > 0) & (seen < len(Y))
    log_odds = fit_log_odds(sets, np.bincount(codes.reshape(-1)), found[:, used])
    spread = _length_spread(seen[used] / len(Y), float(lengths.std()))
    return Likeness(reader.header, Y, split, frequencies, seen[used], log_odds, spread)


def _count(batches: list[RowBatch], codes: IntArray, n_sets: int) -> tuple[FloatArray, FloatArray]:
    """Documents of each label set that hold each word, shape (u, w); words of each document."""
    found = np.zeros((n_sets, batches[0].X.shape[1]))
    lengths, first = [], 0
    for batch in batches:
        at = (codes[first : first + batch.n_rows], np.arange(batch.n_rows))
        members = csr_matrix((np.ones(batch.n_rows), at), shape=(n_sets, batch.n_rows))
        found += (members @ csr_matrix(batch.X)).toarray()
        lengths.append(np.asarray(batch.X.sum(axis=1)).ravel())
        first += batch.n_rows
    return found, np.concatenate(lengths)


def fit_log_odds(sets: ByteArray, sizes: IntArray, found: FloatArray) -> FloatArray:
    """Logistic regressions of words on labels, with a ridge of weight 1 on the log-odds.

    Parameters
    ----------
    sets : ndarray of uint8, shape (u, q)
        Distinct label sets.
    sizes : ndarray of int64, shape (u,)
        Documents of each.
    found : ndarray of float64, shape (u, w)
        In how many of them each word stands; no word in none or in all of the documents.

    Returns
    -------
    ndarray of float64, shape (w, q)
        theta, rounded to 6 digits after the point.

    Examples
    --------
    >>> fit_log_odds(np.eye(2, dtype=np.uint8), np.array([100, 100]), np.array([[80.0], [20.0]]))
    array([[ 1.306546, -1.306546]])
    """
    u, n_words = found.shape
    design = np.hstack([np.ones((u, 1)), sets.astype(np.float64)])
    width = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(u, -1)
    ridge = np.ones(width)
    ridge[0] = 0.0
    total = found.sum(axis=0)
    beta = np.zeros((width, n_words))
    beta[0] = np.log(total / (sizes.sum() - total))
    for _ in range(100):
        share = 1.0 / (1.0 + np.exp(-(design @ beta)))
        gradient = design.T @ (found - sizes[:, None] * share) - ridge[:, None] * beta
        curvature = squares.T @ (sizes[:, None] * share * (1.0 - share))
        hessian = curvature.T.reshape(n_words, width, width) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient.T[:, :, None])[:, :, 0].T
        step /= np.maximum(1.0, np.abs(step).max(axis=0))  # far from the optimum Newton overshoots
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(np.round(beta[1:].T, 6), dtype=np.float64)


def _frequencies(path: Path, seen: IntArray, n_samples: int) -> IntArray:
    """Document frequency of all words, checked against the cells of those that are there."""
    value = read_mat5(read_whole(path), lambda name: name == FREQUENCIES).get(FREQUENCIES)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or not value.size:
        raise _unfit(
            path, f"has no {FREQUENCIES}", f"{FREQUENCIES}, the document frequency of every word"
        )
    given = value.ravel()
    # Only then: what has no whole number of 64 bits can't be compared with one.
    whole = np.isfinite(given).all() and given.min() >= 0 and given.max() < 2**53
    frequencies = given.astype(np.int64) if whole else np.zeros(0, dtype=np.int64)
    if not np.array_equal(frequencies, given):
        raise _unfit(path, f"{FREQUENCIES} holds other values than counts", "whole numbers >= 0")
    if frequencies.max() > n_samples:
        most = int(frequencies.max())
        raise _unfit(path, f"{FREQUENCIES} says {most:,}", f"at most {n_samples:,}, its documents")
    most_frequent = np.sort(frequencies)[::-1][: len(seen)]
    if not np.array_equal(most_frequent, np.sort(seen)[::-1]):
        raise _unfit(
            path,
            f"its X does not hold the {counted_by_thousands(len(seen), 'most frequent word')} of "
            f"{FREQUENCIES}",
            "columns that have these document frequencies",
        )
    return frequencies


def _unfit(path: Path, problem: str, expected: str) -> DataFileError:
    return DataFileError.at(
        path,
        problem=problem,
        expected=expected,
        hint="Give the tmc2007.mat that has the most frequent words and attribDF.",
    )


def _length_spread(shares: FloatArray, deviation: float) -> float:
    """The sigma at which lengths of documents get this standard deviation, to 6 digits."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    weights = weights / weights.sum()

    def variance(sigma: float) -> float:
        base = np.log(shares / (1.0 - shares))
        for _ in range(50):  # b_w such that the expected share stays the same
            p = 1.0 / (1.0 + np.exp(-(base[:, None] + sigma * nodes)))
            step = (shares - p @ weights) / ((p * (1.0 - p)) @ weights)
            base += np.clip(step, -1.0, 1.0)
        lengths = p.sum(axis=0)
        within = float((p * (1.0 - p)).sum(axis=0) @ weights)
        return within + float(weights @ lengths**2 - (weights @ lengths) ** 2)

    low, high = 0.0, 4.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) < deviation**2 else (low, middle)
    return round(low, 6)
