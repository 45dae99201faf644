"""Which rows train and which rows test.

A split kind only has to say the *test rows* of each fold; :func:`folds_from_tests` makes the folds.
All randomness comes from ``SeedSequence(seed, spawn_key=(0, repeat))``, never from a global
generator, so a fold depends on nothing but n, the number of folds, the seed and the repeat (and on
the labels or groups, where a kind looks at them: :mod:`mlfs_dask.evaluate.stratified`,
:mod:`mlfs_dask.evaluate.grouped`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import are, counted

# First number of the spawn key of every stream that draws folds; other uses have other numbers.
FOLD_STREAM = 0

TRAIN, TEST = 1, 2  # as stored in a store's array `split`; 0 is neither


@dataclass(frozen=True, eq=False)
class Fold:
    """One training and test pair.

    Parameters
    ----------
    repeat, fold
        Counted from 0.
    train, test : ndarray of int64
        Row numbers, ascending, without a row in common.
    """

    repeat: int
    fold: int
    train: IntArray
    test: IntArray


class ConstantLabel(NamedTuple):
    """A label that a training fold shows with one value only."""

    label: int
    repeat: int
    fold: int


def kfold(n_samples: int, folds: int, seed: int, repeat: int = 0) -> list[IntArray]:
    """Test rows of each fold: a seeded permutation of the rows cut into parts of equal size.

    Part f is ``sorted(array_split(permutation(n_samples), folds)[f])``, the permutation drawn by
    ``default_rng(SeedSequence(seed, spawn_key=(0, repeat)))``. Sizes differ by at most 1, larger
    parts first; every row is in exactly one part.

    Parameters
    ----------
    n_samples
        Number of rows.
    folds
        From 2 to ``n_samples`` (leave one out).
    seed
        Not negative.
    repeat
        Counted from 0; each repeat draws its own permutation.

    Returns
    -------
    list of ndarray of int64
        Ascending row numbers per fold.

    Raises
    ------
    InputError
        Fewer than two folds, more folds than rows, a negative seed or repeat.

    Examples
    --------
    >>> [rows.tolist() for rows in kfold(7, 3, seed=0)]
    [[0, 1, 5], [2, 6], [3, 4]]
    """
    check_folds(n_samples, folds)
    order = fold_generator(seed, repeat).permutation(n_samples).astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, folds)]


def kfold_repeats(n_samples: int, folds: int, seed: int, repeats: int = 1) -> list[Fold]:
    """Folds of all repeats of :func:`kfold`, by repeat, then fold.

    Parameters
    ----------
    n_samples, folds, seed
        As in :func:`kfold`.
    repeats
        At least 1.

    Raises
    ------
    InputError
        As :func:`kfold`, or no repeat asked for.

    Examples
    --------
    >>> [(f.repeat, f.fold, f.test.tolist()) for f in kfold_repeats(3, 3, seed=1)]
    [(0, 0, [1]), (0, 1, [2]), (0, 2, [0])]
    """
    if repeats < 1:
        raise InputError(f"repeats = {repeats}: at least one is needed", repeats=repeats)
    return [
        fold
        for repeat in range(repeats)
        for fold in folds_from_tests(n_samples, kfold(n_samples, folds, seed, repeat), repeat)
    ]


def folds_from_tests(n_samples: int, tests: Sequence[IntArray], repeat: int = 0) -> list[Fold]:
    """Folds that train on every row they do not test.

    Parameters
    ----------
    n_samples
        Number of rows.
    tests : sequence of ndarray of int64
        Test rows per fold, in any order.
    repeat
        Counted from 0.

    Raises
    ------
    InputError
        A fold without test rows or without training rows.

    Examples
    --------
    >>> import numpy as np
    >>> folds_from_tests(4, [np.array([3, 1])])[0].train.tolist()
    [0, 2]
    """
    folds = []
    for number, rows in enumerate(tests):
        is_test = np.zeros(n_samples, dtype=np.bool_)
        is_test[rows] = True
        folds.append(_fold(repeat, number, np.flatnonzero(~is_test), np.flatnonzero(is_test)))
    return folds


def holdout(split: Any) -> Fold:
    """The training and test rows that a data set ships.

    Parameters
    ----------
    split : array-like of int, shape (n_samples,)
        1 training, 2 test; rows marked 0 belong to neither and are not used.

    Returns
    -------
    Fold
        With repeat 0 and fold 0.

    Raises
    ------
    InputError
        No split in the data, or one without training or without test rows.

    Examples
    --------
    >>> holdout([1, 2, 1]).train.tolist()
    [0, 2]
    """
    marks = np.asarray(split)
    if marks.ndim != 1:
        raise InputError(f"split has shape {marks.shape}, expected one mark per row")
    if not np.isin(marks, (0, TRAIN, TEST)).all():
        row = int(np.argmin(np.isin(marks, (0, TRAIN, TEST))))
        raise InputError(
            f"split of row {row} (counted from 0) is {marks[row]}; known are 0 (neither), "
            f"{TRAIN} (training) and {TEST} (test)",
            row=row,
        )
    if not marks.any():
        raise InputError(
            'kind = "holdout" needs a split, and this data set ships none',
            hint='Ingest it as TRAIN --test TEST, or use kind = "kfold".',
        )
    return _fold(0, 0, np.flatnonzero(marks == TRAIN), np.flatnonzero(marks == TEST))


def constant_labels(Y: Any, folds: Iterable[Fold]) -> list[ConstantLabel]:
    """Labels that some training fold shows without a positive or without a negative row.

    No classifier can learn such a label there, and measures over it are degenerate.

    Parameters
    ----------
    Y : array-like of 0 and 1, shape (n_samples, n_labels)
        Labels of all rows.
    folds
        For example of :func:`kfold_repeats`.

    Returns
    -------
    list of ConstantLabel
        Triples (label, repeat, fold), in the order of the folds, then of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [0, 0], [0, 1], [1, 0]], dtype=np.uint8)
    >>> constant_labels(Y, [Fold(0, 0, train=np.array([0, 1, 3]), test=np.array([2]))])
    [ConstantLabel(label=1, repeat=0, fold=0)]
    """
    labels = np.asarray(Y)
    found = []
    for fold in folds:
        positives = labels[fold.train].sum(axis=0, dtype=np.int64)
        constant = (positives == 0) | (positives == len(fold.train))
        found += [
            ConstantLabel(label, fold.repeat, fold.fold)
            for label in np.flatnonzero(constant).tolist()
        ]
    return found


def fold_generator(seed: int, repeat: int) -> np.random.Generator:
    """Generator of the stream that draws the folds of one repeat.

    Parameters
    ----------
    seed
        Of the job.
    repeat
        Counted from 0.

    Raises
    ------
    InputError
        One of them is negative.
    """
    _check_not_negative("seed", seed)
    _check_not_negative("repeat", repeat)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(FOLD_STREAM, repeat)))


def check_folds(n_samples: int, folds: int) -> None:
    """Refuse a number of folds that cannot be.

    Parameters
    ----------
    n_samples
        Number of rows.
    folds
        Asked for.

    Raises
    ------
    InputError
        Fewer than two folds, more folds than rows.
    """
    if folds < 2:
        raise InputError(
            f"folds = {folds}: at least 2 are needed",
            hint='To train and test on a split that the data ship, use kind = "holdout".',
            folds=folds,
        )
    if folds > n_samples:
        raise InputError(
            f"folds = {folds}, but there {are(n_samples)} only {counted(n_samples, 'row')}",
            hint=f"At most {counted(n_samples, 'fold')} leave a row to test in each.",
            folds=folds,
        )


def _fold(repeat: int, number: int, train: IntArray, test: IntArray) -> Fold:
    for rows, role in ((train, "training"), (test, "test")):
        if len(rows) == 0:
            raise InputError(
                f"repeat {repeat}, fold {number} (counted from 0) has no {role} rows",
                repeat=repeat,
                fold=number,
            )
    return Fold(repeat, number, train.astype(np.int64), test.astype(np.int64))


def _check_not_negative(name: str, value: int) -> None:
    if value < 0:
        raise InputError(f"{name} = {value}: it must not be negative", argument=name, value=value)
