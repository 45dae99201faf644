"""What tests of significance found, in sentences: for reports and for the command line.

The documents are those of ``tests.json``.
"""

from __future__ import annotations

from typing import Any, Final

from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.wording import counted

_NAMES: Final = {
    "friedman": "Friedman",
    "wilcoxon": "Wilcoxon",
    "nemenyi": "Nemenyi",
    "bonferroni-dunn": "Bonferroni-Dunn",
    "holm": "Holm",
}


def method_words(document: dict[str, Any], label: str) -> str:
    """Name of a compared method; the baseline by what it is, unless a label has that name.

    Parameters
    ----------
    document
        A comparison.
    label
        One of its methods.
    """
    plain = "all features"
    return plain if label == BASELINE and plain not in document["methods"] else label


def where_words(document: dict[str, Any]) -> str:
    """What is the same in all columns: the data set, the classifier or the selector.

    Parameters
    ----------
    document
        A comparison.
    """
    parts: list[str] = [] if document["dataset"] is None else [document["dataset"]]
    if document["classifier"] is not None:
        parts.append(f"judged by {document['classifier']}")
    elif document["selector"] == BASELINE:
        parts.append("on all features")
    else:
        parts.append(f"on features of {document['selector']}")
    return ", ".join(parts)


def point_words(at: dict[str, Any] | str | None) -> str:
    """At which point of the curves methods are compared.

    Parameters
    ----------
    at
        The key of ``[compare]``.

    Examples
    --------
    >>> point_words({"fraction": 0.2, "count": None}), point_words("best")
    ('at 20 % of the features', 'each at its best point')
    """
    if isinstance(at, dict):
        share = at.get("fraction")
        if share is not None:
            return f"at {100 * share:g} % of the features"
        return f"at {counted(at['count'], 'feature')}"
    if at == "best":
        return "each at its best point"
    return "each with its own subset" if at == "selected" else "at the one point judged"


def test_words(document: dict[str, Any]) -> str:
    """The test and its verdict.

    Parameters
    ----------
    document
        A comparison that was tested.
    """
    test = document["test"]
    level = f"at the level {test['alpha']:g}"
    if test["name"] == "wilcoxon":
        some = "some methods differ" if test["rejects"] else "no difference is established"
        return f"Wilcoxon signed ranks with Holm's correction: {level} {some}."
    corrected = ""
    if 0 < test["tie_factor"] < 1:
        exact = test["chi_square"] / test["tie_factor"]
        corrected = f", {exact:.3f} if corrected for ties"
    f_statistic = "infinite" if test["f_statistic"] is None else f"{test['f_statistic']:.3f}"
    first, second = test["f_df"]
    verdict = "the methods differ" if test["rejects"] else "no difference is established"
    return (
        f"Friedman: chi-square {test['chi_square']:.3f} ({test['chi_square_df']} df, "
        f"{p_words(test['chi_square_p_value'])}{corrected}); Iman-Davenport F {f_statistic} "
        f"({first} and {second} df, critical {test['f_critical']:.3f}, "
        f"{p_words(test['f_p_value'])}). {level.capitalize()} {verdict}."
    )


def verdict_words(document: dict[str, Any]) -> str:
    """The verdict of the test, short.

    Parameters
    ----------
    document
        A comparison that was tested.
    """
    test = document["test"]
    verdict = "the methods differ" if test["rejects"] else "no difference is established"
    if test["name"] == "wilcoxon":
        return f"Wilcoxon, Holm: {verdict}."
    return f"Friedman, F: {p_words(test['f_p_value'])}, {verdict}."


def post_hoc_words(document: dict[str, Any]) -> str:
    """The post-hoc test: what it compared and how far apart is far enough.

    Parameters
    ----------
    document
        A comparison that was tested.
    """
    post_hoc = document["post_hoc"]
    control = post_hoc["control"]
    pairs = "all pairs" if control is None else f"all against {method_words(document, control)}"
    limit = post_hoc["critical_difference"]
    far = "adjusted p-values" if limit is None else f"critical difference {limit:.3f}"
    return f"{_NAMES[post_hoc['name']]}, {pairs}: {far}."


def difference_words(document: dict[str, Any]) -> list[str]:
    """The differences that were found, one sentence each.

    Parameters
    ----------
    document
        A comparison that was tested.
    """
    found = []
    for pair in document["post_hoc"]["pairs"]:
        if pair["significant"] and pair["better"] is not None:
            worse = pair["second"] if pair["better"] == pair["first"] else pair["first"]
            better, worse = (method_words(document, name) for name in (pair["better"], worse))
            found.append(f"{better} is better than {worse} ({p_words(pair['adjusted_p_value'])})")
    return found


def caution_words(document: dict[str, Any], compare: dict[str, Any]) -> list[str]:
    """What to keep in mind when reading a comparison.

    Parameters
    ----------
    document
        A comparison.
    compare
        The resolved ``[compare]`` table.
    """
    found = []
    test, post_hoc = document["test"], document["post_hoc"]
    if (
        test is not None
        and not test["rejects"]
        and any(p["significant"] for p in post_hoc["pairs"])
    ):
        found.append(
            "The test itself does not reject, so the differences after it are not established."
        )
    if document["dropped"]:
        found.append(f"Left out for a missing cell: {', '.join(document['dropped'])}.")
    if document["absent"]:
        found.append(f"Without any result: {', '.join(document['absent'])}.")
    if compare["over"] == "folds":
        found.append("Training rows of folds overlap, so these p-values are too small.")
    if compare["at"] == "best":
        found.append("The best points were chosen on these very folds, so they flatter.")
    return found


def p_words(p_value: float) -> str:
    """A p-value, short.

    Parameters
    ----------
    p_value
        From 0 to 1.

    Examples
    --------
    >>> p_words(0.03041), p_words(0.00002)
    ('p = 0.0304', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3g}"
