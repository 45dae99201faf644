"""Facts about a table, counted with plain loops."""

import math


def facts(X, Y, split):
    """X, Y, split: lists of rows of Python numbers."""
    n, q = len(Y), len(Y[0])
    seen, train, duplicates = set(), set(), 0
    rows = [tuple("?" if math.isnan(v) else v + 0.0 for v in row) for row in X]
    samples = [(row, tuple(labels)) for row, labels in zip(rows, Y, strict=True)]
    for sample, part in zip(samples, split, strict=True):
        duplicates += sample in seen
        seen.add(sample)
        if part == 1:
            train.add(sample)
    shared = sum(sample in train for sample, part in zip(samples, split, strict=True) if part == 2)
    columns = list(zip(*rows, strict=True))
    return {
        "label_cardinality": sum(map(sum, Y)) / n,
        "label_density": sum(map(sum, Y)) / n / q,
        "label_sets": len({tuple(row) for row in Y}),
        "samples_without_label": sum(not any(row) for row in Y),
        "labels_never_positive": sum(not any(row[j] for row in Y) for j in range(q)),
        "missing": sum(row.count("?") for row in rows),
        "constant_features": sum(len(set(column) - {"?"}) <= 1 for column in columns),
        "nonzero_fraction": sum(v not in ("?", 0) for row in rows for v in row) / (n * len(X[0])),
        "duplicate_rows": duplicates,
        "rows_shared_by_split": shared,
    }
