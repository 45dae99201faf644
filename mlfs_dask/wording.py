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


def are(n: int) -> str:
    """The verb of so many.

    Parameters
    ----------
    n
        How many.

    Examples
    --------
    >>> [f"{counted(n, 'worker')} {are(n)} lost" for n in (1, 2)]
    ['1 worker is lost', '2 workers are lost']
    """
    return "is" if n == 1 else "are"


def have(n: int) -> str:
    """The verb of so many.

    Parameters
    ----------
    n
        How many.

    Examples
    --------
    >>> [f"{counted(n, 'row')} {have(n)} no label" for n in (1, 2)]
    ['1 row has no label', '2 rows have no label']
    """
    return "has" if n == 1 else "have"


def counted_by_thousands(n: int, noun: str, nouns: str = "") -> str:
    """A number that may be large, with its noun.

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
    >>> counted_by_thousands(1, "label"), counted_by_thousands(28596, "sample")
    ('1 label', '28,596 samples')
    """
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"
