"""Squared distances between all rows over the features of a stream, kept in blocks of rows.

A block holds the distances from some rows to all rows. Blocks stay on the workers as long as
``KEPT_BYTES`` of each allow it; distances of the others are made anew, a few rows at a time,
whenever they are looked at. The set grows one feature at a time::

    features   f1 f2 ... f16 | f17 f18         kept distances cover whole bytes of 0/1 features, or
               covered       | pending         all but the last few columns of values

so that most features cost one read of the distances and no write. Looking at a candidate takes no
longer than reading them, so several are looked at in one reading. A set that is not the old one
with features added is kept anew, in its order: nothing is ever subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mlfs_dask._typing import ByteArray
from mlfs_dask.graphs.arrivals import Column, pack, values_of
from mlfs_dask.graphs.budget import room_of_all
from mlfs_dask.graphs.executor import Executor, InProcess
from mlfs_dask.graphs.gap_tasks import (
    Block,
    Columns,
    Surroundings,
    extend_block,
    keep_block,
    measure_block,
)
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.kernels.gap_counts import Tally
from mlfs_dask.kernels.gap_measure import GROUP, Candidates

KEPT_BYTES = 2**30
"""What kept distances may take of each worker."""
_BLOCK_BYTES = 256 * 2**20
_THREAD_BLOCK_BYTES = 64 * 2**20  # a block that grows is there twice, and threads cost no message
_SENT_BYTES = 2**20  # go with the tasks sooner than a worker is asked to hold them
_PENDING = 3  # columns of values that are added anew each time before they are kept
_CACHE_BYTES = 8 * 2**20  # distances that are as quickly written as read
BITS = 8
"""0/1 features in a byte."""
_LOSSES = 3  # that one question outlives

T = TypeVar("T")
Span: TypeAlias = tuple[int, int]


class KeptDistances:
    """Distances over a growing set of features.

    Parameters
    ----------
    around
        The rows, each a point of its own.
    executor
        Where distances are made and kept.
    """

    def __init__(self, around: Surroundings, executor: Executor) -> None:
        self._executor = executor
        self._n = len(around.points.size)
        self._rows = around
        self._around = executor.share(around)
        self.start_with([])

    def start_with(self, columns: Sequence[Column]) -> None:
        """Take another set of features.

        Parameters
        ----------
        columns
            In order of arrival.
        """
        self._columns: list[Column] = []
        self._ones = np.zeros(self._n, dtype=np.int64)
        self._integral = True
        self._forget()
        for column in columns:
            self.append(column)

    def append(self, column: Column) -> None:
        """Add a feature to the set.

        Parameters
        ----------
        column
            The last to have arrived.
        """
        self._columns.append(column)
        self._integral &= column.is_bit
        if self._integral:
            self._ones += column.codes

    @property
    def ahead(self) -> int:
        """How many features a candidate may have besides its first one.

        None where distances are looked at in no time. Of 0/1 features those that a byte has bits
        for, together with those of the set that are in no whole byte.
        """
        if self._n**2 * self._type().itemsize <= _CACHE_BYTES:
            return 0
        return BITS - 1 - len(self._columns) % BITS if self._integral else BITS - 1

    def measure(self, columns: Sequence[Column], spans: Sequence[Span]) -> list[Tally]:
        """Tally all neighbourhoods over the set with each candidate.

        Parameters
        ----------
        columns
            Of all candidates.
        spans
            Candidate c is ``columns[spans[c][0]:spans[c][1]]``, one feature or up to `ahead` more.

        Returns
        -------
        list of Tally
            One for each.
        """
        return despite_losses(lambda: self._measured(columns, spans), self._begin_again)

    def _measured(self, columns: Sequence[Column], spans: Sequence[Span]) -> list[Tally]:
        self._bring_up()
        forms = [
            self._integral and all(each.is_bit for each in columns[first:last])
            for first, last in spans
        ]
        found: dict[int, Tally] = {}
        for in_bits in (True, False):
            which = [c for c, form in enumerate(forms) if form == in_bits]
            if which:
                measured = self._measure(columns, [spans[c] for c in which], in_bits=in_bits)
                found.update(zip(which, measured, strict=True))
        return [found[c] for c in range(len(spans))]

    def _begin_again(self) -> None:
        """Share and keep everything anew: workers took some of it with them."""
        self._around = self._executor.share(self._rows)
        self._forget()

    def _forget(self) -> None:
        self._kept: list[Any] | None = None
        self._dtype = np.dtype(np.uint8)
        self._blocks: list[tuple[int, int]] = []
        self._covered = 0
        self._shared: tuple[Any, Any] | None = None

    def _bring_up(self) -> None:
        """Have distances kept that cover all features but the pending ones."""
        dtype = self._type()
        if self._kept is not None and dtype != self._dtype:
            self._forget()
        whole = self._covers()
        if self._kept is None:
            self._dtype, self._covered = dtype, whole
            self._blocks = distance_blocks(self._n, self._n * dtype.itemsize, self._executor)
            limit = room_of_all(KEPT_BYTES, self._executor)
            sizes = np.cumsum([self._n * dtype.itemsize * (b - a) for a, b in self._blocks])
            n_kept = int(np.searchsorted(sizes, limit, side="right"))
            features = at_hand(self._executor, self._features(0, whole), n_kept)
            blocks = [Block(*span) for span in self._blocks[:n_kept]]
            self._kept = self._executor.keep(keep_block, blocks, features, dtype)
        elif whole > self._covered:
            added = self._features(self._covered, whole)
            pending = at_hand(self._executor, added, len(self._kept))
            # A few at a time, so that old and new distances aren't both there for all blocks.
            step = self._executor.n_workers
            for start in range(0, len(self._kept), step):
                part = range(start, min(start + step, len(self._kept)))
                blocks = [Block(*self._blocks[b], dependency=self._kept[b]) for b in part]
                self._kept[start : part.stop] = self._executor.keep(extend_block, blocks, pending)
            self._covered = whole

    def _covers(self) -> int:
        """How many features distances should cover."""
        n = len(self._columns)
        if self._integral:
            return n - n % BITS
        most = _PENDING if self._n**2 * self._dtype.itemsize > _CACHE_BYTES else 0
        pending = n - self._covered
        return n if self._kept is None or pending > most else self._covered

    def _type(self) -> np.dtype[Any]:
        """Smallest type of distances to which a byte of features can be added."""
        if not self._integral:
            return np.dtype(np.float64)
        most = min(len(self._columns), 2 * int(self._ones.max(initial=0))) + BITS
        return np.dtype(np.min_scalar_type(most + 1))

    def _features(self, begin: int, end: int) -> Columns:
        columns = self._columns[begin:end]
        return pack(columns, self._n) if self._integral else values_of(columns, self._n)

    def _measure(
        self, columns: Sequence[Column], spans: list[Span], *, in_bits: bool
    ) -> list[Tally]:
        assert self._kept is not None
        rest = self._columns[self._covered :]
        made: ByteArray | Candidates
        if in_bits:
            each = (columns[first:last] for first, last in spans)
            made = np.concatenate([pack([*rest, *added], self._n) for added in each])
            pending: Columns = pack([], self._n)
        else:
            made = Candidates(values_of(columns, self._n), np.array(spans, dtype=np.int64))
            pending = values_of(rest, self._n)
        blocks = [Block(*span) for span in self._blocks]
        for b, kept in enumerate(self._kept):
            blocks[b] = replace(blocks[b], dependency=kept)
        anew = self._to_make_anew(in_bits=in_bits) if len(self._kept) < len(blocks) else None
        dtype = self._dtype if in_bits else np.dtype(np.float64)
        sent = [at_hand(self._executor, part, len(blocks)) for part in (pending, made)]
        common = (self._around, anew, *sent, dtype)
        return add_tallies(self._executor.map(measure_block, blocks, *common))

    def _to_make_anew(self, *, in_bits: bool) -> Any:
        """Features for blocks that aren't kept; shared once as long as they stay the same."""
        columns = self._columns[: self._covered] if in_bits else self._columns
        key = (len(columns), in_bits)
        if self._shared is None or self._shared[0] != key:
            features = pack(columns, self._n) if in_bits else values_of(columns, self._n)
            self._shared = (key, self._executor.share(features))
        return self._shared[1]


