"""Codes of nominal values: 0/1 for two values, positions for more, and 0/1 for labels.

A nominal feature with two declared values is stored 0/1: 1 is the value spelled 1, yes, y, true,
t, present or pos (any case), else the second declared. With three or more, the code is the
position in the declaration. So ``{YES,NO}`` and ``{NO,YES}`` are stored alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray

_TRUE: Final = frozenset({"1", "yes", "y", "true", "t", "present", "pos"})
_LABEL_PAIRS: Final = ({"0", "1"}, {"false", "true"}, {"no", "yes"})
_LABEL_TRUE: Final = frozenset({"1", "true", "yes"})
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,14}")
_SMALL: Final = 256


@dataclass(frozen=True)
class CodeTable:
    """Codes of the values of one nominal attribute.

    Parameters
    ----------
    values
        In the order of the declaration.
    codes
        Code of each.
    """

    values: tuple[str, ...]
    codes: tuple[float, ...]
    by_text: dict[bytes, float] = field(init=False, repr=False, compare=False)
    by_number: dict[float, float] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pairs = list(zip(self.values, self.codes, strict=True))
        object.__setattr__(self, "by_text", {value.encode(): code for value, code in pairs})
        # Values that are all whole numbers match in any spelling, so that 1.0 is a 1.
        whole = all(_INTEGER.fullmatch(value) for value in self.values)
        numbers = {float(value): code for value, code in pairs} if whole else None
        object.__setattr__(self, "by_number", numbers)

    @property
    def categories(self) -> tuple[str, ...]:
        """Values in the order of their codes (of a table whose codes are 0, 1, 2, ...)."""
        return tuple(value for _, value in sorted(zip(self.codes, self.values, strict=True)))

    def small_lookup(self) -> FloatArray | None:
        """Codes by value, shape (256,), -1 where undeclared; None if the values are others.

        Others are texts, negative numbers and numbers above 255.
        """
        if self.by_number is None or not all(0 <= value < _SMALL for value in self.by_number):
            return None
        lookup = np.full(_SMALL, -1.0)
        for value, code in self.by_number.items():
            lookup[int(value)] = code
        return lookup


def feature_table(values: Sequence[str]) -> CodeTable:
    """Codes of a nominal feature.

    Examples
    --------
    >>> feature_table(["YES", "NO"]).codes, feature_table(["YES", "NO"]).categories
    ((1.0, 0.0), ('NO', 'YES'))
    >>> feature_table(["b", "a"]).codes, feature_table(["1", "2", "3"]).codes
    ((0.0, 1.0), (0.0, 1.0, 2.0))
    """
    if len(values) == 2:
        true = [value.lower() in _TRUE for value in values]
        if true == [True, False]:
            return CodeTable(tuple(values), (1.0, 0.0))
    return position_table(values)


def position_table(values: Sequence[str]) -> CodeTable:
    """Codes 0, 1, 2, ... in the order of the declaration."""
    return CodeTable(tuple(values), tuple(float(code) for code in range(len(values))))


def label_table(values: Sequence[str]) -> CodeTable | None:
    """0/1 of a label; None if its values are not 0 and 1, false and true, or no and yes.

    Examples
    --------
    >>> label_table(["1", "0"]).codes, label_table(["NO", "YES"]).codes, label_table(["a", "b"])
    ((1.0, 0.0), (0.0, 1.0), None)
    """
    words = [value.lower() for value in values]
    if len(words) == 2 and set(words) in _LABEL_PAIRS:
        return CodeTable(tuple(values), tuple(float(word in _LABEL_TRUE) for word in words))
    return None


def class_table(values: Sequence[str], positive: str) -> CodeTable:
    """0/1 of a class attribute: 1 for the positive value, 0 for every other."""
    return CodeTable(tuple(values), tuple(float(value == positive) for value in values))


def union(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Values of both declarations, those of the first in front.

    Examples
    --------
    >>> union(("a", "b"), ("c", "a"))
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys((*first, *second)))
