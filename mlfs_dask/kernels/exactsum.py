"""Sums of floats that are the same bits in any order.

A float sum depends on its order, so blocks of rows that are added by different workers would have
to be cut and joined in one fixed way. Here each term is parted at a fixed place instead::

    term   ──round to a multiple of 2^a──> head      sums of heads are exact
             └─> rest ──round to 2^b────> tail      sums of tails are exact

With a bound on the terms and on their number, a and b are chosen so that no sum of heads or tails
is ever rounded: whoever adds them, in whatever order, gets the same two numbers. What is lost below
2^b is less than the last digit of the whole (Demmel & Hida 2003; Demmel & Nguyen 2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.kernels._jit import jit

_DIGITS = 52


class Cuts(NamedTuple):
    """Where terms are parted, one place per column.

    Attributes
    ----------
    head, tail : ndarray of float64, shape (n_columns,)
        Adding and subtracting it rounds to a multiple of 2^a, of 2^b.
    """

    head: FloatArray
    tail: FloatArray


def cuts(bound: FloatArray, n_terms: int) -> Cuts:
    """Where to part terms.

    Parameters
    ----------
    bound : ndarray of float64, shape (n_columns,)
        No term of a column is larger.
    n_terms
        Most terms that will be added to a column.

    Examples
    --------
    >>> import numpy as np
    >>> found = cuts(np.array([1.0]), 4)
    >>> sums = np.zeros((2, 1))
    >>> for term in (2.0**-60, 1.0, -1.0):
    ...     add_exactly(np.array([term]), found, sums)
    >>> float(sums.sum(axis=0)[0]) == 2.0**-60
    True
    """
    head = _unit(bound, n_terms)
    tail = _unit(head, n_terms)
    return Cuts(1.5 * 2.0**_DIGITS * head, 1.5 * 2.0**_DIGITS * tail)


def _unit(bound: FloatArray, n_terms: int) -> FloatArray:
    """Multiples of it up to ``n_terms * bound`` (and a bit more) are added without rounding."""
    largest = 4.0 * max(n_terms, 1) * np.asarray(bound, dtype=np.float64)
    exponent = np.frexp(largest)[1] - _DIGITS
    return np.where(largest > 0, np.ldexp(1.0, exponent), 0.0)


@jit
def add_exactly(terms: FloatArray, places: Cuts, sums: FloatArray) -> None:
    """Add one term to each column.

    Parameters
    ----------
    terms : ndarray of float64, shape (n_columns,)
    places
        From :func:`cuts`.
    sums : ndarray of float64, shape (2, n_columns), changed
        Heads and tails; their sum is the result. Such arrays may be added in any order.
    """
    head, tail = places.head, places.tail
    heads, tails = sums[0], sums[1]
    for r in range(len(terms)):
        term = terms[r]
        top = (term + head[r]) - head[r]
        rest = term - top
        heads[r] += top
        tails[r] += (rest + tail[r]) - tail[r]
