"""Checks of parameters that classifiers have in common; messages begin with ``name = value``."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mlfs_dask.errors import InputError


def is_a(kind: type, value: Any) -> bool:
    """Whether a value is a number of a kind; booleans are none.

    Parameters
    ----------
    kind
        ``numbers.Integral`` or ``numbers.Real``.
    value
        Anything.
    """
    return isinstance(value, kind) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse anything but an integer of at least ``least``.

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
    """
    if not is_a(numbers.Integral, value) or value < least:
        raise InputError(f"{name} = {value!r}: expected an integer of at least {least}")


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
    if not is_a(numbers.Real, value) or not 0 < value < np.inf:
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
    if not is_a(numbers.Real, value) or not 0 <= value < np.inf:
        raise InputError(f"{name} = {value!r}: expected a finite number of at least 0")


def check_smoothing(value: Any) -> None:
    """Refuse anything but a finite number of at least 0.

    Parameters
    ----------
    value
        Of the parameter ``smoothing``.

    Raises
    ------
    InputError
        It is something else.
    """
    check_not_negative("smoothing", value)


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
    if not is_a(numbers.Real, value) or not 0 <= value <= 1:
        raise InputError(f"threshold = {value!r}: expected a probability from 0 to 1")


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Refuse anything but one of some values.

    Parameters
    ----------
    name, value
        Of a parameter.
    allowed
        What it may be.

    Raises
    ------
    InputError
        It is something else.
    """
    if value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise InputError(f"{name} = {value!r}: expected one of {names}")


def check_seed(value: Any) -> None:
    """Refuse anything but a seed that gives the same numbers whenever it is used.

    Parameters
    ----------
    value
        Of the parameter ``random_state``.

    Raises
    ------
    InputError
        It is something else.
    """
    if isinstance(value, np.random.SeedSequence):
        return
    if not is_a(numbers.Integral, value) or value < 0:
        raise InputError(
            f"random_state = {value!r}: expected an integer of at least 0 or a SeedSequence"
        )
