"""Curves of classifiers by nearest neighbours: what they are made of, what they come to, ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray, Normalize
from mlfs_dask.classifiers.base import Outcome
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.wording import counted


class Rows(NamedTuple):
    """Training rows, and others to predict.

    Attributes
    ----------
    train : Source
    query : Source or None
        None: only the training rows' own neighbours are asked for.
    labels : ndarray of uint8, shape (n_train, n_labels)
        Of the training rows.
    k : int
        Neighbours that count.
    normalize : str
        How features are scaled.
    summary : ColumnSummary or None
        Of the training rows, if it is known.
    """

    train: Source
    query: Source | None
    labels: ByteArray
    k: int
    normalize: Normalize
    summary: ColumnSummary | None


@dataclass(frozen=True, eq=False)
class Searched:
    """Rows and the neighbours among them at the points of a curve.

    Attributes
    ----------
    rows : Rows
    search : NeighborSearch or SubspaceSearch
    order : ndarray of int64, shape (n_ordered,), or None
        Features in the order in which distances are summed; None: each label has its own.
    points : ndarray of int64, shape (n_points,)
        Numbers of leading features, ascending.
    """

    rows: Rows
    search: Any
    order: IntArray | None
    points: IntArray


class Answers(NamedTuple):
    """What a classifier says of other rows.

    Attributes
    ----------
    proba : ndarray of float64, shape (n_rows, n_points, n_labels)
    labels : ndarray of uint8, shape (n_rows, n_points, n_labels)
        Predicted by the classifier's own rule.
    tied : ndarray of float64, shape (n_rows, n_points)
        See ``LabelCounts``.
    """

    proba: FloatArray
    labels: ByteArray
    tied: FloatArray


class Curve(NamedTuple):
    """What a curve comes to.

    Attributes
    ----------
    proba : ndarray of float64, shape (n_rows, n_points, n_labels)
    labels : ndarray of uint8, shape (n_rows, n_points, n_labels)
    places : ndarray of int64, shape (n_counts,)
        Point of each count asked for.
    tied : dict
        Kind of rows -> share of tied ones at each count asked for.
    notes : list of str
    """

    proba: FloatArray
    labels: ByteArray
    places: IntArray
    tied: dict[str, FloatArray]
    notes: list[str]


def outcomes_of(curve: Curve, k: int, counts: Sequence[int]) -> Iterator[Outcome]:
    """A curve point by point; what to know of it is said once.

    Parameters
    ----------
    curve
        Scores, labels and ties.
    k
        Neighbours that count.
    counts
        Numbers of features asked for.

    Yields
    ------
    Outcome
        In the order of ``counts``.
    """
    said = (note_of_ties(k, counts, curve.tied), *curve.notes)
    for number, (count, place) in enumerate(zip(counts, curve.places, strict=True)):
        notes = said if number == 0 else ()
        yield Outcome(int(count), curve.proba[:, place], curve.labels[:, place], notes)


def curve_by_label(curves: Sequence[Curve]) -> Curve:
    """Label l of curve l, as one curve; ties are means over the labels.

    Parameters
    ----------
    curves
        One per label, with a place for each count asked for.
    """
    proba = [curve.proba[:, curve.places, label] for label, curve in enumerate(curves)]
    labels = [curve.labels[:, curve.places, label] for label, curve in enumerate(curves)]
    tied = {kind: np.mean([each.tied[kind] for each in curves], axis=0) for kind in curves[0].tied}
    notes = dict.fromkeys(note for curve in curves for note in curve.notes)
    places = np.arange(len(curves[0].places))
    return Curve(np.stack(proba, axis=2), np.stack(labels, axis=2), places, tied, list(notes))


def tied_share(shares: Sequence[float], n_train: int, k: int) -> float:
    """Share of training rows tied at the k-th neighbour; NaN if there is no further row.

    Parameters
    ----------
    shares
        In the features of all labels, or of each label.
    n_train
        Training rows.
    k
        Neighbours that count.
    """
    return float(np.mean(shares)) if n_train - 1 > k else float("nan")


def note_of_ties(k: int, counts: Sequence[int], tied: Mapping[str, FloatArray]) -> str:
    """How many rows are tied at the k-th neighbour, in words.

    Parameters
    ----------
    k
        Neighbours that count.
    counts
        Numbers of features.
    tied
        By the kind of rows, the share of tied ones at each of these numbers.

    Examples
    --------
    >>> note_of_ties(10, [5, 72], {"test": np.array([0.125, 0.0])})
    'tied at neighbour 10: at most 12.50 % of test rows (with 5 features)'
    >>> note_of_ties(10, [72], {"training": np.zeros(1), "test": np.zeros(1)})
    'tied at neighbour 10: no training row, no test row'
    """
    parts = []
    for kind, share in tied.items():
        most = int(np.argmax(share))
        if share[most] == 0:
            parts.append(f"no {kind} row")
            continue
        at_most = "at most " if len(share) > 1 else ""
        features = counted(counts[most], "feature")
        parts.append(f"{at_most}{100 * share[most]:.2f} % of {kind} rows (with {features})")
    return f"tied at neighbour {k}: {', '.join(parts)}"
