"""PMU and MDMR in plain loops, from the papers; for at most 60 rows."""

import math
from collections import Counter

NEGLIGIBLE = 1e-12


def key(value):
    return float(f"{value:.8e}")


def entropy(*columns):
    """Joint entropy of columns of codes, in bits."""
    n = len(columns[0])
    counts = Counter(zip(*columns, strict=True)).values()
    return -math.fsum(c / n * math.log2(c / n) for c in counts)


def term(value):
    return 0.0 if abs(value) < NEGLIGIBLE else value


def information(a, b):
    return term(entropy(a) + entropy(b) - entropy(a, b))


def conditional(a, b, c):
    """I(a;b|c)."""
    return term(entropy(a, c) + entropy(b, c) - entropy(a, b, c) - entropy(c))


def interaction(a, b, c):
    """I₃(a;b;c) = I(a;b) - I(a;b|c)."""
    alone = entropy(a) + entropy(b) + entropy(c)
    pairs = entropy(a, b) + entropy(a, c) + entropy(b, c)
    return term(alone - pairs + entropy(a, b, c))


def codes_of(X, nominal=()):
    """Columns in two bins of equal frequency; two-valued and nominal ones as they are."""
    n, codes = len(X), []
    for r in range(X.shape[1]):
        column = [float(v) for v in X[:, r]]
        if r in nominal or len(set(column)) <= 2:
            codes.append(column)
        else:
            # The rank is round(n / 2), halves up.
            cut = sorted(column)[math.floor(n / 2 + 0.5) - 1]
            codes.append([v > cut for v in column])
    return codes


def greedy(codes, constant, criterion, limit=None):
    """Order of choice and the criterion of each choice; constants never."""
    left = [f for f in range(len(codes)) if not constant[f]]
    chosen, path = [], []
    while left and len(chosen) < (limit or len(codes)):
        values = [term(criterion(codes[f], [codes[s] for s in chosen])) for f in left]
        keys = [key(value) for value in values]
        at = keys.index(max(keys))
        path.append(values[at])
        chosen.append(left.pop(at))
    return chosen, path
