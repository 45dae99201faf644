"""Rows that a method looks at, as its cost depends on them, and passes over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from mlfs_dask.jobs.workload import Stage

NS: Final = 1e-9
"""Costs are written down in nanoseconds."""
MIB: Final = 2**20
BRUTE_FEATURES: Final = 1024
"""Up to so many 0/1 features are compared bit by bit, also in sparse rows."""
_SPARSE_SHARE: Final = 1 / 16  # rows that store more are compared like dense ones
_TILES_CACHED: Final = 1024 * MIB  # decoded tiles that a process keeps

Params: TypeAlias = Mapping[str, Any]
"""Parameters of a method by name."""


@dataclass(frozen=True)
class Shape:
    """Rows that a selector or classifier learns from.

    Attributes
    ----------
    n, d, q
        Rows, features, labels.
    u
        Distinct label sets.
    per_row
        Stored values of a row.
    carried
        Labels of a row.
    sparse, bits
        Whether rows are sparse, and whether all values may be 0 or 1.
    item_bytes
        Of a stored value, with its column index if sparse.
    tile, all_rows
        Rows of a tile, and of the store.
    share
        Of what a process keeps with ample memory, that it may keep.
    """

    n: int
    d: int
    q: int
    u: int
    per_row: float
    carried: float
    sparse: bool
    bits: bool
    item_bytes: int
    tile: int
    all_rows: int
    share: float = 1.0

    @property
    def cells(self) -> float:
        """Stored values of the rows."""
        return self.n * self.per_row

    @property
    def tiles(self) -> int:
        """Tiles of the store; a fold has rows in all of them."""
        return max(1, -(-self.all_rows // self.tile))

    @property
    def stored_bytes(self) -> float:
        """Of the store, decoded."""
        return self.all_rows * (self.per_row * self.item_bytes + 8 * self.sparse)

    @property
    def tile_bytes(self) -> float:
        """Of one tile, decoded."""
        return self.stored_bytes / self.all_rows * min(self.tile, self.all_rows)

    @property
    def is_cached(self) -> bool:
        """Whether a process keeps all tiles once it read them."""
        limit = _TILES_CACHED * self.share
        return self.stored_bytes <= limit and self.tile_bytes <= limit / 4

    @property
    def compared_by(self) -> Literal["bits", "meetings", "postings", "distances"]:
        """How rows are compared: whole, or by the cells they store."""
        if self.bits:
            few = self.sparse and self.d > BRUTE_FEATURES
            return "meetings" if few and self.per_row <= _SPARSE_SHARE * self.d else "bits"
        if self.sparse and self.per_row <= _SPARSE_SHARE * self.d:
            return "postings"
        return "distances"


def passes(
    s: Shape, name: str, ns: float, *, times: float = 1.0, result: float = 0.0, first: bool = False
) -> Stage:
    """Passes over all tiles.

    Parameters
    ----------
    s
        Rows.
    name
        What is done.
    ns
        Nanoseconds of each stored value.
    times
        How many passes.
    result
        Bytes that a tile gives back.
    first
        Whether tiles are read for the first time.
    """
    read = times if not s.is_cached else float(first)
    return Stage(
        name,
        times * s.cells * ns * NS,
        tasks=times * s.tiles,
        result_bytes=times * s.tiles * result,
        rounds=times,
        read_bytes=read * s.stored_bytes,
    )


def summary(s: Shape) -> Stage:
    """Extremes, sums and kinds of all columns: what every selector begins with."""
    return passes(s, "columns", 4.0 if s.sparse else 0.3, result=56.0 * s.d, first=True)


def prepared(s: Shape) -> Stage:
    """Rows brought to the form in which they are compared."""
    return passes(s, "preparing", 20.0 if s.sparse else 4.0)


def blocks(s: Shape) -> float:
    """Tasks of a search among all rows."""
    return max(8.0, s.n / 1024)
