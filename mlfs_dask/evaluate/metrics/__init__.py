"""Measures of multi-label predictions, with every special case decided.

Each measure is a function ``(Y_true, scores or Y_pred, conventions="default", *,
sample_weight=None) -> float``; :func:`score_all` computes many at once and also says how many rows
or labels were in each mean (``n_scored``). A measure with nothing left to average is NaN with
``n_scored`` 0, never an unmarked NaN. Rows are weighted by ``sample_weight``, degenerate rows too;
rows of weight 0 are not scored.

**Ranks.** Rank 1 is the label of highest score. Ranks are strict: of equal scores the *higher*
label index gets the better rank, as in Mulan and Zhang's packages. ``sklearn`` gives all labels of
a tie the worst rank of the tie, in coverage and average precision.

**Conventions.** Let Y be the true and Z the predicted label set of a row:

==================================  =========  =========  =========  =========
case                                default    mulan      zhang      sklearn
==================================  =========  =========  =========  =========
one_error, Y empty                  left out   1          left out   left out
one_error, Y all labels             0          0          left out   0
coverage, Y empty                   0          0          -1         0
coverage, others                    rank - 1   rank - 1   rank - 1   rank
ranking_loss, Y empty               left out   0          left out   0
ranking_loss, Y all labels          0          0          left out   0
ranking_loss, pair of equal scores  wrong      by rank    wrong      wrong
average_precision, Y empty          left out   left out   left out   1
average_precision, Y all labels     1          1          left out   1
accuracy, P, R, F1: Y and Z empty   1          1          1          0
precision, only Z empty             0          0          0          0
recall, only Y empty                0          0          0          0
macro: label never true, predicted  1          1          1          0
micro: nothing true or predicted    1          1          1          0
auc_macro, label with one class     left out   left out   left out   left out
==================================  =========  =========  =========  =========

``n_scored`` counts the rows in the mean for the measures over rows, all rows for the micro
measures, the labels in the mean for the macro measures. "rank" is the deepest relevant label's;
"by rank" counts a tie as wrong if the irrelevant label has the higher index.

What the names stand for, and where we differ from the programs on purpose:

``default``
    Zhang's and Mulan's common ground; rows with all labels as in Mulan.
``mulan``
    Mulan 1.5's evaluation measures. Its macro AUC is NaN once one label is constant; ours leaves
    that label out.
``zhang``
    Zhang's MATLAB packages, on strict ranks throughout (their one-error forgives a tie at the top
    if any label of the tie is relevant). They define no accuracy, precision, recall or F1: those
    are as in ``default``.
``sklearn``
    ``coverage_error``, ``label_ranking_loss``, ``label_ranking_average_precision_score``,
    ``jaccard_score``, ``precision_score``, ``recall_score``, ``f1_score`` with its default
    ``zero_division``; ``roc_auc_score`` where that is defined. It has no one-error: as ``default``.

A label is constant in a fold more often than one thinks; :func:`mlfs_dask.evaluate.splits.
constant_labels` lists them before anything is computed.

Examples
--------
>>> from mlfs_dask import metrics
>>> metrics.coverage([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1.0], [1.0, 0.2, 0.1]])
1.5
>>> metrics.score_all(["one_error"], [[0, 0], [0, 1]], [[0.1, 0.3], [0.1, 0.3]])
{'one_error': Score(value=0.0, n_scored=1)}
"""

from __future__ import annotations

from mlfs_dask.evaluate.metrics.by_label import (
    f1_macro,
    f1_micro,
    precision_macro,
    precision_micro,
    recall_macro,
    recall_micro,
)
from mlfs_dask.evaluate.metrics.example import (
    accuracy,
    f1_example,
    hamming_loss,
    precision_example,
    recall_example,
    subset_accuracy,
)
from mlfs_dask.evaluate.metrics.ranking import (
    auc_macro,
    average_precision,
    coverage,
    one_error,
    ranking_loss,
)
from mlfs_dask.evaluate.metrics.score import Score
from mlfs_dask.evaluate.metrics.table import METRICS, Metric, get_metric, per_label, score_all

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "accuracy",
    "auc_macro",
    "average_precision",
    "coverage",
    "f1_example",
    "f1_macro",
    "f1_micro",
    "get_metric",
    "hamming_loss",
    "one_error",
    "per_label",
    "precision_example",
    "precision_macro",
    "precision_micro",
    "ranking_loss",
    "recall_example",
    "recall_macro",
    "recall_micro",
    "score_all",
    "subset_accuracy",
]
