"""What the ranking measures and the AUC need, from one pass over the scores.

No row is sorted whole: only its k relevant labels are, and each irrelevant label finds its place
among them by bisection. A row of q labels costs k log k + q log k, and k is small where q is large.

Two rank rules are served at once. *Strict* ranks break ties by index, the higher label index gets
the better rank; *tied* ranks give every label of a tie the worst rank of the tie.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def _place_irrelevant(
    truth: ByteArray,
    scores: FloatArray,
    labels: IntArray,
    values: FloatArray,
    strict: IntArray,
    tied: IntArray,
) -> tuple[int, int]:
    """Count, per relevant label, the irrelevant ones that stop just above it.

    ``strict[j]`` (``tied[j]``) becomes the number of irrelevant labels that rank above exactly the
    j worst relevant labels. Returns the number of reversed pairs by score and by strict rank.
    """
    by_score = 0
    by_rank = 0
    for b in range(len(truth)):
        if truth[b] != 0:
            continue
        below = np.searchsorted(values, scores[b], side="left")
        upto = np.searchsorted(values, scores[b], side="right")
        # Within a tie the higher index ranks better: only relevant labels before b are below it.
        beaten = below + np.searchsorted(labels[below:upto], b) if below < upto else below
        strict[beaten] += 1
        tied[upto] += 1
        by_score += upto
        by_rank += beaten
    return by_score, by_rank


@jit
def _sort_relevant(truth: ByteArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """Relevant labels and their scores, worst strict rank first."""
    labels = np.flatnonzero(truth)
    values = scores[labels]
    # A merge sort is stable, so equal scores keep ascending label index: worst rank first.
    order = np.argsort(values, kind="mergesort")
    return labels[order], values[order]


@jit
def rank_rows(truth: ByteArray, scores: FloatArray, counts: IntArray, gains: FloatArray) -> None:
    """Fill the facts about each row that the five ranking measures are made of.

    Parameters
    ----------
    truth : ndarray of uint8, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : ndarray of float64, shape (n_samples, n_labels)
        Higher is more relevant; no NaN.
    counts : ndarray of int64, shape (n_samples, 5), zeros, written
        Per row: relevant labels; worst strict rank of a relevant label; its worst tied rank;
        pairs (relevant a, irrelevant b) with score a <= score b; pairs with strict rank a > rank b.
        Ranks start at 1 and are 0 for a row without relevant labels.
    gains : ndarray of float64, shape (n_samples, 3), zeros, written
        Per row: 1.0 if the label of strict rank 1 is relevant; the sum over relevant labels l of
        (relevant labels ranked not below l) / rank(l) by strict ranks; the same by tied ranks.
    """
    n_samples, n_labels = truth.shape
    for i in range(n_samples):
        labels, values = _sort_relevant(truth[i], scores[i])
        k = len(labels)
        if k == 0:
            continue
        strict = np.zeros(k + 1, np.int64)
        tied = np.zeros(k + 1, np.int64)
        by_score, by_rank = _place_irrelevant(truth[i], scores[i], labels, values, strict, tied)
        above = n_labels - k
        above_or_equal = n_labels - k
        first = 0
        for j in range(k):
            if values[j] != values[first]:
                first = j
            above -= strict[j]
            above_or_equal -= tied[j]
            gains[i, 1] += (k - j) / (k - j + above)
            gains[i, 2] += (k - first) / (k - first + above_or_equal)
            if j == 0:
                counts[i, 1] = k + above
                counts[i, 2] = k + above_or_equal
        counts[i, 0] = k
        counts[i, 3] = by_score
        counts[i, 4] = by_rank
        gains[i, 0] = 1.0 if above == 0 else 0.0


@jit
def label_auc(truth: ByteArray, scores: FloatArray, weights: FloatArray, auc: FloatArray) -> None:
    """Area under the ROC curve of each label: the share of pairs in the right order, ties half.

    Parameters
    ----------
    truth : ndarray of uint8, shape (n_labels, n_samples)
        1 relevant, 0 not; labels are rows here, so that each is read in one sweep.
    scores : ndarray of float64, shape (n_labels, n_samples)
        No NaN.
    weights : ndarray of float64, shape (n_samples,)
        Weights of the samples; with weights 1 all sums are exact.
    auc : ndarray of float64, shape (n_labels,), written
        NaN where the positive or the negative samples have no weight.
    """
    n_labels, n_samples = truth.shape
    for label in range(n_labels):
        samples, values = _sort_relevant(truth[label], scores[label])
        k = len(samples)
        below = np.zeros(k + 1, np.float64)
        for j in range(k):
            below[j + 1] = below[j] + weights[samples[j]]
        won = 0.0
        negatives = 0.0
        for i in range(n_samples):
            if truth[label, i] != 0:
                continue
            left = np.searchsorted(values, scores[label, i], side="left")
            right = np.searchsorted(values, scores[label, i], side="right")
            won += weights[i] * (below[k] - 0.5 * (below[left] + below[right]))
            negatives += weights[i]
        pairs = below[k] * negatives
        auc[label] = won / pairs if pairs > 0.0 else np.nan


def row_facts(truth: ByteArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """Run :func:`rank_rows` into new arrays.

    Parameters
    ----------
    truth : ndarray of uint8, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : ndarray of float64, shape (n_samples, n_labels)
        No NaN.

    Returns
    -------
    counts : ndarray of int64, shape (n_samples, 5)
    gains : ndarray of float64, shape (n_samples, 3)
        Columns as in :func:`rank_rows`.
    """
    counts = np.zeros((len(truth), 5), dtype=np.int64)
    gains = np.zeros((len(truth), 3), dtype=np.float64)
    rank_rows(np.ascontiguousarray(truth), np.ascontiguousarray(scores), counts, gains)
    return counts, gains


def auc_by_label(truth: ByteArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Run :func:`label_auc` on samples as rows.

    Parameters
    ----------
    truth : ndarray of uint8, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : ndarray of float64, shape (n_samples, n_labels)
        No NaN.
    weights : ndarray of float64, shape (n_samples,)
        Not negative.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        NaN for a label without positives or without negatives.
    """
    auc = np.empty(truth.shape[1], dtype=np.float64)
    label_auc(np.ascontiguousarray(truth.T), np.ascontiguousarray(scores.T), weights, auc)
    return auc
