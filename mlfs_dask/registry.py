"""Names of selectors, classifiers and readers, and the objects behind them.

Built-ins are strings, so listing names imports nothing. Plug-ins join through entry points; a name
taken twice is an error that names both owners.
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, TypeAlias

from mlfs_dask.errors import PluginError

Kind: TypeAlias = Literal["selectors", "classifiers", "readers"]

_BUILT_IN: dict[Kind, dict[str, str]] = {
    "selectors": {
        "chi2": "mlfs_dask.selectors.baselines:ChiSquared",
        "laplacian": "mlfs_dask.selectors.laplacian:LaplacianScore",
        "mddm": "mlfs_dask.selectors.mddm:MDDM",
        "mdmr": "mlfs_dask.selectors.mdmr:MDMR",
        "mllap": "mlfs_dask.selectors.mllap:MLLAP",
        "mlnb": "mlfs_dask.selectors.mlnb:MLNB",
        "mlrelieff": "mlfs_dask.selectors.mlrelieff:MLReliefF",
        "mutual-info": "mlfs_dask.selectors.baselines:MutualInformation",
        "nrs-cost": "mlfs_dask.selectors.nrs_cost:NRSCost",
        "nrs-stream": "mlfs_dask.selectors.nrs_stream:NRSStream",
        "ofs-a3m": "mlfs_dask.selectors.ofs_a3m:OFSA3M",
        "pmu": "mlfs_dask.selectors.pmu:PMU",
        "relief-wrapper": "mlfs_dask.selectors.relief_wrapper:ReliefWrapper",
        "spec": "mlfs_dask.selectors.spec:SPEC",
        "spec-wrapper": "mlfs_dask.selectors.spec_wrapper:SPECWrapper",
        "variance": "mlfs_dask.selectors.baselines:Variance",
    },
    "classifiers": {
        "br": "mlfs_dask.classifiers.br:BinaryRelevance",
        "brknn": "mlfs_dask.classifiers.brknn:BRkNN",
        "clr": "mlfs_dask.classifiers.clr:CalibratedLabelRanking",
        "dmlknn": "mlfs_dask.classifiers.dmlknn:DMLkNN",
        "iblr": "mlfs_dask.classifiers.iblr:IBLR",
        "lp": "mlfs_dask.classifiers.lp:LabelPowerset",
        "mlknn": "mlfs_dask.classifiers.mlknn:MLkNN",
        "mlnb": "mlfs_dask.classifiers.mlnb:MLNBClassifier",
        "rakel": "mlfs_dask.classifiers.rakel:RAkEL",
    },
    "readers": {},
}


def built_in(kind: Kind) -> dict[str, str]:
    """Names that the package itself registers, with the ``module:object`` behind each.

    Parameters
    ----------
    kind
        ``"selectors"``, ``"classifiers"`` or ``"readers"``.
    """
    return dict(_BUILT_IN[kind])


@cache
def names(kind: Kind) -> dict[str, str]:
    """Registered names of a kind with the ``module:object`` behind each.

    Parameters
    ----------
    kind
        ``"selectors"``, ``"classifiers"`` or ``"readers"``.

    Raises
    ------
    PluginError
        Two distributions claim one name.
    """
    found = dict(_BUILT_IN[kind])
    owners = dict.fromkeys(found, "mlfs-dask")
    for point in entry_points(group=f"mlfs_dask.{kind}"):
        owner = point.dist.name if point.dist is not None else "an unnamed distribution"
        if point.name in found:
            raise PluginError(
                f"the name {point.name!r} of group mlfs_dask.{kind} is claimed by both "
                f"{owners[point.name]} and {owner}",
                hint="Uninstall one of the two, or ask its author for another name.",
                name=point.name,
            )
        found[point.name] = point.value
        owners[point.name] = owner
    return dict(sorted(found.items()))


def plugin_packages() -> list[str]:
    """Names of the installed distributions that register something of any kind.

    Examples
    --------
    >>> "mlfs-dask" in plugin_packages()  # what it has itself is built in
    False
    """
    points = [point for kind in _BUILT_IN for point in entry_points(group=f"mlfs_dask.{kind}")]
    return sorted({point.dist.name for point in points if point.dist is not None})


def load(kind: Kind, name: str) -> Any:
    """The class or function registered under a name.

    Parameters
    ----------
    kind
        Group of names.
    name
        Registered name, for example ``"spec"``.

    Raises
    ------
    PluginError
        No such name, or the plug-in behind it fails to import.

    Examples
    --------
    >>> load("selectors", "spec").__name__
    'SPEC'
    """
    known = names(kind)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise PluginError(
            f"no {kind.removesuffix('s')} is named {name!r}",
            hint=f"{hint}Known names: {', '.join(known)}. A plug-in has to be installed in every "
            "Python that is to know it, on all workers too.",
            name=name,
        )
    module, _, attribute = known[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"the {kind.removesuffix('s')} {name!r} ({known[name]}) cannot be loaded: {error}",
            hint="Reinstall the distribution that provides it.",
            name=name,
        ) from error


def get_selector(name: str, **params: Any) -> Any:
    """A new selector by its registered name.

    Parameters
    ----------
    name
        For example ``"spec"`` or ``"mllap"``.
    **params
        Parameters of its constructor.

    Raises
    ------
    PluginError
        No selector has this name.
    """
    return load("selectors", name)(**params)


def get_classifier(name: str, **params: Any) -> Any:
    """A new classifier by its registered name.

    Parameters
    ----------
    name
        For example ``"mlknn"``.
    **params
        Parameters of its constructor.

    Raises
    ------
    PluginError
        No classifier has this name.
    """
    return load("classifiers", name)(**params)
