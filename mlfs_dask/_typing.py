"""Array aliases whose names say the shape, and small protocols shared by all layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
ByteArray: TypeAlias = NDArray[np.uint8]
AnyArray: TypeAlias = NDArray[Any]

# Label indices of a two-class problem: (l,) is l against the rest, (a, b) is a against b.
Problem: TypeAlias = tuple[int, ...]
# Features of each problem, best first.
ProblemOrders: TypeAlias = Mapping[Problem, IntArray]

Conventions: TypeAlias = Literal["default", "mulan", "zhang", "sklearn"]
Normalize: TypeAlias = Literal["minmax", "none"]
Impute: TypeAlias = Literal["none", "mean"]
