"""BRkNN in plain loops, from the papers and Mulan's documentation."""

import math
from fractions import Fraction

from reference.neighbors import nearest


def confidences(
    train,
    labels,
    queries,
    *,
    k=10,
    ties="first",
    order=None,
    nominal=None,
    normalize="minmax",
):
    """Exact confidences of each query, and the mean number of labels of its neighbours."""
    n, q = len(train), len(labels[0])
    k = min(k, n - 1)
    options = {"order": order, "nominal": nominal, "normalize": normalize}
    distances, indices = nearest(train, queries, n, **options)
    found, means = [], []
    for distance, index in zip(distances, indices, strict=True):
        near = index[:k]
        if ties == "all" and k:
            near = [j for j, d in zip(index, distance, strict=True) if d <= distance[k - 1]]
        counts = [sum(labels[j][label] for j in near) for label in range(q)]
        found.append(
            [(c + Fraction(1, n)) / (len(near) + Fraction(q, n)) for c in counts],
        )
        means.append(Fraction(sum(counts), len(near)) if near else Fraction(0))
    return found, means


def decisions(found, means, extension="none"):
    """Labels of each query; among equal confidences the higher index is the better one."""
    out = []
    for row, mean in zip(found, means, strict=True):
        ranked = sorted(range(len(row)), key=lambda label: (row[label], label), reverse=True)
        chosen = {label for label in range(len(row)) if row[label] >= Fraction(1, 2)}
        if extension == "a" and not chosen:
            chosen = {ranked[0]}
        if extension == "b":
            chosen = set(ranked[: math.ceil(mean)])
        out.append([int(label in chosen) for label in range(len(row))])
    return out
