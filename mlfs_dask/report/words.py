"""How numbers and names are written in a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import Mean, Point

_NAME_SHOWN: Final = 64
# Characters that no HTML file may hold, and lone surrogates, which no encoding can write.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def printable(text: str) -> str:
    r"""The text with a replacement character for each that HTML does not allow.

    Parameters
    ----------
    text
        Anything.

    Examples
    --------
    >>> printable("tab\tand bell\x07") == "tab\tand bell\N{REPLACEMENT CHARACTER}"
    True
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(name: str, limit: int = _NAME_SHOWN) -> str:
    """A long name with its middle left out: the ends tell the points of a sweep apart.

    Parameters
    ----------
    name
        Any name.
    limit
        Most characters shown.

    Examples
    --------
    >>> shortened("a selector with a long name [phi=2]", 20)
    'a selector…e [phi=2]'
    """
    if len(name) <= limit:
        return name
    tail = (limit - 1) // 2
    return f"{name[: limit - 1 - tail].rstrip()}…{name[-tail:].lstrip()}"


def selector_words(selector: str) -> str:
    """Name of a selector, or what the baseline is.

    Parameters
    ----------
    selector
        As ``evaluation.csv`` has it.
    """
    return "all features" if selector == BASELINE else selector


def metric_words(metric: str) -> str:
    """Name of a measure.

    Parameters
    ----------
    metric
        As registered.
    """
    return metric.replace("_", " ")


def better_words(metric: str) -> str:
    """Direction of a measure.

    Parameters
    ----------
    metric
        As registered.
    """
    return direction_words(higher_is_better(metric))


def direction_words(higher: bool) -> str:
    """Direction of a score.

    Parameters
    ----------
    higher
        Whether higher is better.
    """
    return "higher is better" if higher else "lower is better"


def percent(share: float | None) -> str:
    """A share in percent; empty for None.

    Parameters
    ----------
    share
        From 0 to 1.

    Examples
    --------
    >>> percent(0.05), percent(1 / 3)
    ('5 %', '33.3 %')
    """
    return "" if share is None else f"{100 * share:.3g} %"


def count_words(count: float) -> str:
    """A number of features, perhaps a mean.

    Parameters
    ----------
    count
        At least 0.

    Examples
    --------
    >>> count_words(12000.0), count_words(7.25)
    ('12,000', '7.2')
    """
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.1f}"


def features_words(point: Point) -> str:
    """Where on a curve a point stands.

    Parameters
    ----------
    point
        A point.

    Examples
    --------
    ``12 features (20 %)``
    """
    noun = "feature" if point.n_features == 1 else "features"
    return f"{count_words(point.n_features)} {noun} ({percent(point.share)})"


def size_words(point: Point) -> str:
    """How many features a point has, under a heading that says so.

    Parameters
    ----------
    point
        A point.

    Examples
    --------
    ``12 (20 %)``
    """
    return f"{count_words(point.n_features)} ({percent(point.share)})"


def number(value: float | None, digits: int = 4) -> str:
    """A measure with fixed decimals; ``undefined`` for None.

    Parameters
    ----------
    value
        The measure.
    digits
        Decimals.
    """
    if value is None:
        return "undefined"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no minus before a zero


def mean_words(mean: Mean) -> str:
    """A mean with its standard deviation.

    Parameters
    ----------
    mean
        Over the folds.
    """
    return number(mean.value) + ("" if mean.spread is None else f" ± {mean.spread:.4f}")


def score_words(score: float | None) -> str:
    """A selector's score; empty for a feature without one.

    Parameters
    ----------
    score
        As in ``results.json``.
    """
    return "" if score is None else f"{score:#.6g}"


def plain_words(value: Any) -> str:
    """A value of a job file.

    Parameters
    ----------
    value
        Plain values.

    Examples
    --------
    >>> plain_words({"distribution": "uniform", "high": 100, "mean": None})
    'distribution = uniform, high = 100'
    >>> plain_words([0.1, 0.2, True])
    '0.1, 0.2, yes'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        known = {k: v for k, v in value.items() if v is not None}
        return ", ".join(f"{k} = {_nested(v)}" for k, v in known.items())
    if isinstance(value, (list, tuple)):
        return listed([_nested(each) for each in value])
    return str(value)


def listed(words: Sequence[str], limit: int = 24) -> str:
    """Words with commas; of many only the first, with their number.

    Parameters
    ----------
    words
        Any number.
    limit
        How many are shown.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b, ... (3 in all)'
    """
    shown = ", ".join(words[:limit])
    return shown if len(words) <= limit else f"{shown}, ... ({len(words)} in all)"


def _nested(value: Any) -> str:
    return f"({plain_words(value)})" if isinstance(value, (dict, list)) else plain_words(value)
