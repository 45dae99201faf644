"""Checks of parameters that methods have in common; messages begin with ``name = value``."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlfs_dask.errors import InputError

_LARGEST = 2**53
# Products of three, with counts, stay in the range of float64.
_MOST_SMOOTHING = 1e100


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold; booleans are none.

    Parameters
    ----------
    value
        Anything.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Refuse anything but a whole number of at least ``least`` that is exact as a float.

    Parameters
    ----------
    name, value
        Of a parameter.
    least
        Smallest value allowed.

    Raises
    ------
    InputError
        It is something else.

    Examples
    --------
    >>> check_count("n_neighbors", 0)
    Traceback (most recent call last):
        ...
    mlfs_dask.errors.InputError: n_neighbors = 0: expected a whole number of at least 1
    """
    if not _is_integer(value) or value < least:
        raise InputError(f"{name} = {value!r}: expected a whole number of at least {least}")
    if value > _LARGEST:
        raise InputError(f"{name} = {value!r}: expected a whole number from {least} to 2**53")


def check_positive(name: str, value: Any) -> None:
    """Refuse anything but a finite number above 0.

    Parameters
    ----------
    name, value
        Of a parameter.

    Raises
    ------
    InputError
        It is something else.
    """
    if not is_number(value) or not 0 < value < np.inf:
        raise InputError(f"{name} = {value!r}: expected a finite number above 0")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse anything but a finite number of at least 0.

    Parameters
    ----------
    name, value
        Of a parameter.

    Raises
    ------
    InputError
        It is something else.
    """
    if not is_number(value) or not 0 <= value < np.inf:
        raise InputError(f"{name} = {value!r}: expected a finite number of at least 0")


def check_smoothing(value: Any) -> None:
    """Refuse anything but a number from 0 to 1e100.

    Parameters
    ----------
    value
        Of the parameter ``smoothing``.

    Raises
    ------
    InputError
        It is something else.
    """
    if not is_number(value) or not 0 <= value <= _MOST_SMOOTHING:
        raise InputError(
            f"smoothing = {value!r}: expected a number from 0 to {_MOST_SMOOTHING}",
            hint="Usual is 1; beyond 1e20 the training rows count for nothing.",
        )


def check_threshold(value: Any) -> None:
    """Refuse anything but a number from 0 to 1.

    Parameters
    ----------
    value
        Of the parameter ``threshold``.

    Raises
    ------
    InputError
        It is something else.
    """
    if not is_number(value) or not 0 <= value <= 1:
        raise InputError(f"threshold = {value!r}: expected a probability from 0 to 1")


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse anything but one of some values.

    Parameters
    ----------
    name, value
        Of a parameter.
    allowed
        What it may be, in the order shown; True is not 1.

    Raises
    ------
    InputError
        It is something else.
    """
    # Arrays are compared cell by cell, which says nothing of the whole.
    plain = value is None or isinstance(value, (str, numbers.Number))
    is_bool = isinstance(value, bool)
    if not plain or not any(
        value == each and is_bool == isinstance(each, bool) for each in allowed
    ):
        expected = ", ".join(repr(each) for each in allowed)
        raise InputError(f"{name} = {value!r}: expected one of {expected}")


def check_seed(value: Any, *, optional: bool = False) -> None:
    """Refuse anything but a seed that gives the same numbers whenever it is used.

    Parameters
    ----------
    value
        Of the parameter ``random_state``.
    optional
        None is allowed: there is no such parameter, or perhaps nothing to be drawn.

    Raises
    ------
    InputError
        It is something else.
    """
    if isinstance(value, np.random.SeedSequence) or (optional and value is None):
        return
    if not _is_integer(value) or value < 0:
        raise InputError(
            f"random_state = {value!r}: expected a whole number of at least 0 or a SeedSequence"
        )


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
