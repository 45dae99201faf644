"""The keys of ``[compare]``: which methods are tested against each other, where and how."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

PostHocName: TypeAlias = Literal["nemenyi", "bonferroni-dunn", "holm"]


class PointAt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A point of the curves by its number of features; either key, not both."""

    fraction: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None, Meta(description="Share of the features.")
    ] = None
    count: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Number of features.")] = (
        None
    )


class Compare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tests of significance over the methods of the job."""

    over: Annotated[
        Literal["datasets", "folds"] | None,
        Meta(
            description="Rows of the tables: data sets (means over the folds), or the folds of "
            "each data set, whose training rows overlap. By default data sets if there are several."
        ),
    ] = None
    of: Annotated[
        Literal["selectors", "classifiers"],
        Meta(
            description="Columns of the tables: selectors under each classifier, or classifiers "
            "on each selector (and on all features)."
        ),
    ] = "selectors"
    at: Annotated[
        PointAt | Literal["best", "selected"] | None,
        Meta(
            description="Point of the curves: { fraction = .. }, { count = .. }, 'best' (by the "
            "mean over the folds, chosen on these folds) or 'selected' (subsets of their own "
            "size). May be left out where curves have one point."
        ),
    ] = None
    metrics: Annotated[
        tuple[str, ...] | None,
        Meta(description="One test for each; by default all of [evaluate]."),
    ] = None
    labels: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Methods to compare; by default all of the job. 'all' is the classifier "
            "on all features."
        ),
    ] = None
    test: Annotated[
        Literal["friedman", "wilcoxon"], Meta(description="See `mlfs methods tests`.")
    ] = "friedman"
    post_hoc: Annotated[
        PostHocName | None,
        Meta(
            description="What follows the test: by default nemenyi after friedman, "
            "bonferroni-dunn if there is a control, holm after wilcoxon."
        ),
    ] = None
    control: Annotated[
        str | None,
        Meta(description="Label of the method that all others are compared with."),
    ] = None
    alpha: Annotated[float, Meta(gt=0, lt=1, description="Level of the tests.")] = 0.05
    missing: Annotated[
        Literal["refuse", "drop"],
        Meta(
            description="Tables with a missing cell: 'refuse' tests nothing and says why, 'drop' "
            "leaves the row out for all methods."
        ),
    ] = "refuse"


def default_post_hoc(test: str, control: str | None) -> PostHocName:
    """The post-hoc test of a test where none is named.

    Parameters
    ----------
    test
        ``"friedman"`` or ``"wilcoxon"``.
    control
        The control, or None.

    Examples
    --------
    >>> default_post_hoc("friedman", None), default_post_hoc("friedman", "MLLAP")
    ('nemenyi', 'bonferroni-dunn')
    """
    if test == "wilcoxon":
        return "holm"
    return "nemenyi" if control is None else "bonferroni-dunn"


def post_hoc_problem(test: str, post_hoc: str, control: str | None) -> tuple[str, str] | None:
    """What is wrong with a choice of tests: the key and the problem; None if nothing is.

    Parameters
    ----------
    test, post_hoc, control
        As chosen.

    Examples
    --------
    >>> post_hoc_problem("friedman", "bonferroni-dunn", None)
    ('control', "missing; 'bonferroni-dunn' compares all methods with a control")
    """
    if test == "wilcoxon" and post_hoc != "holm":
        return "post_hoc", f"{post_hoc!r} works on average ranks; after 'wilcoxon' expected 'holm'"
    if post_hoc == "bonferroni-dunn" and control is None:
        return "control", "missing; 'bonferroni-dunn' compares all methods with a control"
    if post_hoc == "nemenyi" and control is not None:
        return "control", "'nemenyi' compares all pairs; leave it out, or take 'bonferroni-dunn'"
    return None
