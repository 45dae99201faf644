"""The features that a run's selection on all rows would have you keep."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.jobs.results import Run
from mlfs_dask.kernels.shares import count_of_share
from mlfs_dask.storage.dataset import Dataset
from mlfs_dask.wording import counted

Top: TypeAlias = int | float | Literal["selected"]

_COUNT: Final = re.compile(r"[0-9]{1,18}")
_SHARE: Final = re.compile(r"[0-9]{0,18}\.[0-9]{0,18}(?:[eE]-?[0-9]{1,3})?")
_DIGITS_SHOWN: Final = 12


def parse_top(text: str) -> Top:
    """How many features, as typed: a count, a share, or the method's own subset.

    Parameters
    ----------
    text
        A whole number, a number with a decimal point, or ``selected``.

    Raises
    ------
    InputError
        None of these.

    Examples
    --------
    >>> parse_top("12"), parse_top("0.2"), parse_top("selected")
    (12, 0.2, 'selected')
    """
    if text == "selected":
        return "selected"
    if _COUNT.fullmatch(text):
        return int(text)
    if _SHARE.fullmatch(text) and text.strip(".") != "":
        return float(text)
    raise InputError(
        f"top = {text[:40]!r}: expected a number of features such as 12, a share such as 0.2, or "
        "'selected'",
        hint="'selected' is the subset that the method itself has chosen.",
    )


def dataset_in_run(run: Run, dataset: Dataset) -> str:
    """Name that a run has for a data set; the values decide, not the path.

    Parameters
    ----------
    run
        A run.
    dataset
        Opened store.

    Raises
    ------
    InputError
        The run was made on other data.
    """
    known: list[dict[str, Any]] = run.manifest["datasets"]
    same = [entry["name"] for entry in known if entry.get("digest") in dataset.chain]
    if same:
        return dataset.name if dataset.name in same else str(same[0])
    were = ", ".join(f"{e['name']} ({str(e.get('digest'))[:_DIGITS_SHOWN]}...)" for e in known)
    raise InputError(
        f"{run.id} was made on other data than {dataset.path}, whose digest is "
        f"{dataset.digest[:_DIGITS_SHOWN]}...; it was made on {were}",
        hint="Give the store that the run was made on, or run the job on this one.",
        digest=dataset.digest,
    )


def only_dataset(run: Run) -> dict[str, Any]:
    """Entry of the manifest for the one data set of a run.

    Parameters
    ----------
    run
        A run.

    Raises
    ------
    InputError
        The run has several.
    """
    known: list[dict[str, Any]] = run.manifest["datasets"]
    if len(known) == 1:
        return known[0]
    raise InputError(
        f"{run.id} has {counted(len(known), 'data set')}",
        hint=f"Say which store to take: {', '.join(entry['name'] for entry in known)}.",
    )


def chosen_features(run: Run, selector: str, dataset: str, top: Top) -> IntArray:
    """The best features of a selection on all rows.

    Parameters
    ----------
    run
        A run with results.
    selector
        Label of the selector.
    dataset
        Name of the data set in the run.
    top
        How many: a count, a share of the features (half up, at least 1), or ``"selected"``, the
        subset that the method itself has chosen.

    Returns
    -------
    ndarray of int64, shape (n_chosen,)
        Feature indices, ascending.

    Raises
    ------
    InputError
        No such selection, one with a subset per problem, or more features than it ranks.
    """
    selection = run.selection(selector, dataset)
    if selection["problems"] is not None:
        raise InputError(
            f"{selector!r} chose features for each of "
            f"{counted(len(selection['problems']), 'problem')} by itself: there is no one ranking "
            "of which to take the best",
            hint=f"mlfs_dask.open_run({run.id!r}).selection({selector!r}) has them all.",
        )
    order = selection["order"]
    if top == "selected":
        chosen = selection["support"]
        if not chosen:
            raise InputError(
                f"{selector!r} has chosen no feature of {dataset} by itself",
                hint=f"Give a number from 1 to {len(order)}, or a share.",
            )
    else:
        chosen = order[: _count(run, dataset, top, len(order))]
    return np.sort(np.array(chosen, dtype=np.int64))


def _count(run: Run, dataset: str, top: int | float, n_ranked: int) -> int:
    count = top
    if isinstance(top, float):
        count = count_of_share(top, len(run.datasets[dataset]["features"]))
    if not 1 <= count <= n_ranked:
        raise InputError(
            f"top = {top}: expected 1 to {n_ranked}, the number of features ranked on {dataset}",
            hint="Give a smaller number, or a share such as 0.2.",
        )
    return int(count)
