"""Comparing the methods of a run: the tests of ``[compare]``, as ``tests.json`` has them.

One test per measure and per classifier (or selector) that is the same in all columns; over folds
also one per data set. A table that cannot be tested is told with the reason, and stops nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate import stats
from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.jobs.compare_spec import Compare
from mlfs_dask.jobs.compare_table import Columns, Table, Values
from mlfs_dask.jobs.spec import BASELINE


@dataclass(frozen=True)
class Names:
    """What there is to compare, in the order of the job.

    Attributes
    ----------
    datasets, selectors, classifiers
        Names of data sets, labels of the methods.
    """

    datasets: Sequence[str]
    selectors: Sequence[str]
    classifiers: Sequence[str]


def compare_evaluation(
    evaluation: NDArray[np.void], compare: Compare, names: Names
) -> list[dict[str, Any]]:
    """All tests that a comparison asks for.

    Parameters
    ----------
    evaluation
        Rows of ``evaluation.csv``, as `mlfs_dask.jobs.results.Run.evaluation` has them.
    compare
        What to compare, resolved: its metrics and its post-hoc test are given.
    names
        What there is.

    Returns
    -------
    list of dict
        Plain values: ``metric``, ``higher_is_better``, ``dataset`` (over folds), ``selector`` or
        ``classifier`` (the one that all columns share), ``methods``, ``absent``, ``rows``,
        ``values``; then ``dropped``, ``ranks``, ``average_ranks``, ``test``, ``post_hoc``, and
        ``problem`` None; or ``problem`` says why there was no test.
    """
    found = []
    for metric in compare.metrics or ():
        higher = higher_is_better(metric)
        values = Values(evaluation, metric, higher_is_better=higher)
        for columns in _held(compare, names):
            for dataset, table in _tables(values, compare, names, columns):
                head = {
                    "metric": metric,
                    "higher_is_better": higher,
                    "dataset": dataset,
                    "selector": columns.held if columns.of == "classifiers" else None,
                    "classifier": columns.held if columns.of == "selectors" else None,
                }
                if table.methods:
                    found.append({**head, **tested(table, compare, higher_is_better=higher)})
    return found


def _held(compare: Compare, names: Names) -> Iterator[Columns]:
    labels = names.classifiers if compare.of == "selectors" else [*names.selectors, BASELINE]
    for label in labels:
        yield Columns(compare.of, label)


def _tables(
    values: Values, compare: Compare, names: Names, columns: Columns
) -> Iterator[tuple[str | None, Table]]:
    methods = compared_labels(compare, names)
    if compare.over == "datasets":
        yield None, values.over_datasets(names.datasets, methods, columns, compare.at)
        return
    for dataset in names.datasets:
        yield dataset, values.over_folds(dataset, methods, columns, compare.at)


def compared_labels(compare: Compare, names: Names) -> list[str]:
    """Labels of the columns: those asked for, else all; the baseline only if it is the control.

    Parameters
    ----------
    compare
        What to compare.
    names
        What there is.
    """
    if compare.labels is not None:
        labels = list(compare.labels)
    else:
        labels = list(names.selectors if compare.of == "selectors" else names.classifiers)
    if compare.control is not None and compare.control not in labels:
        labels.append(compare.control)
    return labels


def tested(table: Table, compare: Compare, *, higher_is_better: bool) -> dict[str, Any]:
    """A table with its test and post-hoc test as plain values.

    Parameters
    ----------
    table
        Values, NaN where a cell is missing.
    compare
        Which tests.
    higher_is_better
        Direction of the values.
    """
    document: dict[str, Any] = {
        "methods": list(table.methods),
        "absent": list(table.absent),
        "rows": list(table.rows),
        "values": [[None if math.isnan(v) else v for v in row] for row in table.values.tolist()],
        "dropped": [],
        "ranks": None,
        "average_ranks": None,
        "test": None,
        "post_hoc": None,
        "problem": None,
    }
    try:
        ranking = stats.rank_table(
            table.values,
            higher_is_better=higher_is_better,
            names=table.methods,
            rows=table.rows,
            missing=compare.missing,
        )
        outcome = _friedman if compare.test == "friedman" else _wilcoxon
        test, post_hoc = outcome(ranking, compare)
    except InputError as error:
        return {**document, "problem": error.message}
    return {
        **document,
        "dropped": list(ranking.dropped),
        "ranks": ranking.ranks.tolist(),
        "average_ranks": ranking.average_ranks.tolist(),
        "test": test,
        "post_hoc": post_hoc,
    }


def _friedman(ranking: stats.RankTable, compare: Compare) -> tuple[dict[str, Any], dict[str, Any]]:
    found = stats.friedman(ranking, alpha=compare.alpha)
    test = {
        "name": "friedman",
        "alpha": found.alpha,
        "rejects": found.rejects,
        "n_rows": ranking.n_rows,
        "tie_factor": found.tie_factor,
        "chi_square": found.chi_square,
        "chi_square_df": found.chi_square_df,
        "chi_square_p_value": found.chi_square_p_value,
        "chi_square_critical": found.chi_square_critical,
        "f_statistic": found.f_statistic if math.isfinite(found.f_statistic) else None,
        "f_df": list(found.f_df),
        "f_p_value": found.f_p_value,
        "f_critical": found.f_critical,
    }
    if compare.post_hoc == "bonferroni-dunn" and compare.control is not None:
        after = stats.bonferroni_dunn(ranking, compare.control, alpha=compare.alpha)
    elif compare.post_hoc == "holm":
        after = stats.holm(ranking, control=compare.control, alpha=compare.alpha)
    else:
        after = stats.nemenyi(ranking, alpha=compare.alpha)
    post_hoc = {
        "name": after.test,
        "control": after.control,
        "quantile": after.quantile,
        "critical_difference": after.critical_difference,
        "pairs": [_pair(pair) for pair in after.pairs],
        "groups": [list(group) for group in after.groups],
    }
    return test, post_hoc


def _wilcoxon(ranking: stats.RankTable, compare: Compare) -> tuple[dict[str, Any], dict[str, Any]]:
    found = stats.wilcoxon(ranking, control=compare.control, alpha=compare.alpha)
    test = {
        "name": "wilcoxon",
        "alpha": found.alpha,
        "rejects": any(pair.significant for pair in found.pairs),
        "n_rows": ranking.n_rows,
        "zeros": found.zeros,
    }
    post_hoc = {
        "name": "holm",
        "control": found.control,
        "quantile": None,
        "critical_difference": None,
        "pairs": [_pair(pair) for pair in found.pairs],
        "groups": [list(group) for group in found.groups],
    }
    return test, post_hoc


def _pair(pair: stats.RankPair | stats.SignedRankPair) -> dict[str, Any]:
    return {**asdict(pair), "better": pair.better}
