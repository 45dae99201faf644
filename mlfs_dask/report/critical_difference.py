"""Critical-difference diagrams: average ranks on an axis, and who cannot be told apart.

Without a control, a bar joins every maximal group of methods that do not differ; bars that overlap
lie on levels of their own, and a method under no bar differs from all others. With a control, a bar
spans the critical difference on both sides of it, and the methods that differ from it are filled
dots. The picture is SVG that needs nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.stats.groups import groups_of
from mlfs_dask.report.rank_drawing import Diagram, RankDrawing, stacked
from mlfs_dask.wording import counted

__all__ = ["Diagram", "critical_difference_diagram", "critical_difference_svg", "stacked"]


def critical_difference_svg(
    names: Sequence[str],
    average_ranks: Sequence[float],
    critical_difference: float | None,
    *,
    groups: Sequence[Collection[str]] | None = None,
    control: str | None = None,
    differing: Collection[str] | None = None,
    title: str = "",
    width: int = 560,
) -> str:
    """A critical-difference diagram as the text of an SVG file.

    Parameters
    ----------
    names, average_ranks, critical_difference, groups, control, differing, title, width
        As for `critical_difference_diagram`.

    Examples
    --------
    >>> text = critical_difference_svg(["A", "B", "C"], [1.2, 1.9, 2.9], 1.1)
    >>> text.count('class="cd-group"')
    2
    """
    diagram = critical_difference_diagram(
        names,
        average_ranks,
        critical_difference,
        groups=groups,
        control=control,
        differing=differing,
        title=title,
        width=width,
    )
    return diagram.document()


def critical_difference_diagram(
    names: Sequence[str],
    average_ranks: Sequence[float],
    critical_difference: float | None,
    *,
    groups: Sequence[Collection[str]] | None = None,
    control: str | None = None,
    differing: Collection[str] | None = None,
    title: str = "",
    width: int = 360,
) -> Diagram:
    """Draw a critical-difference diagram.

    Parameters
    ----------
    names
        Of the methods, two or more.
    average_ranks
        Of each, 1 is best.
    critical_difference
        Difference that has to be exceeded; None if the test has none (Holm, Wilcoxon).
    groups
        Names of the methods that a bar joins; by default the maximal groups within the critical
        difference.
    control
        Draw a comparison with this method instead of groups.
    differing
        With a control: names of the methods that differ from it; by default those further away
        than the critical difference.
    title
        Line above the diagram.
    width
        Of the picture; the default stays readable on a telephone.

    Raises
    ------
    InputError
        Fewer than two methods, as many ranks as names are missing, an unknown control, neither a
        critical difference nor what it would tell.
    """
    _check(names, average_ranks, critical_difference, groups, control, differing)
    limit = critical_difference if critical_difference is not None else 0.0
    ranks = dict(zip(names, map(float, average_ranks), strict=True))
    if control is None:
        joined = _within(ranks, limit) if groups is None else [list(group) for group in groups]
        marked = None
    else:
        joined = []
        far = [name for name in names if abs(ranks[name] - ranks[control]) > limit]
        marked = set(far if differing is None else differing)
    return RankDrawing(ranks, critical_difference, joined, control, marked, title, width).diagram()


def _within(ranks: dict[str, float], limit: float) -> list[list[str]]:
    names = list(ranks)
    beyond = [
        (a, b) for i, a in enumerate(names) for b in names[:i] if abs(ranks[a] - ranks[b]) > limit
    ]
    return [list(group) for group in groups_of(names, list(ranks.values()), beyond)]


def _check(
    names: Sequence[str],
    average_ranks: Sequence[float],
    critical_difference: float | None,
    groups: Sequence[Collection[str]] | None,
    control: str | None,
    differing: Collection[str] | None,
) -> None:
    if len(names) < 2 or len(names) != len(average_ranks) or len(set(names)) != len(names):
        raise InputError(
            f"{counted(len(names), 'name')} and {counted(len(average_ranks), 'average rank')}",
            hint="Expected two or more different names and one rank for each.",
        )
    if control is not None and control not in names:
        raise InputError(f"the control {control!r} is none of the methods: {', '.join(names)}")
    told = groups if control is None else differing
    if critical_difference is None and told is None:
        raise InputError(
            "neither a critical difference nor what differs is given",
            hint="Give critical_difference, or groups (with a control: differing).",
        )
