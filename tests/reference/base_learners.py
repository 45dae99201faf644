"""Base learners in plain loops, from the textbook."""

import math

import numpy as np


def onehot(rows, nominal, codes):
    """Rows with a 0/1 column per code in place of each nominal value."""
    out = []
    for row in rows:
        plain = [v for v, n in zip(row, nominal, strict=True) if not n]
        coded = [float(row[j] == c) for j, each in codes.items() for c in each]
        out.append(plain + coded)
    return np.array(out, dtype=float).reshape(len(rows), -1)


def standardised(train, rows):
    """Mean 0 and standard deviation (n - 1) 1 in training; constant columns 0."""
    out = np.zeros(rows.shape)
    for j, column in enumerate(train.T):
        mean = sum(column) / len(column)
        if max(column) > min(column):
            spread = math.sqrt(sum((v - mean) ** 2 for v in column) / (len(column) - 1))
            out[:, j] = (rows[:, j] - mean) / spread
    return out


def loss(X, y, weights, ridge):
    """Negative log-likelihood plus ridge times the squared coefficients; weights[0] is free."""
    scores = weights[0] + X @ weights[1:]
    signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
    return np.logaddexp(0, -signs * scores).sum() + ridge * (weights[1:] ** 2).sum()


def logistic(X, y, ridge=1e-8, steps=300):
    """Weights by Newton's method with halved steps, intercept first."""
    rows, y = np.column_stack([np.ones(len(X)), X]), np.asarray(y, dtype=float)
    shrink = 2 * ridge * np.r_[0.0, np.ones(X.shape[1])]
    weights = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(rows @ weights, -700, 700)))
        slope = rows.T @ (p - y) + shrink * weights
        curve = (rows.T * (p * (1 - p))) @ rows + np.diag(shrink)
        move, size = np.linalg.lstsq(curve, slope, rcond=None)[0], 1.0
        now = loss(X, y, weights, ridge)
        while loss(X, y, weights - size * move, ridge) > now and size > 1e-9:
            size /= 2
        weights = weights - size * move
    return weights


def naive_bayes(train, y, queries, nominal, var_smoothing=1e-9):
    """Posterior of each class."""
    n_classes = max(y) + 1
    variances = [np.var([row[j] for row in train]) for j in range(len(nominal)) if not nominal[j]]
    extra = var_smoothing * max(variances, default=0.0)
    out = []
    for query in queries:
        logs = []
        for c in range(n_classes):
            rows = [row for row, k in zip(train, y, strict=True) if k == c]
            log = math.log(len(rows) / len(train))
            for j, value in enumerate(query):
                everyone, column = [row[j] for row in train], [row[j] for row in rows]
                if nominal[j]:
                    kinds = len(set(everyone)) + 1
                    log += math.log((column.count(value) + 1) / (len(rows) + kinds))
                elif max(everyone) > min(everyone):
                    spread = np.var(column) + extra
                    log -= (value - np.mean(column)) ** 2 / (2 * spread)
                    log -= math.log(2 * math.pi * spread) / 2
            logs.append(log)
        weights = [math.exp(log - max(logs)) for log in logs]
        out.append([w / sum(weights) for w in weights])
    return out
