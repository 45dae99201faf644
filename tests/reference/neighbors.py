"""Nearest neighbours in plain loops, missing values and nominal features included."""

import math


def ranges(train):
    """Smallest and largest known value per feature; (None, None) where there is none."""
    found = []
    for j in range(len(train[0])):
        known = [row[j] for row in train if not math.isnan(row[j])]
        found.append((min(known), max(known)) if known else (None, None))
    return found


def gap(a, b, limits, nominal, normalize):
    """How much one feature adds, before squaring."""
    low, high = limits
    constant = low is None or low == high
    if nominal:
        if math.isnan(a) or math.isnan(b):
            return 1.0
        if normalize == "minmax" and constant:
            return 0.0
        return 0.0 if a == b else 1.0
    if normalize == "minmax":
        a, b = (
            v if math.isnan(v) else 0.0 if constant else (v - low) / (high - low) for v in (a, b)
        )
        bottom, top = 0.0, 1.0
    elif low is None:
        return 0.0
    else:
        bottom, top = low, high
    if math.isnan(a) and math.isnan(b):
        return top - bottom
    if math.isnan(a):
        return max(top - b, b - bottom)
    if math.isnan(b):
        return max(top - a, a - bottom)
    return a - b


def squared_distance(a, b, order, limits, nominal, normalize):
    total = 0.0
    for j in order:
        g = gap(a[j], b[j], limits[j], nominal[j], normalize)
        total += g * g
    return total


def nearest(train, queries, k, *, order=None, nominal=None, normalize="minmax"):
    """(squared distances, indices) of each query; ``queries`` None: leave-one-out."""
    d = len(train[0])
    order = range(d) if order is None else order
    nominal = [False] * d if nominal is None else nominal
    limits = ranges(train)
    alone = queries is None
    distances, indices = [], []
    for i, query in enumerate(train if alone else queries):
        pairs = []
        for j, row in enumerate(train):
            if not (alone and i == j):
                pairs.append((squared_distance(query, row, order, limits, nominal, normalize), j))
        pairs.sort()
        distances.append([pair[0] for pair in pairs[:k]])
        indices.append([pair[1] for pair in pairs[:k]])
    return distances, indices
