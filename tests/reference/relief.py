"""Relief in plain loops, from the papers; for at most 60 rows."""

import itertools

from reference.neighbors import gap, ranges


def differences(X, nominal=None, normalize="minmax"):
    """diff[i][j][r] of all rows, and the rows by (distance, index) from each row."""
    d = len(X[0])
    nominal = [False] * d if nominal is None else nominal
    limits = ranges(X)
    diff = [
        [[abs(gap(a[r], b[r], limits[r], nominal[r], normalize)) for r in range(d)] for b in X]
        for a in X
    ]
    near = []
    for i in range(len(X)):
        pairs = [(sum(g * g for g in diff[i][j]), j) for j in range(len(X)) if j != i]
        near.append([j for _, j in sorted(pairs)])
    return diff, near


def mean_difference(diff, i, rows):
    """Mean over some rows of how each feature differs from row i; zeros for no rows."""
    d = len(diff[i][i])
    if not rows:
        return [0.0] * d
    return [sum(diff[i][j][r] for j in rows) / len(rows) for r in range(d)]


def binary_weights(X, classes, k, **options):
    """Weights of the features of one two-class problem; zeros for a single class."""
    diff, near = differences(X, **options)
    m, d = len(X), len(X[0])
    weights = [0.0] * d
    if len(set(classes)) < 2:
        return weights
    for i in range(m):
        hits = [j for j in near[i] if classes[j] == classes[i]][:k]
        misses = [j for j in near[i] if classes[j] != classes[i]][:k]
        hit, miss = mean_difference(diff, i, hits), mean_difference(diff, i, misses)
        weights = [w + (b - a) / m for w, a, b in zip(weights, hit, miss, strict=True)]
    return weights


def wrapper_weights(X, Y, k, order, **options):
    """One row of weights per label, or per pair of labels."""
    q = len(Y[0])
    if order == 1:
        return [binary_weights(X, [row[label] for row in Y], k, **options) for label in range(q)]
    found = []
    for a, b in itertools.combinations(range(q), 2):
        rows = [i for i, row in enumerate(Y) if row[a] != row[b]]
        if not rows:
            found.append([0.0] * len(X[0]))
            continue
        found.append(binary_weights([X[i] for i in rows], [Y[i][a] for i in rows], k, **options))
    return found


def pair_weights(X, Y, k, **options):
    """mlrelieff over ordered pairs of a label that a row has and one that it lacks."""
    diff, near = differences(X, **options)
    q, d = len(Y[0]), len(X[0])
    count = [sum(row[b] for row in Y) for b in range(q)]
    weights, with_pair = [0.0] * d, 0
    for i in range(len(X)):
        absent = [b for b in range(q) if not Y[i][b]]
        had_one = False
        for a in range(q):
            if not Y[i][a]:
                continue
            for b in absent:
                hits = [j for j in near[i] if Y[j][a] and not Y[j][b]][:k]
                misses = [j for j in near[i] if Y[j][b] and not Y[j][a]][:k]
                if not misses:
                    continue
                had_one = True
                w = count[b] / sum(count[other] for other in absent)
                hit, miss = mean_difference(diff, i, hits), mean_difference(diff, i, misses)
                weights = [v + w * (y - x) for v, x, y in zip(weights, hit, miss, strict=True)]
        with_pair += had_one
    return [v / max(with_pair, 1) for v in weights]


def set_weights(X, Y, k, **options):
    """mlrelieff with the distinct label sets as classes."""
    diff, near = differences(X, **options)
    n, d = len(X), len(X[0])
    classes = [tuple(row) for row in Y]
    weights = [0.0] * d
    if len(set(classes)) == 1:
        return weights
    share = {c: classes.count(c) / n for c in classes}
    for i in range(n):
        hits = [j for j in near[i] if classes[j] == classes[i]][:k]
        hit = mean_difference(diff, i, hits)
        weights = [v - x / n for v, x in zip(weights, hit, strict=True)]
        for c in sorted(share):
            if c == classes[i]:
                continue
            misses = [j for j in near[i] if classes[j] == c][:k]
            prior = share[c] / (1 - share[classes[i]])
            miss = mean_difference(diff, i, misses)
            weights = [v + prior * y / n for v, y in zip(weights, miss, strict=True)]
    return weights
