"""Cutting rows, columns or anything else that is numbered into spans of one width."""

from __future__ import annotations


def even_spans(n: int, width: int) -> list[tuple[int, int]]:
    """Spans (first, end) of all numbers below n, in order; the last one may be shorter.

    Parameters
    ----------
    n
        How many there are.
    width
        Of a span, at least 1.

    Examples
    --------
    >>> even_spans(5, 2), even_spans(4, 2), even_spans(0, 2)
    ([(0, 2), (2, 4), (4, 5)], [(0, 2), (2, 4)], [])
    """
    return [(first, min(first + width, n)) for first in range(0, n, width)]
