r"""Text of the shape of a data set of which only its most frequent words are at hand.

The file (``tmc2007.mat``: X and Xt hold the most frequent words of n documents, Y and Yt their
labels, ``attribDF`` the document frequency of *all* words) gives shapes and sizes, no cell of X:

- labels and split are those of the file, row by row;
- word w stands in exactly ``attribDF[w]`` documents;
- how words depend on labels is what the file's own words show: to each of them a logistic
  regression on the labels is fitted (ridge of weight 1 on its log-odds, by Newton's method on the
  distinct label sets),

  .. math::  \log\frac{P(x_w = 1 \mid y)}{P(x_w = 0 \mid y)} = b_w + \sum_l \theta_{wl}\, y_l

  and each word of the made data takes the log-odds theta of a word r of the file, drawn at random,
  times (max(DF_w, DF_least) / DF_r)^s. Here s is the slope of log(rms theta_r) on log(DF_r) over
  the file's words, rarer words depend more on the labels, and DF_least the lowest frequency among
  them: nothing is extrapolated below;
- documents differ in length: document i adds sigma z_i, z_i standard normal, to the log-odds of all
  words, with the sigma at which the words of the file, were labels left out, would give documents
  whose lengths have the standard deviation seen.

Rows are made in blocks of 4,096. The stream of the plan (spawn key ``(5, 2**32 - 1)``) draws the
log-odds and shares out each word's documents among the blocks (hypergeometric); the stream of the
block (spawn key ``(5, block)``) draws z and which rows of the block hold a word: those with the
largest log-odds plus standard logistic noise; for words in less than 1 of 50 rows, where odds and
probabilities are nearly the same, rows are drawn one by one with chances proportional to the odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage.ingest import StoreOptions, create_store
from mlfs_dask.storage.likeness import Likeness, read_likeness
from mlfs_dask.storage.places import Place
from mlfs_dask.storage.planted import BLOCK_ROWS, PLAN, block_stream
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, TableHeader
from mlfs_dask.storage.store import Dataset

_RARE: Final = 50  # words in less than 1 of so many rows are drawn row by row
_WORDS: Final = 256  # words drawn together


class LikeTable:
    """Data of the shape of a file, as a reader of a table.

    Parameters
    ----------
    likeness
        What the file says.
    name
        Name of the table.
    seed
        Seed of all streams.

    Attributes
    ----------
    header : TableHeader
        Features are ``word0``, ``word1``, ... in the order of ``attribDF``; labels and source are
        those of the file.
    log_odds : ndarray of float64, shape (d, q)
        How each word depends on the labels.
    """

    def __init__(self, likeness: Likeness, name: str, seed: int = 0) -> None:
        self.likeness = likeness
        self.seed = seed
        d = len(likeness.frequencies)
        self.header = TableHeader(
            name=name,
            feature_names=tuple(f"word{i}" for i in range(d)),
            label_names=likeness.header.label_names,
            feature_kind=np.zeros(d, dtype=np.uint8),
            is_sparse=True,
            source=likeness.header.source,
            notes=(
                "synthetic words: labels, split and document frequencies are those of "
                f"{likeness.header.source[0].name}, no cell of X is (seed {seed})",
            ),
        )
        rng = block_stream(seed, PLAN)
        self.log_odds = _resample(rng, likeness)
        self._shares = _share_out(rng, likeness.frequencies, len(likeness.Y))

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Blocks of 4,096 rows, each from its own stream.

        Parameters
        ----------
        max_bytes
            Not used: a block holds a few words a row.
        """
        for block in range(len(self._shares)):
            yield self.draw(block)

    def draw(self, block: int) -> RowBatch:
        """Rows of one block.

        Parameters
        ----------
        block
            Its number.
        """
        rows = slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        Y = self.likeness.Y[rows]
        rng = block_stream(self.seed, block)
        z = self.likeness.spread * rng.standard_normal(len(Y))
        X = _draw_words(rng, self._shares[block], self.log_odds, Y, z)
        return RowBatch(X, Y, self.likeness.split[rows])


