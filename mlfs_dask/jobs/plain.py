"""Values of parameters that need no method to say that they are fine.

What a parameter's type allows and lies within the ranges below, every method takes that has a
parameter of the name. Only other values, and those that depend on each other, are put before the
method itself, which has to be imported for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from mlfs_dask import registry
from mlfs_dask.jobs.declared import Option, declared

_MANY: Final = 10**9
_LITTLE: Final = 1e-9
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "bandwidth": (_LITTLE, _MANY),
    "budget": (0, _MANY),
    "damping": (0, 0.999),
    "delta": (0, _MANY),
    "empty_pair": (0, 1),
    "gap_factor": (_LITTLE, _MANY),
    "group_size": (1, _MANY),
    "labelset_size": (1, _MANY),
    "max_features": (1, _MANY),
    "min_dependency": (_LITTLE, 1),
    "mu": (0, 0.999),
    "mutation": (0, 1),
    "n_components": (1, _MANY),
    "n_folds": (2, _MANY),
    "n_generations": (1, _MANY),
    "n_individuals": (4, _MANY),
    "n_iter": (1, _MANY),
    "n_models": (1, _MANY),
    "n_neighbors": (1, _MANY),
    "order": (1, 2),
    "patience": (1, _MANY),
    "pca": (_LITTLE, 1),
    "phi": (1, 2),
    "radius_divisor": (_LITTLE, _MANY),
    "random_state": (0, _MANY),
    "relevance": (_LITTLE, 1),
    "smoothing": (0, _MANY),
    "t": (_LITTLE, _MANY),
    "threshold": (0, 1),
}
_OF_METHODS: Final[dict[tuple[str, str], tuple[float, float]]] = {("spec", "phi"): (1, 3)}
"""Wider ranges of single methods."""
# A whole number counts features, any other is a share of them.
_COUNT_OR_SHARE: Final = "n_features_to_select"
# Words that go or do not go with values of other parameters.
_DEPENDENT: Final = frozenset({"road"})


def are_plain(kind: registry.Kind, method: str, params: Mapping[str, Any]) -> bool:
    """Whether parameters are certainly fine; if not, the method itself has to say.

    Parameters
    ----------
    kind
        ``"selectors"`` or ``"classifiers"``.
    method
        Registered name; of a plug-in nothing is certain.
    params
        Of the types that the method declares, by name.

    Examples
    --------
    >>> are_plain("classifiers", "mlknn", {"n_neighbors": 7, "smoothing": 0.5})
    True
    >>> are_plain("classifiers", "mlknn", {"n_neighbors": -7})
    False
    """
    said = declared(kind, method)
    if said.takes_missing is None:
        return False
    return all(_is_plain(method, said.options[name], value) for name, value in params.items())


def plain_choices(option: Option) -> list[Any]:
    """The words and truth values that are plain for a parameter.

    Parameters
    ----------
    option
        The parameter.
    """
    if option.name in _DEPENDENT:
        return [option.default]
    members = _members(option.hint)
    words = [
        word
        for member in members
        if get_origin(member) is Literal
        for word in get_args(member)
        if isinstance(word, str)
    ]
    return [*words, *([False, True] if bool in members else [])]


def plain_range(method: str, option: Option, *, whole: bool) -> tuple[float, float] | None:
    """The least and the largest number that are plain for a parameter; None if none is.

    Parameters
    ----------
    method, option
        The parameter and whose it is.
    whole
        Whether whole numbers are meant, or others.
    """
    if option.name == _COUNT_OR_SHARE:
        return (1, _MANY) if whole else (_LITTLE, 1)
    return _OF_METHODS.get((method, option.name), _RANGES.get(option.name))


def _is_plain(method: str, option: Option, value: Any) -> bool:
    if value is None or isinstance(value, (bool, str)):
        plain = [option.default, *plain_choices(option)]
        return any(type(value) is type(known) and value == known for known in plain)
    if not isinstance(value, (int, float)):
        return False
    bounds = plain_range(method, option, whole=isinstance(value, int))
    return bounds is not None and bounds[0] <= value <= bounds[1]


def _members(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
