"""Comparing methods over several runs: their evaluations put together, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.metrics import get_metric
from mlfs_dask.jobs.compare import Names, compare_evaluation, compared_labels
from mlfs_dask.jobs.compare_spec import Compare, PointAt, default_post_hoc, post_hoc_problem
from mlfs_dask.jobs.compare_table import has_point, has_several_points
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE

_POINTS_SHOWN: Final = 12


def compare_runs(runs: Sequence[Run], chosen: dict[str, Any]) -> dict[str, Any]:
    """Tests over the data sets of one or several runs.

    Parameters
    ----------
    runs
        Runs with an evaluation, at least one.
    chosen
        Keys of ``[compare]``; the rest is taken from that table of the first run, or else from
        what there is: data sets are the rows if there are several, selectors the columns if there
        are several.

    Returns
    -------
    dict
        ``runs``, the resolved ``compare``, and ``comparisons`` as ``tests.json`` has them.

    Raises
    ------
    InputError
        Runs that do not go together; methods, measures or points that they do not have.
    """
    evaluation, names = merged_evaluation(runs)
    compare = _settings(runs[0], names, chosen)
    _check(compare, names, evaluation)
    return {
        "runs": [run.id for run in runs],
        "compare": msgspec.to_builtins(compare),
        "comparisons": compare_evaluation(evaluation, compare, names),
    }


def merged_evaluation(runs: Sequence[Run]) -> tuple[NDArray[np.void], Names]:
    """The evaluations of several runs as one, and what they hold.

    A data set may come in several runs, with other methods in each; then its rows, its folds and
    the seed must be the same in all.

    Parameters
    ----------
    runs
        At least one.

    Raises
    ------
    InputError
        A run without an evaluation; measures by different conventions; a data set that is not the
        same, or not split alike, in two runs; a cell that two runs have.
    """
    protocols: dict[str, tuple[Run, dict[str, Any]]] = {}
    cells: dict[tuple[str, str, str], Run] = {}
    for run in runs:
        if run.job["evaluate"] is None or not len(run.evaluation):
            raise InputError(
                f"{run.id} has no evaluation to compare",
                hint="A job needs an [evaluate] table, and its run has to be finished.",
            )
        _check_conventions(runs[0], run)
        for dataset in run.manifest["datasets"]:
            protocol = {
                "data digest": dataset.get("digest"),
                "split": run.job["evaluate"]["split"],
                "seed": run.job["seed"],
            }
            other, known = protocols.setdefault(dataset["name"], (run, protocol))
            differing = [key for key in protocol if protocol[key] != known[key]]
            if differing:
                raise InputError(
                    f"{dataset['name']} is in {other.id} and in {run.id} with another "
                    f"{', '.join(differing)}",
                    hint="Methods are compared on the same folds of the same data only.",
                )
        keys = np.unique(run.evaluation[["dataset", "selector", "classifier"]]).tolist()
        for key in keys:
            if key in cells:
                dataset, selector, classifier = key
                raise InputError(
                    f"{cells[key].id} and {run.id} both have {selector!r} judged by "
                    f"{classifier!r} on {dataset}",
                    hint="Leave out one of the runs, or give the methods other labels.",
                )
            cells[key] = run
    names = Names(
        datasets=list(protocols),
        selectors=_union([[s["label"] for s in run.job["select"]] for run in runs]),
        classifiers=_union(
            [[c["label"] for c in run.job["evaluate"]["classifier"]] for run in runs]
        ),
    )
    return np.concatenate([run.evaluation for run in runs]), names


def _check_conventions(first: Run, run: Run) -> None:
    ours, theirs = (each.job["evaluate"]["conventions"] for each in (first, run))
    if ours != theirs:
        raise InputError(
            f"{first.id} measures by the conventions {ours!r}, {run.id} by {theirs!r}",
            hint="Run one of the jobs again with the conventions of the other.",
        )


def _union(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(label for labels in lists for label in labels))


def _settings(first: Run, names: Names, chosen: dict[str, Any]) -> Compare:
    """The table of the first run with what was chosen, or what suits the runs."""
    base = first.job.get("compare")
    if base is None:
        base = {"of": "selectors" if len(names.selectors) > 1 else "classifiers"}
    elif chosen.get("of", base["of"]) != base["of"]:  # labels of the other methods say nothing here
        base = {key: base[key] for key in base if key not in ("labels", "control", "post_hoc")}
    settings = {**base, **chosen}
    # Other runs add data sets to those that the first job had in mind.
    added = "over" not in chosen and len(names.datasets) > len(first.manifest["datasets"])
    if added or settings.get("over") is None:
        settings["over"] = "datasets" if len(names.datasets) > 1 else "folds"
    if "post_hoc" not in chosen and {"test", "control"} & set(chosen):
        settings["post_hoc"] = None
    if settings.get("metrics") is None:
        settings["metrics"] = first.job["evaluate"]["metrics"]
    compare = msgspec.convert(settings, Compare)
    if compare.post_hoc is None:
        post_hoc = default_post_hoc(compare.test, compare.control)
        compare = msgspec.structs.replace(compare, post_hoc=post_hoc)
    return compare


def _check(compare: Compare, names: Names, evaluation: NDArray[np.void]) -> None:
    """Refuse what would only give empty tables."""
    wrong = post_hoc_problem(compare.test, compare.post_hoc or "", compare.control)
    if wrong is not None:
        raise InputError(f"{wrong[0].replace('_', '-')}: {wrong[1]}")
    known = names.classifiers if compare.of == "classifiers" else [*names.selectors, BASELINE]
    labels = compared_labels(compare, names)
    for label in labels:
        if label not in known:
            raise InputError(
                f"no {compare.of.removesuffix('s')} of the runs is labelled {label!r}",
                hint=f"There are: {', '.join(known)}.",
            )
    if len(labels) < 2:
        raise InputError(
            f"there are fewer than two {compare.of} to compare: {', '.join(labels) or 'none'}",
            hint="Other columns: --of selectors, --of classifiers. Other runs add to them.",
        )
    if compare.over == "datasets" and len(names.datasets) < 2:
        raise InputError(
            f"there is one data set, {names.datasets[0]}, where a test needs two rows or more",
            hint="Name more runs, or take the folds as rows: --over folds.",
        )
    for metric in compare.metrics or ():
        get_metric(metric)
        if not (evaluation["metric"] == metric).any():
            measured = dict.fromkeys(evaluation["metric"].tolist())
            raise InputError(
                f"the runs have no {metric}", hint=f"They measured: {', '.join(measured)}."
            )
    _check_point(compare, evaluation)


def _check_point(compare: Compare, evaluation: NDArray[np.void]) -> None:
    selected = evaluation[evaluation["selector"] != BASELINE]
    if compare.at is None and has_several_points(selected):
        raise InputError(
            "the curves have several points, and at which to compare is not said",
            hint="For example --at 20%, --at 10 (features) or --at best.",
        )
    if isinstance(compare.at, PointAt) and len(selected) and not has_point(selected, compare.at):
        counts = [f"{count:g}" for count in np.unique(selected["n_features"]).tolist()]
        more = f", ... ({len(counts)} in all)" if len(counts) > _POINTS_SHOWN else ""
        raise InputError(
            "no curve has a point at this number of features",
            hint=f"Numbers of features judged: {', '.join(counts[:_POINTS_SHOWN])}{more}.",
        )
