"""Agreement of subsets and the one-standard-error rule, by plain loops."""

import itertools
import math


def jaccard(subsets):
    """Mean over pairs of |A and B| / |A or B|; two empty subsets count 1."""
    pairs = [(set(a), set(b)) for a, b in itertools.combinations(subsets, 2)]
    values = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]
    return sum(values) / len(values) if values else math.nan


def kuncheva(subsets, d):
    """Mean over pairs of (r d - k k) / (k (d - k)); NaN where that is 0 / 0."""
    k = len(subsets[0]) if subsets else 0
    if k in (0, d):
        return math.nan
    pairs = [(set(a), set(b)) for a, b in itertools.combinations(subsets, 2)]
    values = [(len(a & b) * d - k * k) / (k * (d - k)) for a, b in pairs]
    return sum(values) / len(values) if values else math.nan


def frequency(subsets, d):
    return [sum(f in set(subset) for subset in subsets) for f in range(d)]


def standard_error(values):
    known = [v for v in values if not math.isnan(v)]
    m = len(known)
    if m < 2:
        return math.nan
    mean = sum(known) / m
    return math.sqrt(sum((v - mean) ** 2 for v in known) / (m - 1)) / math.sqrt(m)


def enough(sizes, means, errors, higher_is_better):
    """Positions of the best point and of the smallest one within its standard error."""
    sign = -1 if higher_is_better else 1
    points = [(sign * m, s, i) for i, (s, m) in enumerate(zip(sizes, means, strict=True)) if m == m]
    if not points:
        return None
    loss, _, best = min(points)
    slack = errors[best] if errors[best] == errors[best] else 0.0
    return best, min((s, i) for value, s, i in points if value <= loss + slack)[1]
