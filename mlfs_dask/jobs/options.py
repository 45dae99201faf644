"""Parameters of a method as a job file may give them, read from its constructor's signature."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from mlfs_dask import registry
from mlfs_dask.jobs.declared import SEED, declared

_PLAIN = (int, float, bool, str)


def default_label(kind: registry.Kind, method: str, given: Mapping[str, Any]) -> str:
    """Label of a method by its options that differ from the defaults.

    Parameters
    ----------
    kind, method
        The method.
    given
        Options of the job file, by name; others than the method's always differ.

    Examples
    --------
    >>> default_label("selectors", "spec", {"similarity": "jaccard", "phi": 2})
    'spec [phi=2]'
    """
    options = declared(kind, method).options
    differing = [
        f"{name}={value}"
        for name, value in sorted(given.items())
        if name not in options or value != options[name].default
    ]
    return f"{method} [{', '.join(differing)}]" if differing else method


def full_params(kind: registry.Kind, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a method that JSON can hold, defaults included.

    Parameters
    ----------
    kind, method
        The method.
    given
        Options of the job file, by name.
    """
    defaults = {
        name: option.default
        for name, option in declared(kind, method).options.items()
        if isinstance(option.default, (*_PLAIN, NoneType)) and name != SEED
    }
    return {**defaults, **given}
