"""What the conventions of the measures decide, in words.

The same table as in `mlfs_dask.evaluate.metrics`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_PRECISION: Final = ("precision_example", "precision_micro", "precision_macro")
_RECALL: Final = ("recall_example", "recall_micro", "recall_macro")
_F1: Final = ("f1_example", "f1_micro", "f1_macro")
_MACRO: Final = ("precision_macro", "recall_macro", "f1_macro")
_MICRO: Final = ("precision_micro", "recall_micro", "f1_micro")
_ORDER: Final = ("default", "mulan", "zhang", "sklearn")
_OUT: Final = "left out"

# Measures concerned; the case; what counts under default, mulan, zhang, sklearn.
CASES: Final[tuple[tuple[tuple[str, ...], str, tuple[str, str, str, str]], ...]] = (
    (("one_error",), "one_error, Y empty", (_OUT, "1", _OUT, _OUT)),
    (("one_error",), "one_error, Y all labels", ("0", "0", _OUT, "0")),
    (("coverage",), "coverage, Y empty", ("0", "0", "-1", "0")),
    (("coverage",), "coverage, others", ("rank - 1", "rank - 1", "rank - 1", "rank")),
    (("ranking_loss",), "ranking_loss, Y empty", (_OUT, "0", _OUT, "0")),
    (("ranking_loss",), "ranking_loss, Y all labels", ("0", "0", _OUT, "0")),
    (
        ("ranking_loss",),
        "ranking_loss, pair of equal scores",
        ("wrong", "by rank", "wrong", "wrong"),
    ),
    (("average_precision",), "average_precision, Y empty", (_OUT, _OUT, _OUT, "1")),
    (("average_precision",), "average_precision, Y all labels", ("1", "1", _OUT, "1")),
    (
        ("accuracy", *_PRECISION, *_RECALL, *_F1),
        "accuracy, P, R, F1: Y and Z empty",
        ("1", "1", "1", "0"),
    ),
    (_PRECISION, "precision, only Z empty", ("0", "0", "0", "0")),
    (_RECALL, "recall, only Y empty", ("0", "0", "0", "0")),
    (_MACRO, "macro: label never true, predicted", ("1", "1", "1", "0")),
    (_MICRO, "micro: nothing true or predicted", ("1", "1", "1", "0")),
    (("auc_macro",), "auc_macro, label with one class", (_OUT, _OUT, _OUT, _OUT)),
)


def special_cases(conventions: str, metrics: Sequence[str]) -> list[tuple[str, str]]:
    """Special cases that concern these measures, and what counts in them.

    Parameters
    ----------
    conventions
        Name of the conventions.
    metrics
        Names of the measures.

    Examples
    --------
    >>> special_cases("default", ["average_precision"])
    [('average precision, Y empty', 'left out'), ('average precision, Y all labels', '1')]
    """
    if conventions not in _ORDER:
        return []
    column = _ORDER.index(conventions)
    return [
        (case.replace("_", " "), values[column])
        for measures, case, values in CASES
        if set(measures) & set(metrics)
    ]
