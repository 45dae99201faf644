"""Plain twins of the tests of significance: written in loops.

Tables are lists of rows; methods are numbered.
"""

import math
from itertools import product

Table = list[list[float]]


def ranks_of(row: list[float], higher_is_better: bool) -> list[float]:
    """1 is best; equal values share the mean of the places they take."""
    ordered = sorted(row, reverse=higher_is_better)
    return [
        sum(place for place, other in enumerate(ordered, start=1) if other == value)
        / sum(1 for other in ordered if other == value)
        for value in row
    ]


def average_ranks(table: Table, higher_is_better: bool) -> list[float]:
    ranks = [ranks_of(row, higher_is_better) for row in table]
    return [sum(row[j] for row in ranks) / len(ranks) for j in range(len(table[0]))]


def friedman(averages: list[float], n_rows: int) -> tuple[float, float]:
    """(chi-square, F) of average ranks."""
    k = len(averages)
    squares = sum(rank * rank for rank in averages)
    chi_square = 12 * n_rows / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    rest = n_rows * (k - 1) - chi_square
    if abs(rest) < 1e-9:
        return chi_square, math.inf
    return chi_square, (n_rows - 1) * chi_square / rest


def normal_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def normal_quantile(tail: float) -> float:
    return bisect(lambda z: normal_tail(z) > tail)


def range_tail(width: float, k: int) -> float:
    """P(range of k normal variables > width): the lowest at z, the rest within width above it."""
    step, inside = 0.01, 0.0
    for i in range(-900, 901):
        z = i * step
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        inside += k * density * (normal_tail(z) - normal_tail(z + width)) ** (k - 1) * step
    return 1 - inside


def range_quantile(alpha: float, k: int) -> float:
    return bisect(lambda z: range_tail(math.sqrt(2) * z, k) > alpha)


def bisect(is_below) -> float:
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        if is_below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def holm_rejects(p_values: list[float], alpha: float) -> list[bool]:
    """Step down from the smallest p-value; stop at the first that is too large."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = [False] * len(p_values)
    for tried, i in enumerate(order):
        if p_values[i] > alpha / (len(p_values) - tried):
            break
        rejected[i] = True
    return rejected


def signed_rank_p_value(differences: list[float]) -> float:
    """Share of all choices of signs with a rank sum as far from the middle as the one seen."""
    kept = [d for d in differences if d != 0]
    ranks = ranks_of([abs(d) for d in kept], higher_is_better=False)
    middle = sum(ranks) / 2
    seen = abs(sum(r for r, d in zip(ranks, kept, strict=True) if d > 0) - middle)
    far = 0
    for signs in product((0, 1), repeat=len(kept)):
        total = sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        far += abs(total - middle) >= seen - 1e-9
    return far / 2 ** len(kept)


def maximal_groups(averages: list[float], limit: float) -> set[frozenset[int]]:
    """All maximal sets of at least two methods whose ranks differ by no more than the limit."""
    groups = set()
    for low in averages:
        group = frozenset(j for j, rank in enumerate(averages) if low <= rank <= low + limit)
        if len(group) > 1:
            groups.add(group)
    return {g for g in groups if not any(g < other for other in groups)}
