"""Parameters of a method as a job file may give them, read from its constructor's signature."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from mlfs_dask import registry

_PLAIN = (int, float, bool, str)
# A store has its own tile; a job has a stream for every unit unless a seed is given.
_NOT_IN_JOBS = frozenset({"tile"})
_SEED = "random_state"


@dataclass(frozen=True)
class Option:
    """One parameter of a method.

    Attributes
    ----------
    name
        As in the constructor.
    hint
        Type restricted to what TOML can say; ``Any`` where the signature says nothing.
    default
        The constructor's default.
    """

    name: str
    hint: Any
    default: Any

    def convert(self, value: Any) -> Any:
        """The value in the type declared: 1 for a number becomes 1.0.

        Parameters
        ----------
        value
            From TOML.

        Raises
        ------
        msgspec.ValidationError
            Not of the type.
        """
        return msgspec.convert(value, self.hint)


@cache
def options_of(kind: registry.Kind, method: str) -> dict[str, Option]:
    """Parameters of a registered method.

    Parameters
    ----------
    kind
        ``"selectors"`` or ``"classifiers"``.
    method
        Registered name.

    Raises
    ------
    PluginError
        No such name.

    Examples
    --------
    >>> options_of("selectors", "spec")["similarity"].default
    'jaccard'
    """
    constructor = registry.load(kind, method)
    hints = get_type_hints(constructor.__init__, include_extras=True)
    hints[_SEED] = Annotated[int, msgspec.Meta(ge=0)]
    return {
        name: Option(name, _in_toml(hints.get(name, Any)), parameter.default)
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in _NOT_IN_JOBS
    }


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
    options = options_of(kind, method)
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
        for name, option in options_of(kind, method).items()
        if isinstance(option.default, (*_PLAIN, NoneType)) and name != _SEED
    }
    return {**defaults, **given}


def _in_toml(hint: Any) -> Any:
    """The part of a type that TOML can say; ``Any`` where that would be nothing."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        return Annotated[_in_toml(inner), *metadata]
    if origin in (Union, UnionType):
        members = [m for m in get_args(hint) if m is NoneType or _sayable(m)]
        if not [m for m in members if m is not NoneType]:
            return Any
        return Union[tuple(members)]  # noqa: UP007  built from a run-time list
    return hint if _sayable(hint) else Any


def _sayable(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _sayable(get_args(hint)[0])
    return hint in _PLAIN or origin in (Literal, list, tuple, dict)
