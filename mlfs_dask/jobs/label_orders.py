"""``order = "auto"``: which problems a per-problem selector ranks features for, by who judges it.

Classifiers with a model for each label take rankings for labels, order 1. Those with models of
pairs of labels take rankings for pairs, order 2, and for their models of single labels rankings of
order 1. Where a job has one of these, an entry becomes two, " [order 1]" and " [order 2]"; else
``"auto"`` is order 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from mlfs_dask.errors import PluginError
from mlfs_dask.jobs.declared import declared
from mlfs_dask.jobs.sweep import Entry

_AUTO: Final = "auto"


def expand_orders(raw: dict[str, Any]) -> None:
    """Put two entries in place of a selector whose order the job's classifiers leave open.

    Parameters
    ----------
    raw
        The whole job file after `mlfs_dask.jobs.sweep.expand_sweep`; changed in place.
    """
    selects, judges = raw.get("select"), _entries(raw.get("evaluate"))
    if not isinstance(selects, list) or not any(map(_takes_pairs, judges)):
        return
    expanded: list[Any] = []
    for entry in selects:
        if isinstance(entry, Entry) and _is_open(entry):
            for order in (1, 2):
                point = replace(entry, raw={**entry.raw, "order": order}, order=order)
                expanded.append(point)
        else:
            expanded.append(entry)
    raw["select"] = expanded


def paired_labels(clean: dict[str, Any], entries: Sequence[Any]) -> dict[str, Any] | None:
    """Which selections belong together, and which classifiers take them; None if none do.

    Parameters
    ----------
    clean
        A job without problems, as plain values.
    entries
        Of its selectors, as expanded.

    Returns
    -------
    dict or None
        Fields of `mlfs_dask.jobs.spec.Pairs`.
    """
    labels = {order: [] for order in (1, 2)}  # type: dict[int, list[str]]
    for select, entry in zip(clean.get("select", []), entries, strict=True):
        if entry.order is not None:
            labels[entry.order].append(select["label"])
    if not labels[2]:
        return None
    judges = clean["evaluate"]["classifier"]
    return {
        "selectors": dict(zip(labels[2], labels[1], strict=True)),
        "classifiers": tuple(j["label"] for j in judges if _takes_pairs(Entry(j, ""))),
    }


def _entries(evaluate: Any) -> list[Entry]:
    found = evaluate.get("classifier") if isinstance(evaluate, dict) else None
    return [e for e in found if isinstance(e, Entry)] if isinstance(found, list) else []


def _takes_pairs(entry: Entry) -> bool:
    try:
        return declared("classifiers", entry.raw["method"]).takes_pairs
    except (PluginError, KeyError, TypeError):  # told when the entry is read
        return False


def _is_open(entry: Entry) -> bool:
    try:
        options = declared("selectors", entry.raw["method"]).options
    except (PluginError, KeyError, TypeError):
        return False
    own = options.get("order")
    return own is not None and entry.raw.get("order", own.default) == _AUTO