def synthesize_like(
    dest: Place, source: Path, *, seed: int = 0, options: StoreOptions | None = None
) -> Dataset:
    """Make a store of the full shape of a set of which only its most frequent words are at hand.

    Parameters
    ----------
    dest
        Path or address of the store.
    source
        MATLAB file with X, Y, Xt, Yt (0/1, sparse) and ``attribDF``, such as tmc2007.mat.
    seed
        Seed of all streams.
    options
        Tile, name, overwriting; values are uint8.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFileError
        No such file, or not of this kind.
    InputError
        A negative seed.
    StoreError, MachineError
        As `mlfs_dask.storage.ingest.ingest`.
    """
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be at least 0", parameter="seed")
    given = options or StoreOptions()
    table = LikeTable(read_likeness(source), given.name or dest.stem, seed)
    layout = StoreOptions(tile=given.tile, dtype="uint8", overwrite=given.overwrite)
    return create_store(dest, table.header, table.batches(), layout)


def _resample(rng: np.random.Generator, likeness: Likeness) -> FloatArray:
    """Log-odds of all words, shape (d, q), from those of random words of the file."""
    size = np.log(likeness.seen)
    rms = np.sqrt((likeness.log_odds**2).mean(axis=1))
    slope = 0.0
    if size.min() < size.max() and rms.min() > 0:
        slope = round(float(np.polyfit(size, np.log(rms), 1)[0]), 6)
    like = rng.integers(len(likeness.seen), size=len(likeness.frequencies))
    least = np.maximum(likeness.frequencies, likeness.seen.min())
    scale = (least / likeness.seen[like]) ** slope
    log_odds: FloatArray = likeness.log_odds[like] * scale[:, None]
    return log_odds


def _share_out(rng: np.random.Generator, frequencies: IntArray, n_samples: int) -> list[IntArray]:
    """In how many rows of each block each word stands; the sums are the frequencies."""
    shares = []
    left = frequencies.copy()
    for start in range(0, n_samples, BLOCK_ROWS):
        here = min(BLOCK_ROWS, n_samples - start)
        counts = rng.hypergeometric(here, n_samples - start - here, left)
        shares.append(counts)
        left = left - counts
    return shares


def _draw_words(
    rng: np.random.Generator, counts: IntArray, log_odds: FloatArray, Y: ByteArray, z: FloatArray
) -> csr_matrix:
    """Rows of a block: word w stands in `counts[w]` of them."""
    n_rows = len(Y)
    rare = counts * _RARE < n_rows
    rows, words = [], []
    for chosen, draw in (
        (np.flatnonzero(~rare), _largest),
        (np.flatnonzero(rare & (counts > 0)), _one_by_one),
    ):
        for start in range(0, len(chosen), _WORDS):
            some = chosen[start : start + _WORDS]
            at, positions = draw(rng, counts[some], log_odds[some] @ Y.T + z)
            rows.append(positions)
            words.append(some[at])
    at_rows, at_words = np.concatenate(rows), np.concatenate(words)
    X = csr_matrix(
        (np.ones(len(at_rows)), (at_rows, at_words)), shape=(n_rows, len(counts)), dtype=np.float64
    )
    X.sort_indices()
    return X


def _largest(
    rng: np.random.Generator, counts: IntArray, logits: FloatArray
) -> tuple[IntArray, IntArray]:
    """Rows with the largest log-odds plus logistic noise: positions of words, rows."""
    keys = logits + rng.logistic(size=logits.shape)
    order = np.argsort(-keys, axis=1, kind="stable")
    taken = np.arange(logits.shape[1]) < counts[:, None]
    return np.nonzero(taken)[0], order[taken]


def _one_by_one(
    rng: np.random.Generator, counts: IntArray, logits: FloatArray
) -> tuple[IntArray, IntArray]:
    """Rows drawn with chances proportional to the odds, none twice: positions of words, rows."""
    n_words, n_rows = logits.shape
    upto = np.cumsum(np.exp(logits), axis=1)
    upto /= upto[:, -1:]
    upto += np.arange(n_words)[:, None]  # one ascending line for all words
    line = upto.ravel()
    cells = np.empty(0, dtype=np.int64)
    missing = counts
    while missing.any():
        words = np.repeat(np.arange(n_words), missing)
        found = np.searchsorted(line, words + rng.random(len(words)), side="right")
        last = (words + 1) * n_rows - 1  # where rounding would lead beyond the word's own rows
        cells = np.union1d(cells, np.minimum(found, last))
        missing = counts - np.bincount(cells // n_rows, minlength=n_words)
    at, rows = np.divmod(cells, n_rows)
    return at, rows
