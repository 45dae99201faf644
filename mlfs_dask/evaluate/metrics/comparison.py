"""Checked input of the measures, and the counts and ranks that they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, Conventions, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import counted


@dataclass(frozen=True)
class Counts:
    """Relevant labels, predicted labels and their overlap, per row or per label.

    Each is an ndarray of float64; without weights the values are whole numbers.
    """

    hits: FloatArray
    relevant: FloatArray
    predicted: FloatArray

    def total(self) -> Counts:
        """Sums over all rows or labels, as arrays of shape (1,)."""
        return Counts(
            np.atleast_1d(self.hits.sum()),
            np.atleast_1d(self.relevant.sum()),
            np.atleast_1d(self.predicted.sum()),
        )


@dataclass(frozen=True)
class RowRanks:
    """Facts about each row, shape (n_samples,), that the ranking measures are made of.

    Ranks start at 1. Strict ranks give the better rank to the higher index of a tie, tied ranks
    give all labels of a tie its worst rank; both depths are 0 for a row without labels.
    """

    n_labels: int
    n_relevant: IntArray
    depth: IntArray
    depth_tied: IntArray
    reversed_by_score: IntArray
    reversed_by_rank: IntArray
    top_is_relevant: FloatArray
    precision_sum: FloatArray
    precision_sum_tied: FloatArray

    @property
    def empty(self) -> BoolArray:
        """Rows without any relevant label."""
        return np.equal(self.n_relevant, 0)

    @property
    def full(self) -> BoolArray:
        """Rows of which every label is relevant."""
        return np.equal(self.n_relevant, self.n_labels)


@dataclass(frozen=True)
class Comparison:
    """Truth beside predictions, checked; what several measures need is computed once.

    Parameters
    ----------
    truth : ndarray of uint8, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : ndarray of float64, shape (n_samples, n_labels), or None
        Higher is more relevant.
    decisions : ndarray of uint8, shape (n_samples, n_labels), or None
        1 predicted, 0 not.
    weight : ndarray of float64, shape (n_samples,), or None
        Weight of each row; None weighs all alike.
    """

    truth: ByteArray
    scores: FloatArray | None = None
    decisions: ByteArray | None = None
    weight: FloatArray | None = None

    @property
    def given_scores(self) -> FloatArray:
        """The scores, for measures that need them."""
        if self.scores is None:
            raise InputError("this measure needs scores", hint="Pass the array `scores`.")
        return self.scores

    @property
    def given_decisions(self) -> ByteArray:
        """The decisions, for measures that need them."""
        if self.decisions is None:
            raise InputError("this measure needs decisions", hint="Pass the array `Y_pred`.")
        return self.decisions

    @cached_property
    def n_weighted(self) -> int:
        """Number of rows with a weight above 0."""
        return len(self.truth) if self.weight is None else int(np.count_nonzero(self.weight))

    @cached_property
    def ranks(self) -> RowRanks:
        """Ranks of the relevant labels, one pass over the scores."""
        from mlfs_dask.kernels.metrics import row_facts  # metrics have names without kernels

        counts, gains = row_facts(self.truth, self.given_scores)
        return RowRanks(self.truth.shape[1], *counts.T, *gains.T)

    @cached_property
    def rows(self) -> Counts:
        """Counts per row, not weighted: arrays of shape (n_samples,)."""
        parts = self._cells()
        return Counts(*(part.sum(axis=1, dtype=np.int64).astype(np.float64) for part in parts))

    @cached_property
    def labels(self) -> Counts:
        """Counts per label, rows weighted: arrays of shape (n_labels,)."""
        parts = self._cells()
        if self.weight is None:
            return Counts(*(part.sum(axis=0, dtype=np.int64).astype(np.float64) for part in parts))
        weight = self.weight[:, np.newaxis]
        return Counts(*((part * weight).sum(axis=0) for part in parts))

    def _cells(self) -> tuple[ByteArray, ByteArray, ByteArray]:
        decisions = self.given_decisions
        return self.truth & decisions, self.truth, decisions


def compare(
    Y_true: Any, scores: Any = None, Y_pred: Any = None, sample_weight: Any = None
) -> Comparison:
    """Check the input of a measure.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1 (also False or True).
    scores : array-like, shape (n_samples, n_labels), optional
        Real numbers, infinities allowed.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels), optional
        0 or 1.
    sample_weight : array-like, shape (n_samples,), optional
        Finite, not negative, not all 0.

    Raises
    ------
    InputError
        Ragged or empty input, shapes that differ, an entry that is not 0 or 1, a NaN score, an
        impossible weight; the message names the row, counted from 0.
    """
    truth = _binary(Y_true, "Y_true")
    parts: dict[str, Any] = {"scores": None, "Y_pred": None}
    if scores is not None:
        parts["scores"] = _real(scores)
    if Y_pred is not None:
        parts["Y_pred"] = _binary(Y_pred, "Y_pred")
    for name, part in parts.items():
        if part is not None and part.shape != truth.shape:
            raise InputError(
                f"Y_true has shape {truth.shape}, {name} has shape {part.shape}",
                hint="Both hold one row per sample and one column per label.",
            )
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))
    return Comparison(truth, parts["scores"], parts["Y_pred"], weight)


def check_conventions(conventions: str) -> None:
    """Refuse an unknown set of conventions.

    Parameters
    ----------
    conventions
        One of ``"default"``, ``"mulan"``, ``"zhang"``, ``"sklearn"``.

    Raises
    ------
    InputError
        Anything else.
    """
    known = get_args(Conventions)
    if conventions not in known:
        raise InputError(
            f"conventions = {conventions!r} is unknown", hint=f"Choose one of {', '.join(known)}."
        )


def _binary(values: Any, name: str) -> ByteArray:
    array = _matrix(values, name)
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    wrong = array > 1 if array.dtype == np.uint8 else ~((array == 0) | (array == 1))
    if wrong.any():
        row, label = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{name} must hold 0 and 1 only; row {row}, label {label} (counted from 0) is "
            f"{array[row, label]!s}",
            row=row,
            label=label,
        )
    return array.astype(np.uint8, copy=False)


def _real(values: Any) -> FloatArray:
    array = _matrix(values, "scores")
    if array.dtype.kind not in "buif":
        raise InputError(f"scores must be real numbers, not of dtype {array.dtype}")
    array = array.astype(np.float64, copy=False)
    missing = np.isnan(array)
    if missing.any():
        row, label = np.argwhere(missing)[0].tolist()
        raise InputError(
            f"scores must not be NaN; row {row}, label {label} (counted from 0) is, and "
            f"{np.count_nonzero(missing) - 1} more",
            hint="A label without a score has no rank: give it the lowest score.",
            row=row,
            label=label,
        )
    return array


def _matrix(values: Any, name: str) -> AnyArray:
    dense = values.toarray() if hasattr(values, "toarray") else values
    try:
        array: AnyArray = np.asarray(dense)
    except ValueError as error:
        raise _ragged(dense, name) from error
    if array.ndim != 2:
        raise InputError(
            f"{name} must have two dimensions (samples, labels), not {array.ndim}",
            hint="For a single label pass a column of shape (n_samples, 1).",
        )
    if array.size == 0:
        raise InputError(f"{name} is empty: shape {array.shape}", hint="Nothing can be measured.")
    return array


def _ragged(rows: Iterable[Any], name: str) -> InputError:
    lengths = [len(row) if hasattr(row, "__len__") else None for row in rows]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
    return InputError(
        f"{name} is ragged: row {odd} (counted from 0) has {_entries(lengths[odd])}, row 0 has "
        f"{_entries(lengths[0])}",
        hint="Give every row one 0 or 1 per label, not a list of label numbers.",
        row=odd,
    )


def _entries(length: int | None) -> str:
    return "no length" if length is None else counted(length, "entry", "entries")


def _weights(values: Any, n_samples: int) -> FloatArray:
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight has shape {weight.shape}, expected one weight per row: ({n_samples},)"
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"sample_weight must be finite and not negative; row {row} is {weight[row]}", row=row
        )
    if not weight.any():
        raise InputError("sample_weight is 0 for every row", hint="Nothing can be measured.")
    return weight
