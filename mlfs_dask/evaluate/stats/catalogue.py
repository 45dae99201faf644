"""The table of tests that jobs, the command line and reports name."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from mlfs_dask.errors import InputError

Role: TypeAlias = Literal["test", "post_hoc"]


@dataclass(frozen=True, kw_only=True)
class Test:
    """One test of significance.

    Attributes
    ----------
    name
        In job files and on the command line.
    role
        ``"test"``, or ``"post_hoc"`` for what follows a test.
    target
        ``module:function`` behind it.
    control
        Whether a control is ``"needed"``, ``"possible"`` or ``"none"``.
    formula
        In plain text: k methods, N rows, average ranks R.
    """

    __test__ = False  # pytest collects classes of this name

    name: str
    role: Role
    target: str
    control: Literal["needed", "possible", "none"]
    formula: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function, imported on first use."""
        module, _, attribute = self.target.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        return function

    @property
    def summary(self) -> str:
        """First line of the function's documentation."""
        return (self.function.__doc__ or "").partition("\n")[0]


_HERE: Final = "mlfs_dask.evaluate.stats"
_STEP: Final = "z = (R_a - R_b) / sqrt(k (k + 1) / (6 N)), p-values by Holm"
_ALL: Final = (
    Test(
        name="friedman",
        role="test",
        target=f"{_HERE}.omnibus:friedman",
        control="none",
        formula="X = 12 N / (k (k + 1)) (sum R^2 - k (k + 1)^2 / 4); "
        "F = (N - 1) X / (N (k - 1) - X) against F(k - 1, (k - 1)(N - 1))",
    ),
    Test(
        name="wilcoxon",
        role="test",
        target=f"{_HERE}.signed_ranks:wilcoxon",
        control="possible",
        formula="sums of the ranks of |x_a - x_b| over the rows where a or b is better, "
        "p-values by Holm",
    ),
    Test(
        name="nemenyi",
        role="post_hoc",
        target=f"{_HERE}.all_pairs:nemenyi",
        control="none",
        formula="|R_a - R_b| > q sqrt(k (k + 1) / (6 N)), "
        "q = studentized range quantile(1 - alpha; k, inf) / sqrt(2)",
    ),
    Test(
        name="bonferroni-dunn",
        role="post_hoc",
        target=f"{_HERE}.one_control:bonferroni_dunn",
        control="needed",
        formula="|R_a - R_control| > q sqrt(k (k + 1) / (6 N)), "
        "q = normal quantile(1 - alpha / (2 (k - 1)))",
    ),
    Test(
        name="holm",
        role="post_hoc",
        target=f"{_HERE}.stepdown:holm",
        control="possible",
        formula=_STEP,
    ),
)

TESTS: Final[dict[str, Test]] = {test.name: test for test in _ALL}


def get_test(name: str) -> Test:
    """The test of a name.

    Parameters
    ----------
    name
        Key of :data:`TESTS`.

    Raises
    ------
    InputError
        No test has this name; the nearest known one is proposed.

    Examples
    --------
    >>> get_test("nemenyi").role
    'post_hoc'
    """
    if name in TESTS:
        return TESTS[name]
    near = difflib.get_close_matches(str(name), TESTS, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise InputError(f"no test is named {name!r}", hint=f"{hint}Known names: {', '.join(TESTS)}.")
