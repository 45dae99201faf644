"""The table of measures that jobs, reports and ``mlfs methods metrics`` read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from mlfs_dask._typing import Conventions, FloatArray
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.metrics import by_label, example, ranking
from mlfs_dask.evaluate.metrics.comparison import Comparison, check_conventions, compare
from mlfs_dask.evaluate.metrics.score import Measure, Score

LabelMeasure: TypeAlias = Callable[[Comparison, Conventions], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One measure: what to call, how to read it, what it needs.

    Parameters
    ----------
    function
        Public function (Y_true, scores or Y_pred, conventions, *, sample_weight) -> float.
    measure
        The same on checked input, with ``n_scored``.
    higher_is_better
        Direction.
    needs
        Second argument of the function: label ``"scores"`` or label ``"decisions"``.
    scored
        What ``n_scored`` counts.
    formula
        Definition in plain text: Y true set, Z predicted set, p rows, q labels.
    by_label
        Values per label, for measures that average labels.
    """

    function: Callable[..., float]
    measure: Measure
    higher_is_better: bool
    needs: Literal["scores", "decisions"]
    scored: Literal["rows", "labels"]
    formula: str
    by_label: LabelMeasure | None = None

    @property
    def name(self) -> str:
        """Name in job files and tables."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """First line of the function's documentation."""
        return (self.function.__doc__ or "").partition("\n")[0]