def at_hand(executor: Executor, value: Columns | Candidates | Surroundings, n_tasks: int) -> Any:
    """A value as an argument of tasks: itself if that is little to send, else shared.

    Parameters
    ----------
    executor
        Of the tasks.
    value
        Features, or where rows stand.
    n_tasks
        Tasks that need it.
    """
    little = n_tasks * _bytes_of(value) <= _SENT_BYTES
    return value if little else executor.share(value)


def _bytes_of(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes_of, value.points if isinstance(value, Surroundings) else value))


def despite_losses(ask: Callable[[], T], begin_again: Callable[[], object]) -> T:
    """Ask a cluster, and again if workers were lost with data that the answer needs.

    Parameters
    ----------
    ask
        Raises ``CancelledError`` if what it was told to use is gone.
    begin_again
        Puts everything in place anew.
    """
    for _ in range(_LOSSES):
        try:
            return ask()
        except CancelledError:
            begin_again()
    return ask()


def distance_blocks(n: int, row_bytes: int, executor: Executor) -> list[tuple[int, int]]:
    """Cut rows into blocks of distances to all rows, one for each task.

    Parameters
    ----------
    n
        Rows.
    row_bytes
        Of the distances from one of them.
    executor
        Of the tasks; each of its workers gets as many blocks as the others.

    Examples
    --------
    >>> distance_blocks(40, 40, InProcess(2))
    [(0, 24), (24, 40)]
    """
    most = _THREAD_BLOCK_BYTES if isinstance(executor, InProcess) else _BLOCK_BYTES
    n_workers = executor.n_workers
    rounds = max(1, -(-n * row_bytes // (n_workers * most)))
    rows = -(-n // (n_workers * rounds * GROUP)) * GROUP
    return even_spans(n, rows)


def add_tallies(parts: Iterable[Tally]) -> list[Tally]:
    """Add what blocks counted; whole numbers and exact sums, so in any order.

    Parameters
    ----------
    parts
        Of the blocks, each for all candidates.

    Returns
    -------
    list of Tally
        One for each candidate.
    """
    first, *others = parts
    pure, shares = np.array(first.pure), np.array(first.shares)
    for part in others:
        pure += part.pure
        shares += part.shares
    return [Tally(*each) for each in zip(pure, shares, strict=True)]
