"""SPEC in plain loops, from the paper; for at most 60 rows."""

import math

import numpy as np


def jaccard(a, b, empty_pair=1):
    union = sum(1 for x, y in zip(a, b, strict=True) if x or y)
    if union == 0:
        return float(empty_pair)
    return sum(1 for x, y in zip(a, b, strict=True) if x and y) / union


def similarity_matrix(X, Y, kind, *, bandwidth=1.0, empty_pair=1):
    """All pairs, the diagonal included; ``X`` scaled already, for rbf-features."""
    n = len(Y)
    rows = [tuple(int(v) for v in row) for row in Y]
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if kind == "jaccard":
                W[i, j] = 1.0 if i == j else jaccard(rows[i], rows[j], empty_pair)
            elif kind == "class":
                W[i, j] = 1.0 / rows.count(rows[i]) if rows[i] == rows[j] else 0.0
            elif kind == "matching":
                agree = sum(1 for x, y in zip(rows[i], rows[j], strict=True) if x == y)
                W[i, j] = agree / len(rows[i])
            else:
                left, right = (rows[i], rows[j]) if kind == "rbf-labels" else (X[i], X[j])
                square = sum((float(x) - float(y)) ** 2 for x, y in zip(left, right, strict=True))
                W[i, j] = math.exp(-square / (2.0 * bandwidth**2))
    return W


def min_max(X):
    X = np.asarray(X, dtype=float)
    out = np.zeros_like(X)
    for r in range(X.shape[1]):
        low, high = X[:, r].min(), X[:, r].max()
        if high > low:
            out[:, r] = (X[:, r] - low) / (high - low)
    return out


def one_hot(column):
    return [[1.0 if v == code else 0.0 for v in column] for code in sorted(set(column))]


def quadratic_forms(f, W):
    """f'Lf as half the sum over pairs, f'Df, and the weighted scatter about the weighted mean."""
    n = len(f)
    degree = [math.fsum(W[i]) for i in range(n)]
    lff = math.fsum(W[i, j] * (f[i] - f[j]) ** 2 for i in range(n) for j in range(n)) / 2.0
    dff = math.fsum(degree[i] * f[i] ** 2 for i in range(n))
    # Shifted by one of the values: exact for large means.
    g = [f[i] - f[0] for i in range(n)]
    mean = math.fsum(d * v for d, v in zip(degree, g, strict=True)) / math.fsum(degree)
    scatter = math.fsum(d * (v - mean) ** 2 for d, v in zip(degree, g, strict=True))
    return lff, dff, scatter


def spec_scores(X, W, phi, *, n_components=1, nominal=()):
    """φ1, φ2 or φ3 of each column; the worst value for constant ones."""
    X = np.asarray(X, dtype=float)
    scores = []
    for r in range(X.shape[1]):
        column = [float(v) for v in X[:, r]]
        if min(column) == max(column):
            scores.append(-math.inf if phi == 3 else math.inf)
            continue
        coded = r in nominal and not set(column) <= {0.0, 1.0}
        parts = one_hot(column) if coded else [column]
        forms = [quadratic_forms(part, W) for part in parts]
        if phi == 3:
            top = sum(leading_part(part, W, n_components) for part in parts)
        else:
            top = sum(lff for lff, _, _ in forms)
        bottom = sum(scatter if phi == 2 else dff for _, dff, scatter in forms)
        scores.append(top / bottom)
    return np.array(scores)


def leading_part(f, W, n_components):
    """Sum of (2 - λ_j) (ξ_j' D^(1/2) f)² over j = 2 .. n_components + 1, clusters kept whole."""
    degree = W.sum(axis=1)
    normal = W / np.sqrt(np.outer(degree, degree))
    top, vectors = np.linalg.eigh(normal)
    values, vectors = 1.0 - top[::-1], vectors[:, ::-1]
    kept = min(n_components + 1, len(values))
    while kept < len(values) and values[kept] - values[kept - 1] < 1e-9:
        kept += 1
    trivial = np.sqrt(degree / degree.sum())
    g = np.sqrt(degree) * (np.asarray(f) - f[0])
    g = g - trivial * (trivial @ g)
    return sum((2.0 - values[j]) * float(vectors[:, j] @ g) ** 2 for j in range(kept))
