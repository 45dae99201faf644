"""MLNB in plain loops, from the paper; for at most 60 rows."""

import math


def spread(values):
    """Standard deviation with n - 1; 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    if all(v == values[0] for v in values):
        return 0.0
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def density(values, everything, x):
    """Normal density of a class at x."""
    if not values:
        return 0.0
    mean = values[0] if len(set(values)) == 1 else math.fsum(values) / len(values)
    sigma = spread(values)
    if sigma == 0.0:
        sigma = 1e-3 * spread(everything)
    if sigma == 0.0:
        sigma = 1.0
    z = (x - mean) / sigma
    return math.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi)) if abs(z) < 1e3 else 0.0


def log_ratio(inside, outside, x):
    """What one feature says for a label."""
    everything = inside + outside
    present, absent = (density(v, everything, x) for v in (inside, outside))
    return math.log(present + 1e-20) - math.log(absent + 1e-20)


def probabilities(X, Y, queries, features, smoothing=1.0):
    """Probability of each label of each query; X, Y and queries are lists of rows."""
    n, q = len(X), len(Y[0])
    found = []
    for query in queries:
        row = []
        for label in range(q):
            inside = [x for x, y in zip(X, Y, strict=True) if y[label]]
            outside = [x for x, y in zip(X, Y, strict=True) if not y[label]]
            above, below = smoothing + len(inside), smoothing + n - len(inside)
            if above == 0 and below == 0:
                margin = 0.0
            elif above == 0 or below == 0:
                margin = math.inf if above else -math.inf
            else:
                margin = math.log(above) - math.log(below)
            for f in features:
                margin += log_ratio([x[f] for x in inside], [x[f] for x in outside], query[f])
            row.append(1.0 / (1.0 + math.exp(-margin)) if margin > -700 else 0.0)
        found.append(row)
    return found


def losses(proba, Y):
    """Hamming loss and ranking loss of some rows; the latter 0 if none has labels."""
    wrong, shares = 0, []
    for scores, truth in zip(proba, Y, strict=True):
        wrong += sum((score >= 0.5) != bool(y) for score, y in zip(scores, truth, strict=True))
        relevant = [s for s, y in zip(scores, truth, strict=True) if y]
        others = [s for s, y in zip(scores, truth, strict=True) if not y]
        if relevant:
            pairs = [a <= b for a in relevant for b in others]
            shares.append(sum(pairs) / len(pairs) if pairs else 0.0)
    return wrong / (len(Y) * len(Y[0])), math.fsum(shares) / len(shares) if shares else 0.0


def fitness(X, Y, features, *, n_folds=10, smoothing=1.0):
    """Mean over folds of consecutive rows of (Hamming loss + ranking loss) / 2."""
    if not features:
        return math.inf
    folds = min(n_folds, len(X))
    size = len(X) // folds
    total = []
    for f in range(folds):
        lo, hi = f * size, len(X) if f == folds - 1 else (f + 1) * size
        train = X[:lo] + X[hi:], Y[:lo] + Y[hi:]
        if train[0]:
            proba = probabilities(*train, X[lo:hi], features, smoothing)
        else:
            proba = [[0.5] * len(Y[0])] * (hi - lo)
        total.append(sum(losses(proba, Y[lo:hi])) / 2)
    return math.fsum(total) / folds
