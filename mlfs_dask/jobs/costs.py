"""What each feature costs: drawn from a distribution, or read from a file by the feature's name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.jobs.streams import costs_stream
from mlfs_dask.storage.readers.csv_lists import numbered_cells
from mlfs_dask.storage.readers.numerals import parse_number
from mlfs_dask.wording import counted, have

_SHOWN = 5


class CostSpec(Protocol):
    """How costs are drawn: ``uniform`` from low to high, ``normal`` with mean and std."""

    @property
    def distribution(self) -> str:
        """``uniform`` or ``normal``."""

    @property
    def low(self) -> float | None:
        """Smallest cost of ``uniform``."""

    @property
    def high(self) -> float | None:
        """Largest cost of ``uniform``."""

    @property
    def mean(self) -> float | None:
        """Mean of ``normal``."""

    @property
    def std(self) -> float | None:
        """Standard deviation of ``normal``."""


def draw_costs(spec: CostSpec, n_features: int, seed: int) -> FloatArray:
    """One cost for each feature, all from stream (1,); negative draws become 0.

    Parameters
    ----------
    spec
        ``distribution`` is ``"uniform"`` (with ``low``, ``high``) or ``"normal"`` (``mean``,
        ``std``).
    n_features
        Of the data set; data sets with equally many features get equal costs.
    seed
        Of the job.

    Returns
    -------
    ndarray of float64, shape (n_features,)

    Raises
    ------
    InputError
        Another distribution; a number that is left out, not finite, or impossible; a sum that is
        no float64.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> spec = SimpleNamespace(distribution="uniform", low=0, high=100, mean=None, std=None)
    >>> draw_costs(spec, 3, seed=0).round(2).tolist()
    [67.72, 24.3, 61.18]
    """
    if spec.distribution not in ("uniform", "normal"):
        raise InputError(
            f"costs.distribution = {spec.distribution!r}: expected 'uniform' or 'normal'"
        )
    generator = np.random.default_rng(costs_stream(seed))
    if spec.distribution == "uniform":
        low, high = _finite("low", spec.low), _finite("high", spec.high)
        if not 0 <= low <= high:
            raise InputError(
                f"costs.low = {low:g}, costs.high = {high:g}: expected 0 <= low <= high"
            )
        return _summable(generator.uniform(low, high, n_features))
    mean, std = _finite("mean", spec.mean), _finite("std", spec.std)
    if std < 0:
        raise InputError(f"costs.std = {std:g}: it must not be negative")
    return _summable(np.maximum(generator.normal(mean, std, n_features), 0.0))


def read_costs(
    path: str | Path, feature_names: Sequence[str], *, may_name_others: bool = False
) -> FloatArray:
    r"""Costs from a CSV file with two columns, name and cost, in any order of the features.

    The first line is taken for a header if its second cell is no number, and is the word ``cost``
    or stands beside a name that no feature has. Names are compared as they are, blanks included.

    Parameters
    ----------
    path
        File in UTF-8, plain, gzip or bzip2.
    feature_names
        Of the data set; each must be named once.
    may_name_others
        Whether the file may name other features too, which have yet to come.

    Returns
    -------
    ndarray of float64, shape (n_features,)

    Raises
    ------
    NotFoundError
        No such file.
    DataFileError
        An unknown feature (unless others may be named), one named twice or not at all; a cost that
        is negative or no finite number, or a sum that is none; a line without exactly two cells.
        Names the file and, where there is one, the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "costs.csv"
    ...     _ = file.write_text("name,cost\nage,1\nbiopsy,99.5\n")
    ...     read_costs(file, ["biopsy", "age"]).tolist()
    [99.5, 1.0]
    """
    file = Path(path)
    index = {name: position for position, name in enumerate(feature_names)}
    costs = np.full(len(feature_names), np.nan)
    seen: dict[str, int] = {}
    rows = numbered_cells(file, n_cells=2, expected="two cells, a feature's name and its cost")
    for number, (line, (name, text)) in enumerate(rows):
        cost = parse_number(text.strip().encode())
        if number == 0 and _is_header(name, text, cost, index):
            continue
        if name not in index and not may_name_others:
            raise _unknown(file, line, name, feature_names)
        if name in seen:
            raise DataFileError.at(
                file, line=line, problem=f"feature {name!r} has a cost in line {seen[name]} already"
            )
        if cost is None or not 0 <= cost < math.inf:
            raise DataFileError.at(
                file,
                line=line,
                problem=f"cost {text!r} of feature {name!r}",
                expected="a finite number, not negative",
            )
        seen[name] = line
        if name in index:
            costs[index[name]] = cost
    _refuse_left_out(file, [name for name in feature_names if name not in seen])
    if not _add_up(costs):
        raise DataFileError.at(file, problem=f"the costs {_TOO_MUCH}", expected="a larger unit")
    return costs


_TOO_MUCH: Final = "add up to more than 1.8e308, the largest number there is"


def _add_up(costs: FloatArray) -> bool:
    """Whether the cost of all features is a number: shares of it are taken."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(costs.sum()))


def _summable(costs: FloatArray) -> FloatArray:
    if not _add_up(costs):
        raise InputError(f"costs {_TOO_MUCH}", hint="Give them in a larger unit.")
    return costs


def _is_header(name: str, text: str, cost: float | None, index: dict[str, int]) -> bool:
    return cost is None and (text.strip().lower() == "cost" or name not in index)


def _unknown(file: Path, line: int, name: str, names: Sequence[str]) -> DataFileError:
    close = difflib.get_close_matches(name, names, n=1)
    return DataFileError.at(
        file,
        line=line,
        problem=f"no feature is named {name!r}",
        hint=f"Did you mean {close[0]!r}?" if close else "`mlfs data show` tells the names.",
    )


def _refuse_left_out(file: Path, left_out: list[str]) -> None:
    if left_out:
        n, shown = len(left_out), ", ".join(repr(name) for name in left_out[:_SHOWN])
        more = ", ..." if len(left_out) > _SHOWN else ""
        raise DataFileError.at(
            file,
            problem=f"{counted(n, 'feature')} {have(n)} no cost: {shown}{more}",
            expected="each feature once",
        )


def _finite(name: str, value: float | None) -> float:
    if value is None or not math.isfinite(value):
        raise InputError(f"costs.{name} = {value}: expected a finite number")
    return float(value)