_ALL = (
    Metric(
        function=example.hamming_loss,
        measure=example.measure_hamming_loss,
        higher_is_better=False,
        needs="decisions",
        scored="rows",
        formula="mean over rows of |Y xor Z| / q",
    ),
    Metric(
        function=ranking.one_error,
        measure=ranking.measure_one_error,
        higher_is_better=False,
        needs="scores",
        scored="rows",
        formula="mean over rows of [label of rank 1 not in Y]",
    ),
    Metric(
        function=ranking.coverage,
        measure=ranking.measure_coverage,
        higher_is_better=False,
        needs="scores",
        scored="rows",
        formula="mean over rows of max over l in Y of rank(l) - 1",
    ),
    Metric(
        function=ranking.ranking_loss,
        measure=ranking.measure_ranking_loss,
        higher_is_better=False,
        needs="scores",
        scored="rows",
        formula="mean over rows of #{a in Y, b not in Y: score(a) <= score(b)} / (|Y| (q - |Y|))",
    ),
    Metric(
        function=ranking.average_precision,
        measure=ranking.measure_average_precision,
        higher_is_better=True,
        needs="scores",
        scored="rows",
        formula="mean over rows of mean over l in Y of #{m in Y: rank(m) <= rank(l)} / rank(l)",
    ),
    Metric(
        function=example.subset_accuracy,
        measure=example.measure_subset_accuracy,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="mean over rows of [Y = Z]",
    ),
    Metric(
        function=example.accuracy,
        measure=example.measure_accuracy,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="mean over rows of |Y and Z| / |Y or Z|",
    ),
    Metric(
        function=example.f1_example,
        measure=example.measure_f1_example,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="mean over rows of 2 |Y and Z| / (|Y| + |Z|)",
    ),
    Metric(
        function=by_label.f1_micro,
        measure=by_label.measure_f1_micro,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="2 TP / (2 TP + FP + FN), counts over all rows and labels",
    ),
    Metric(
        function=by_label.f1_macro,
        measure=by_label.measure_f1_macro,
        higher_is_better=True,
        needs="decisions",
        scored="labels",
        formula="mean over labels of 2 TP / (2 TP + FP + FN)",
        by_label=by_label.label_f1,
    ),
    Metric(
        function=example.precision_example,
        measure=example.measure_precision_example,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="mean over rows of |Y and Z| / |Z|",
    ),
    Metric(
        function=by_label.precision_micro,
        measure=by_label.measure_precision_micro,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="TP / (TP + FP), counts over all rows and labels",
    ),
    Metric(
        function=by_label.precision_macro,
        measure=by_label.measure_precision_macro,
        higher_is_better=True,
        needs="decisions",
        scored="labels",
        formula="mean over labels of TP / (TP + FP)",
        by_label=by_label.label_precision,
    ),
    Metric(
        function=example.recall_example,
        measure=example.measure_recall_example,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="mean over rows of |Y and Z| / |Y|",
    ),
    Metric(
        function=by_label.recall_micro,
        measure=by_label.measure_recall_micro,
        higher_is_better=True,
        needs="decisions",
        scored="rows",
        formula="TP / (TP + FN), counts over all rows and labels",
    ),
    Metric(
        function=by_label.recall_macro,
        measure=by_label.measure_recall_macro,
        higher_is_better=True,
        needs="decisions",
        scored="labels",
        formula="mean over labels of TP / (TP + FN)",
        by_label=by_label.label_recall,
    ),
    Metric(
        function=ranking.auc_macro,
        measure=ranking.measure_auc_macro,
        higher_is_better=True,
        needs="scores",
        scored="labels",
        formula="mean over labels of the area under the ROC curve, labels with one kind of row out",
        by_label=ranking.label_auc,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def score_all(
    names: Iterable[str],
    Y_true: Any,
    scores: Any = None,
    Y_pred: Any = None,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> dict[str, Score]:
    """Several measures at once; ranks and counts are computed once and shared.

    Parameters
    ----------
    names
        Names of :data:`METRICS`, kept in this order.
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels), optional
        Higher is more relevant; asked for if a measure needs scores.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels), optional
        1 predicted, 0 not; asked for if a measure needs decisions.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    dict of str to Score
        ``value`` and ``n_scored``; a measure with ``n_scored`` 0 is undefined, its value NaN.

    Raises
    ------
    InputError
        An unknown name, a missing array, impossible input.

    Examples
    --------
    >>> found = score_all(["coverage", "f1_macro"], [[1, 0]], [[0.7, 0.6]], [[1, 1]])
    >>> found["coverage"], found["f1_macro"]
    (Score(value=0.0, n_scored=1), Score(value=0.5, n_scored=2))
    """
    check_conventions(conventions)
    metrics = [get_metric(name) for name in names]
    _check_needs(metrics, scores, Y_pred)
    given = compare(Y_true, scores, Y_pred, sample_weight)
    return {metric.name: metric.measure(given, conventions) for metric in metrics}


def per_label(
    name: str,
    Y_true: Any,
    predictions: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> FloatArray:
    """Values per label of a measure that averages labels.

    Parameters
    ----------
    name
        ``"f1_macro"``, ``"precision_macro"``, ``"recall_macro"`` or ``"auc_macro"``.
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    predictions : array-like, shape (n_samples, n_labels)
        Scores for ``"auc_macro"``, else decisions.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        NaN where the measure is undefined for a label; the measure itself is the mean of the rest.

    Raises
    ------
    InputError
        A measure without values per label, impossible input.

    Examples
    --------
    >>> per_label("recall_macro", [[1, 1], [0, 1]], [[1, 0], [0, 1]]).tolist()
    [1.0, 0.5]
    """
    check_conventions(conventions)
    metric = get_metric(name)
    if metric.by_label is None:
        known = ", ".join(m.name for m in _ALL if m.by_label is not None)
        raise InputError(f"{name} has no values per label", hint=f"These have: {known}.")
    if metric.needs == "scores":
        given = compare(Y_true, scores=predictions, sample_weight=sample_weight)
    else:
        given = compare(Y_true, Y_pred=predictions, sample_weight=sample_weight)
    return metric.by_label(given, conventions)


def get_metric(name: str) -> Metric:
    """The measure of a name.

    Parameters
    ----------
    name
        Key of :data:`METRICS`.

    Raises
    ------
    InputError
        No measure has this name; the nearest known one is proposed.

    Examples
    --------
    >>> get_metric("one_error").higher_is_better
    False
    """
    if name in METRICS:
        return METRICS[name]
    near = difflib.get_close_matches(str(name), METRICS, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise InputError(
        f"no metric is named {name!r}", hint=f"{hint}Known names: {', '.join(METRICS)}."
    )


def _check_needs(metrics: list[Metric], scores: Any, decisions: Any) -> None:
    for need, argument, value in (
        ("scores", "scores", scores),
        ("decisions", "Y_pred", decisions),
    ):
        asking = [metric.name for metric in metrics if metric.needs == need]
        if asking and value is None:
            raise InputError(
                f"{', '.join(asking)} need{'s' * (len(asking) == 1)} {need}",
                hint=f"Pass the array `{argument}`.",
            )
