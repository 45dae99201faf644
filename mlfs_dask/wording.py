"""Counts as they stand in messages."""

from __future__ import annotations


def counted(n: int, noun: str, nouns: str = "") -> str:
    """A number with its noun.

    Parameters
    ----------
    n
        How many.
    noun
        In the singular.
    nouns
        In the plural; default: with an s.

    Examples
    --------
    >>> counted(1, "worker"), counted(2, "worker"), counted(3, "process", "processes")
    ('1 worker', '2 workers', '3 processes')
    """
    return f"{n} {noun if n == 1 else nouns or noun + 's'}"


def counted_by_thousands(n: int, noun: str) -> str:
    """A number that may be large, with its noun.

    Parameters
    ----------
    n
        How many.
    noun
        In the singular.

    Examples
    --------
    >>> counted_by_thousands(1, "label"), counted_by_thousands(28596, "sample")
    ('1 label', '28,596 samples')
    """
    return f"{n:,} {noun if n == 1 else noun + 's'}"
