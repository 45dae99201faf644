"""MLLAP in plain loops, from the paper; for at most 60 rows."""

import math

import numpy as np

from reference.spec import min_max, one_hot, quadratic_forms, similarity_matrix


def key(value):
    return float(f"{value:.8e}")


def scatter_terms(X, Y, *, normalize="minmax", nominal=()):
    """a_r and b_r of equations (5) and (6) with the matching similarity of equation (7)."""
    W = similarity_matrix(None, Y, "matching")
    X = np.asarray(X, dtype=float)
    scaled = min_max(X) if normalize == "minmax" else X
    a, b = [], []
    for r in range(X.shape[1]):
        column = [float(v) for v in X[:, r]]
        coded = r in nominal and not set(column) <= {0.0, 1.0}
        parts = one_hot(column) if coded else [list(map(float, scaled[:, r]))]
        forms = [quadratic_forms(part, W) for part in parts]
        a.append(sum(2.0 * lff for lff, _, _ in forms))
        b.append(sum(scatter for _, _, scatter in forms))
    return a, b


def mllap_order(a, b, constant):
    """The greedy order of the trace ratio, and φ after each choice."""
    left = [f for f in range(len(a)) if not constant[f]]
    chosen, path, top, bottom = [], [], 0.0, 0.0
    while left:
        if not chosen:
            costs = [a[f] / b[f] for f in left]
        else:
            costs = []
            for f in left:
                gain = a[f] - top / bottom * b[f]
                costs.append(0.0 if abs(gain) < 1e-12 * a[f] else gain / (bottom + b[f]))
        keys = [key(c) for c in costs]
        best = left[keys.index(min(keys))]
        top, bottom = top + a[best], bottom + b[best]
        chosen.append(best)
        path.append(top / bottom)
        left.remove(best)
    return chosen + [f for f in range(len(a)) if constant[f]], path


def euclidean_order(X, Y):
    """The greedy order of the unsquared reading, without constants, and φ after each choice."""
    n, d = X.shape
    scaled = min_max(X)
    W = similarity_matrix(None, Y, "matching")
    a, b = scatter_terms(X, Y)

    def numerator(features):
        return math.fsum(
            W[i, j] * math.sqrt(sum((scaled[i, r] - scaled[j, r]) ** 2 for r in features))
            for i in range(n)
            for j in range(n)
        )

    left, chosen, path = list(range(d)), [], []
    while left:
        if not chosen:
            costs = [a[f] / b[f] for f in left]
        else:
            costs = [numerator([*chosen, f]) / sum(b[r] for r in [*chosen, f]) for f in left]
        keys = [key(c) for c in costs]
        best = left[keys.index(min(keys))]
        path.append(costs[left.index(best)])
        chosen.append(best)
        left.remove(best)
    return chosen, path
