"""Groups of methods that do not differ: the bars of a critical-difference diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def groups_alike(
    average_ranks: Sequence[float], differ: Callable[[int, int], bool]
) -> tuple[tuple[int, ...], ...]:
    """Maximal runs of neighbours in rank in which no pair differs.

    Where a pair differs by its distance in rank alone (Nemenyi, Holm), these are all the maximal
    sets of methods without a difference. A run of one method is no group.

    Parameters
    ----------
    average_ranks
        One per method.
    differ
        Whether the methods at two positions differ.

    Returns
    -------
    tuple of tuple of int
        Positions of each group by rank, groups from the best to the worst.

    Examples
    --------
    >>> ranks = [1.0, 3.5, 2.0, 2.9]
    >>> groups_alike(ranks, lambda a, b: abs(ranks[a] - ranks[b]) > 1.6)
    ((0, 2), (2, 3, 1))
    >>> groups_alike(ranks, lambda a, b: True)
    ()
    """
    order = sorted(range(len(average_ranks)), key=lambda i: (average_ranks[i], i))
    groups: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(differ(order[i], order[end]) for i in range(start, end)):
            end += 1
        if end - start > 1 and end > reached:
            groups.append(tuple(order[start:end]))
            reached = end
    return tuple(groups)


def groups_of(
    names: Sequence[str], average_ranks: Sequence[float], differing: Iterable[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """`groups_alike` by name.

    Parameters
    ----------
    names, average_ranks
        Of the methods.
    differing
        Pairs of names that differ, in either order.

    Examples
    --------
    >>> groups_of(["A", "B", "C"], [1.0, 2.0, 3.0], [("A", "C")])
    (('A', 'B'), ('B', 'C'))
    """
    pairs = {frozenset(pair) for pair in differing}
    groups = groups_alike(average_ranks, lambda a, b: frozenset((names[a], names[b])) in pairs)
    return tuple(tuple(names[i] for i in group) for group in groups)
