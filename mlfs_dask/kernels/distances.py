"""How rows are compared: squared Euclidean distances over features in a fixed order.

Numeric features are scaled by the training rows' ranges (or left as they are), nominal ones count
1 where codes differ, missing values follow WEKA's rule: a value not known is as far away as the
other side allows. Sums run over the features in ranking order, one addition after the other in
float64, whatever the tiles: the same bits on every worker. The sum over the first c features is on
the way to the sum over all, so one pass serves a whole curve.

Never by matrix products: |x|² - 2 x·z + |z|² gives duplicates a distance other than 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray, Normalize
from mlfs_dask.kernels._jit import jit

PLAIN, MISSING, NOMINAL = 0, 1, 2
"""How a feature is compared: by difference, by difference with missing values, by equality."""


class Known(NamedTuple):
    """What is known of the features of some rows.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_features,)
        Extremes of the known values, NaN where there are none.
    missing : ndarray of bool, shape (n_features,)
        Some value is missing.
    binary : ndarray of bool, shape (n_features,)
        Every value is 0 or 1, none missing.
    """

    low: FloatArray
    high: FloatArray
    missing: BoolArray
    binary: BoolArray


@dataclass(frozen=True, eq=False)
class DistanceRule:
    """Which features are summed in which order, and how each is compared.

    Attributes
    ----------
    order : ndarray of int64, shape (n_kept,)
        Features in the order of summation; those that always count 0 are left out.
    stops : ndarray of int64, shape (n_points,)
        How many of them count at each point of the curve.
    how : ndarray of uint8, shape (n_kept,)
        ``PLAIN``, ``MISSING`` or ``NOMINAL``.
    shift, span : ndarray of float64, shape (n_kept,)
        A known value x enters as ``(x - shift) / span``; an infinite span makes it 0.
    bottom, top : ndarray of float64, shape (n_kept,)
        Range of the training values after that, for missing values.
    packed : bool
        All values that count are 0 or 1: distances are popcounts.
    """

    order: IntArray
    stops: IntArray
    how: ByteArray
    shift: FloatArray
    span: FloatArray
    bottom: FloatArray
    top: FloatArray
    packed: bool

    def part(self, begin: int, end: int) -> DistanceRule:
        """The rule of features ``begin`` to ``end`` of the order, without its stops."""
        cut = slice(begin, end)
        return DistanceRule(
            self.order[cut],
            self.stops[:0],
            self.how[cut],
            self.shift[cut],
            self.span[cut],
            self.bottom[cut],
            self.top[cut],
            self.packed,
        )


def distance_rule(
    order: IntArray,
    counts: IntArray,
    train: Known,
    query: Known,
    *,
    nominal: BoolArray,
    normalize: Normalize,
) -> DistanceRule:
    """Decide how rows are compared.

    Parameters
    ----------
    order : ndarray of int64, shape (n_ordered,)
        Features, the most important first.
    counts : ndarray of int64, shape (n_points,)
        Numbers of leading features at which neighbours are looked at, not decreasing.
    train, query
        What is known of the training rows, and of the rows whose neighbours are sought.
    nominal : ndarray of bool, shape (n_features,)
        Compared by equality of codes.
    normalize
        ``"minmax"``: scaled by the training range, not clipped, constant features 0; ``"none"``.

    Notes
    -----
    A missing value against a known v counts max(top - v, v - bottom), two missing ones
    top - bottom, with [bottom, top] = [0, 1] after scaling and the training range else; a nominal
    feature counts 1 as soon as one of the two is missing.
    """
    order = order[: counts[-1]] if len(counts) else order[:0]
    scaled = normalize == "minmax"
    absent = np.isnan(train.low)[order]
    constant = ~(train.low < train.high)[order]
    missing = (train.missing | query.missing)[order]
    by_code = nominal[order]
    # What counts 0 for every pair of rows needn't be read at all. Without scaling and without a
    # single known training value there is no range to be far away in.
    silent = constant & ~missing if scaled else absent & ~by_code
    kept = ~silent
    stops = np.concatenate([[0], np.cumsum(kept)])[counts]
    how = np.where(by_code, NOMINAL, np.where(missing, MISSING, PLAIN)).astype(np.uint8)
    numeric = ~by_code & scaled
    low, high = train.low[order], train.high[order]
    span = np.where(numeric, high - low, 1.0)
    span = np.where(constant & scaled, np.inf, span)
    return DistanceRule(
        order=order[kept],
        stops=stops.astype(np.int64),
        how=how[kept],
        shift=np.where(numeric & ~constant, low, 0.0)[kept],
        span=span[kept],
        bottom=(np.zeros(len(order)) if scaled else low)[kept],
        top=(np.ones(len(order)) if scaled else high)[kept],
        packed=bool(np.all((train.binary & query.binary)[order[kept]])),
    )


class Columns(NamedTuple):
    """Rows prepared for comparison, one feature after the other.

    Attributes
    ----------
    values : ndarray of float64, shape (n_kept, n_rows)
        NaN is missing.
    how : ndarray of uint8, shape (n_kept,)
    bottom, top : ndarray of float64, shape (n_kept,)
        See :class:`DistanceRule`.
    """

    values: FloatArray
    how: ByteArray
    bottom: FloatArray
    top: FloatArray


@jit
def scale_dense(X: AnyArray, order: IntArray, shift: FloatArray, span: FloatArray) -> FloatArray:
    """Scaled columns of dense rows.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    order, shift, span
        See :class:`DistanceRule`.

    Returns
    -------
    ndarray of float64, shape (n_kept, n_rows)
    """
    n = len(X)
    out = np.empty((len(order), n), dtype=np.float64)
    block = 32  # rows whose cells stay in cache while the features pass by
    for start in range(0, n, block):
        for c in range(len(order)):
            column = out[c]
            for i in range(start, min(start + block, n)):
                column[i] = (np.float64(X[i, order[c]]) - shift[c]) / span[c]
    return out


@jit
def scale_csr(
    data: AnyArray,
    indices: AnyArray,
    indptr: AnyArray,
    place: IntArray,
    shift: FloatArray,
    span: FloatArray,
) -> FloatArray:
    """Scaled columns of CSR rows, omitted cells as zeros.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays.
    place : ndarray of int64, shape (n_features,)
        Position of each feature among the columns, -1 if it is none of them.
    shift, span : ndarray of float64, shape (n_kept,)
        See :class:`DistanceRule`.

    Returns
    -------
    ndarray of float64, shape (n_kept, n_rows)
    """
    n = len(indptr) - 1
    out = np.empty((len(shift), n), dtype=np.float64)
    for c in range(len(shift)):
        out[c, :] = (0.0 - shift[c]) / span[c]
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            c = place[indices[p]]
            if c >= 0:
                out[c, i] = (np.float64(data[p]) - shift[c]) / span[c]
    return out


@jit
def add_plain(total: FloatArray, column: FloatArray, own: float) -> None:
    """Add one feature's squared differences to each row's distance."""
    for j in range(len(total)):
        gap = own - column[j]
        total[j] += gap * gap


@jit
def add_four_plain(
    total: FloatArray,
    columns: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    own: FloatArray,
    at: int,
) -> None:
    """As :func:`add_plain` for features ``at`` to ``at + 3``, one after the other.

    The bits are those of four calls; the distances are read and written once.
    """
    c0, c1, c2, c3 = columns
    q0, q1, q2, q3 = own[at], own[at + 1], own[at + 2], own[at + 3]
    for j in range(len(total)):
        g0, g1, g2, g3 = q0 - c0[j], q1 - c1[j], q2 - c2[j], q3 - c3[j]
        total[j] = (((total[j] + g0 * g0) + g1 * g1) + g2 * g2) + g3 * g3


@jit
def add_missing(
    total: FloatArray, column: FloatArray, own: float, bottom: float, top: float
) -> None:
    """As :func:`add_plain` where values may be missing."""
    if np.isnan(own):
        for j in range(len(total)):
            value = column[j]
            gap = top - bottom if np.isnan(value) else max(top - value, value - bottom)
            total[j] += gap * gap
    else:
        far = max(top - own, own - bottom)
        for j in range(len(total)):
            value = column[j]
            gap = far if np.isnan(value) else own - value
            total[j] += gap * gap


@jit
def add_nominal(total: FloatArray, column: FloatArray, own: float) -> None:
    """Add 1 where codes differ or one of them is missing."""
    for j in range(len(total)):
        total[j] += 0.0 if column[j] == own else 1.0
