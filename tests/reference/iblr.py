"""IBLR-ML and IBLR-ML+ in plain loops, from the paper."""

import math

from reference import logistic
from reference.neighbors import nearest


def columns_of(train, queries, nominal, coded):
    """Columns that stand for features, missing values replaced: (training rows, queries)."""
    trained, asked = [], []
    for j, by_code in enumerate(nominal):
        known = sorted(row[j] for row in train if not math.isnan(row[j]))
        if not known:
            fill = 0.0
        elif by_code:
            fill = max(known, key=lambda v: (known.count(v), -v))
        else:
            fill = math.fsum(known) / len(known)
        one, other = (
            [fill if math.isnan(r[j]) else r[j] for r in rows] for rows in (train, queries)
        )
        values = sorted(set(one))
        many = by_code and not coded and len(values) > 1 and not set(values) <= {0.0, 1.0}
        for value in values if many else [None]:
            trained.append([v if value is None else float(v == value) for v in one])
            asked.append([v if value is None else float(v == value) for v in other])
    return trained, asked


def probabilities(
    train,
    labels,
    queries,
    *,
    k=10,
    plus=False,
    coded=False,
    order=None,
    nominal=None,
    normalize="minmax",
):
    """Probability of each label for each query."""
    n, d, q = len(train), len(train[0]), len(labels[0])
    k = min(k, n - 1)
    nominal = [False] * d if nominal is None else nominal
    order = range(d) if order is None else order
    options = {"order": order, "nominal": nominal, "normalize": normalize}
    trained, asked = ([], [])
    if plus:
        pick = (
            [[row[j] for j in order] for row in train],
            [[row[j] for j in order] for row in queries],
        )
        trained, asked = columns_of(*pick, [nominal[j] for j in order], coded)
    sides = []
    for rows, added in ((None, trained), (queries, asked)):
        _, near = nearest(train, rows, k, **options)
        sides.append(
            [
                [
                    *(column[i] for column in added),
                    *(sum(labels[j][m] for j in ids) / k if k else 0.0 for m in range(q)),
                ]
                for i, ids in enumerate(near)
            ]
        )
    means, deviations = logistic.standardize(sides[0])
    rows, wanted = ([logistic.applied(row, means, deviations) for row in side] for side in sides)
    out = [[0.0] * q for _ in queries]
    for label in range(q):
        target = [row[label] for row in labels]
        if len(set(target)) == 1:
            for row in out:
                row[label] = float(target[0])
            continue
        weights = logistic.fit(rows, target)
        for row, inputs in zip(out, wanted, strict=True):
            eta = weights[0] + sum(w * v for w, v in zip(weights[1:], inputs, strict=True))
            row[label] = logistic.probability(eta)
    return out
