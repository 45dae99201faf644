"""Variance, χ² and mutual information in plain loops; for at most 60 rows."""

import math

from reference.discretize import bin_table
from reference.spec import min_max, one_hot


def parts_of(X, r, nominal):
    """The column itself, or one 0/1 column per category."""
    column = [float(v) for v in X[:, r]]
    return one_hot(column) if r in nominal and not set(column) <= {0.0, 1.0} else [column]


def variances(X, *, normalize, nominal=()):
    scaled = min_max(X) if normalize == "minmax" else X
    out = []
    for r in range(X.shape[1]):
        coded = parts_of(X, r, nominal)
        parts = coded if len(coded) > 1 else [[float(v) for v in scaled[:, r]]]
        out.append(sum(population_variance(part) for part in parts))
    return out


def population_variance(f):
    g = [v - f[0] for v in f]
    mean = math.fsum(g) / len(g)
    return math.fsum((v - mean) ** 2 for v in g) / len(g)


def chi_squared(X, Y, nominal=()):
    """A list per feature with one statistic per label."""
    return [
        [
            sum(statistic(part, [int(v) for v in Y[:, label]]) for part in parts_of(X, r, nominal))
            for label in range(Y.shape[1])
        ]
        for r in range(X.shape[1])
    ]


def statistic(f, label):
    """Observed and expected sums of the two classes; values less one of them where all are far."""
    n, whole = len(f), math.fsum(f)
    if whole == 0 or min(f) == max(f):
        return 0.0
    out = 0.0
    for c in (0, 1):
        size = label.count(c)
        if size in (0, n):
            return 0.0
        gap = math.fsum((v - f[0]) for v, y in zip(f, label, strict=True) if y == c)
        gap -= size / n * math.fsum(v - f[0] for v in f)
        out += gap**2 / (whole * size / n)
    return out


def information(X, Y, nominal=()):
    """Bits per feature and label."""
    n, out = len(X), []
    for own in bin_table(X, nominal):
        row = []
        for label in range(Y.shape[1]):
            pairs = [(b, int(y)) for b, y in zip(own, Y[:, label], strict=True)]
            bits = 0.0
            for b, y in set(pairs):
                joint = pairs.count((b, y)) / n
                apart = own.count(b) / n * (sum(1 for _, v in pairs if v == y) / n)
                bits += joint * math.log2(joint / apart)
            row.append(bits)
        out.append(row)
    return out
