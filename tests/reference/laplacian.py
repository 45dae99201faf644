"""Laplacian score in plain loops; for at most 60 rows."""

import math

import numpy as np

from reference.spec import min_max, one_hot, quadratic_forms, similarity_matrix


def squared_distance(a, b, mismatch):
    return sum(
        float(x != z) if different else (float(x) - float(z)) ** 2
        for x, z, different in zip(a, b, mismatch, strict=True)
    )


def neighbor_weights(X, k, t, *, normalize, nominal=()):
    """S of the graph of neighbours: exp(-|x - z|² / t) on edges, 0 elsewhere."""
    n = len(X)
    rows = min_max(X) if normalize == "minmax" else np.asarray(X, dtype=float)
    mismatch = [r in nominal for r in range(X.shape[1])]
    square = [[squared_distance(rows[i], rows[j], mismatch) for j in range(n)] for i in range(n)]
    W = np.zeros((n, n))
    for i in range(n):
        others = sorted((square[i][j], j) for j in range(n) if j != i)
        for distance, j in others[:k]:
            W[i, j] = W[j, i] = math.exp(-distance / t)
    return W


def laplacian_scores(X, W, nominal=()):
    """The score of each column; infinite without variance."""
    scores = []
    for r in range(X.shape[1]):
        column = [float(v) for v in X[:, r]]
        joined = {v for v, degree in zip(column, W.sum(axis=1), strict=True) if degree > 0}
        if len(joined) < 2:
            scores.append(math.inf)
            continue
        coded = r in nominal and not set(column) <= {0.0, 1.0}
        forms = [quadratic_forms(part, W) for part in (one_hot(column) if coded else [column])]
        top = sum(lff for lff, _, _ in forms)
        scores.append(2.0 * top / sum(scatter for _, _, scatter in forms))
    return np.array(scores)


def label_weights(Y):
    """S of supervised weights: 1 / n_c inside a class."""
    return similarity_matrix(None, Y, "class")
