"""Bins and contingency tables in plain loops; for at most 60 rows."""


def bin_column(column, *, categories=False):
    """Bin of each row, numbered from 0."""
    values = [float(v) for v in column]
    distinct = sorted(set(values))
    if categories or len(distinct) <= 2:
        return [distinct.index(v) for v in values]
    n = len(values)
    # Halves up: the rank is 1-based.
    middle = sorted(values)[int(n / 2 + 0.5) - 1]
    return [1 if v > middle else 0 for v in values]


def bin_table(X, nominal=()):
    """Bins of all columns, a list per feature; nominal ones of three or more codes stay."""
    return [bin_column(X[:, r], categories=r in nominal) for r in range(X.shape[1])]


def count_table(bins, group, n_bins):
    """Rows of each bin that are in the group."""
    return [sum(1 for b, g in zip(bins, group, strict=True) if b == k and g) for k in range(n_bins)]
