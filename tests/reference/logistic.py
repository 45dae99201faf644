"""Logistic regression with a ridge on standardised inputs, in plain loops, from the textbook."""

import math


def standardize(rows):
    """Means and deviations (n - 1) of the columns; a constant column has deviation 0."""
    n = len(rows)
    means = [math.fsum(column) / n for column in zip(*rows, strict=True)]
    deviations = [
        0.0
        if min(column) == max(column)
        else math.sqrt(math.fsum((v - mean) ** 2 for v in column) / (n - 1))
        for column, mean in zip(zip(*rows, strict=True), means, strict=True)
    ]
    return means, deviations


def applied(row, means, deviations):
    return [
        (v - mean) / dev if dev else 0.0
        for v, mean, dev in zip(row, means, deviations, strict=True)
    ]


def fit(rows, target, ridge=1e-8):
    """Weights, intercept first, of rows that are standardised already."""
    inputs = [[1.0, *row] for row in rows]
    weights = [0.0] * len(inputs[0])
    for _ in range(500):
        slope, bend = _derivatives(inputs, target, weights, ridge)
        step = solve(bend, [-g for g in slope])
        share = 1.0
        here = objective(inputs, target, weights, ridge)
        while share > 1e-12:
            there = [w + share * d for w, d in zip(weights, step, strict=True)]
            if objective(inputs, target, there, ridge) <= here:
                break
            share /= 2
        else:
            return weights
        weights = there
        if max(abs(share * d) for d in step) < 1e-11:
            break
    return weights


def objective(inputs, target, weights, ridge):
    total = ridge * sum(w * w for w in weights[1:])
    for row, y in zip(inputs, target, strict=True):
        eta = sum(w * v for w, v in zip(weights, row, strict=True))
        margin = eta if y else -eta
        total += (
            math.log1p(math.exp(-margin)) if margin > 0 else -margin + math.log1p(math.exp(margin))
        )
    return total


def probability(eta):
    return 1 / (1 + math.exp(-eta)) if eta > -700 else 0.0


def _derivatives(inputs, target, weights, ridge):
    p = len(weights)
    slope = [0.0] + [2 * ridge * w for w in weights[1:]]
    bend = [[2 * ridge * (a == b and a > 0) for b in range(p)] for a in range(p)]
    for row, y in zip(inputs, target, strict=True):
        eta = sum(w * v for w, v in zip(weights, row, strict=True))
        wrong = probability(-eta) if y else probability(eta)
        right = probability(eta) if y else probability(-eta)
        for a in range(p):
            slope[a] += (-wrong if y else wrong) * row[a]
            for b in range(p):
                bend[a][b] += wrong * right * row[a] * row[b]
    return slope, bend


def solve(matrix, right):
    """Gauss's elimination with the largest pivot of each column."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for c in range(n):
        pivot = max(range(c, n), key=lambda r: abs(rows[r][c]))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        for r in range(c + 1, n):
            factor = rows[r][c] / rows[c][c]
            for j in range(c, n + 1):
                rows[r][j] -= factor * rows[c][j]
    out = [0.0] * n
    for r in range(n - 1, -1, -1):
        rest = rows[r][n] - sum(rows[r][j] * out[j] for j in range(r + 1, n))
        out[r] = rest / rows[r][r]
    return out
