"""Base learners by name: one file per learner, loaded when it is used.

A new one is a subclass of `BaseLearner` in a file of its own and a line in the table below.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from mlfs_dask._typing import Conventions
from mlfs_dask.classifiers.base_learners.learner import BaseLearner
from mlfs_dask.errors import InputError

BaseName: TypeAlias = Literal["c45", "knn", "logistic", "naive-bayes", "svm-rbf", "tree"]

_LEARNERS: Final[dict[str, str]] = {
    "c45": "c45:C45",
    "knn": "knn:NearestRows",
    "logistic": "logistic:Logistic",
    "naive-bayes": "naive_bayes:NaiveBayes",
    "svm-rbf": "svm_rbf:SVMRbf",
    "tree": "tree:Tree",
}


def base_names() -> tuple[str, ...]:
    """Names that the key ``base`` takes.

    Examples
    --------
    >>> "logistic" in base_names()
    True
    """
    return tuple(sorted(_LEARNERS))


def make_learner(
    base: Any, params: Mapping[str, Any] | None = None, conventions: Conventions = "default"
) -> BaseLearner:
    """A base learner with its parameters.

    Parameters
    ----------
    base : str or scikit-learn classifier
        One of `base_names`, or an estimator; each model learns with a clone of it.
    params
        Parameters of a named learner.
    conventions
        ``"zhang"``: ``knn`` does not scale unless it is told to.

    Raises
    ------
    InputError
        No such learner, or parameters it doesn't have or cannot take.

    Examples
    --------
    >>> print(make_learner("knn", {"n_neighbors": 3}))
    knn (n_neighbors 3, normalize minmax)
    """
    if params is not None and not isinstance(params, Mapping):
        raise InputError(f"base_params = {params!r}: expected a mapping of names to values")
    given = dict(params or {})
    if not isinstance(base, str):
        from mlfs_dask.classifiers.base_learners.estimator import AnyEstimator

        if given:
            raise InputError(
                f"base_params = {given!r}: expected none with an estimator, which has its own"
            )
        return AnyEstimator.checked(base)
    if base not in _LEARNERS:
        near = difflib.get_close_matches(base, _LEARNERS, n=1)
        raise InputError(
            f"base = {base!r}: expected one of {', '.join(map(repr, base_names()))}",
            hint=f"Did you mean {near[0]!r}?" if near else None,
        )
    module, _, attribute = _LEARNERS[base].partition(":")
    learner = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    if base == "knn" and conventions == "zhang":
        given.setdefault("normalize", "none")
    return _with_params(learner, base, given)


def _with_params(learner: type[BaseLearner], base: str, given: dict[str, Any]) -> BaseLearner:
    known = [field.name for field in fields(learner)]
    for name in given:
        if name not in known:
            raise InputError(
                f"base_params = {given!r}: {base} has no parameter {name!r}; expected some of "
                f"{', '.join(known)}"
            )
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
    try:
        made = msgspec.convert(plain, learner)
        made.check()
    except (msgspec.ValidationError, InputError) as error:
        raise InputError(f"base_params = {given!r}: {error}") from None
    return made
