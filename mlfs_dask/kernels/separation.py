"""Which features separate two rows, 64 features at a time.

A feature separates two rows if both know its value and the values differ by more than a radius.
Every feature has a *slot*; the slots of 64 features make one word, and every question about a pair
of rows is asked of words::

    cells that are mostly 0, or 0 and one more value        any other cells
    ┌ far  : |v| > radius    ┐                              ┌ values side by side, NaN where
    │ zero : v = 0           │ two bits per cell            │ missing: 16 are compared at once
    └ some : v ≠ 0, and v  ──┘ where two values other       └
                               than 0 may be apart
    word = far(i) & zero(j) | zero(i) & far(j) | ...        word = |v(i) - v(j)| > radius

A missing cell has none of these bits. Words stand in the order of what they are likely to separate,
so that the first word settles most pairs; the first eight are kept apart (`Rows.head`), since most
pairs need no more.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import merged
from mlfs_dask.kernels.lanes import count_ones, intrinsic, lowest_bit

cgutils: Any = _cgutils  # ships no types

WordArray: TypeAlias = NDArray[np.uint64]

HEAD_WORDS = 8
LANES = 16
"""Values that are compared at once."""
_SIXTEEN = np.uint64(0xFFFF)
STRIP, GROUP = 2048, 32
"""So many other rows stay in cache while so many own rows pass by."""
NOWHERE = -1
"""Slot of a feature that separates no rows at all."""


class Layout(NamedTuple):
    """Where features stand.

    Attributes
    ----------
    slot : ndarray of int64, shape (n_features,)
        64 times the word, plus the bit; ``NOWHERE``: the feature separates nothing.
    radius : ndarray of float64, shape (n_features,)
    valued : ndarray of bool, shape (n_features,)
        Two values other than 0 may be further apart than the radius.
    n_head, n_side, n_tail : int
        Words of the head, of values side by side, of the tail; in this order.
    n_lanes : int
        Values side by side in a row, a multiple of 16.
    """

    slot: IntArray
    radius: FloatArray
    valued: NDArray[np.bool_]
    n_head: int
    n_side: int
    n_tail: int
    n_lanes: int

    @property
    def n_words(self) -> int:
        """All words."""
        return self.n_head + self.n_side + self.n_tail

    def slot_radius(self, start: int, stop: int) -> FloatArray:
        """Radii by slot, infinite where no feature stands.

        Parameters
        ----------
        start, stop
            Slots.
        """
        found = np.full(stop - start, np.inf)
        inside = (self.slot >= start) & (self.slot < stop)
        found[self.slot[inside] - start] = self.radius[inside]
        return found


class Planes(NamedTuple):
    """Bits of some rows, one word per 64 features.

    Attributes
    ----------
    far, zero : ndarray of uint64, shape (n_rows, n_words)
    some : ndarray of uint64, shape (n_rows, n_words or 0)
        No words where no feature is `valued`.
    place : ndarray of int64, shape (n_rows, n_words or 0)
        Where the values of the first bit of each word of ``some`` stand in ``values``.
    values : ndarray of float64
        Values that bits of ``some`` stand for.
    radius : ndarray of float64, shape (64 * n_words,)
        By slot of these words.
    """

    far: WordArray
    zero: WordArray
    some: WordArray
    place: IntArray
    values: FloatArray
    radius: FloatArray

    def part(self, start: int, stop: int) -> Planes:
        """Rows ``start:stop``, without a copy."""
        rows = slice(start, stop)
        return self._replace(
            far=self.far[rows],
            zero=self.zero[rows],
            some=self.some[rows],
            place=self.place[rows],
        )


class Side(NamedTuple):
    """Values of some rows side by side.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (n_rows * width,)
        NaN if missing, row after row.
    width : int
        Values of a row, a multiple of 16.
    radius : ndarray of float64, shape (width,)
        Infinite where no feature stands.
    """

    values: AnyArray
    width: int
    radius: FloatArray


class Rows(NamedTuple):
    """Rows as they are compared.

    Attributes
    ----------
    head : Planes
    side : Side
    tail : Planes
    labels : ndarray of uint64, shape (n_rows, n_label_words)
    """

    head: Planes
    side: Side
    tail: Planes
    labels: WordArray

    def part(self, start: int, stop: int) -> Rows:
        """Rows ``start:stop``, without a copy."""
        values, width, radius = self.side
        side = Side(values[start * width : stop * width], width, radius)
        head, tail = self.head.part(start, stop), self.tail.part(start, stop)
        return Rows(head, side, tail, self.labels[start:stop])


class Panel(NamedTuple):
    """Rows of a block, and those they are compared with.

    Attributes
    ----------
    own, other : Rows
    base : int
        ``other`` are the rows from this one on among all rows.
    """

    own: Rows
    other: Rows
    base: int


class Chosen(NamedTuple):
    """A set of features, by their slots.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words,)
    head, tail : ndarray of int64
        Words of the head and of the tail that aren't empty.
    groups : ndarray of int64
        Sixteens of values side by side that aren't empty.
    """

    words: WordArray
    head: IntArray
    groups: IntArray
    tail: IntArray


def make_layout(
    radius: FloatArray,
    power: FloatArray,
    *,
    side: NDArray[np.bool_],
    valued: NDArray[np.bool_],
    inert: NDArray[np.bool_],
) -> Layout:
    """Give every feature a slot.

    Parameters
    ----------
    radius : ndarray of float64, shape (n_features,)
    power : ndarray of float64, shape (n_features,)
        About how many pairs each feature separates: those of many come first.
    side : ndarray of bool, shape (n_features,)
        Values are kept side by side; the others are kept as bits.
    valued : ndarray of bool, shape (n_features,)
        See `Layout`.
    inert : ndarray of bool, shape (n_features,)
        Features that separate nothing.
    """
    order = np.argsort(-power, kind="stable")
    bits = order[~side[order] & ~inert[order]]
    lanes = order[side[order] & ~inert[order]]
    n_words = -(-len(bits) // 64)
    n_head = min(n_words, HEAD_WORDS)
    n_lanes = LANES * -(-len(lanes) // LANES)
    n_side = -(-n_lanes // 64)
    slot = np.full(len(radius), NOWHERE, dtype=np.int64)
    places = np.arange(len(bits))
    slot[bits] = np.where(places < 64 * n_head, places, places + 64 * n_side)
    slot[lanes] = 64 * n_head + np.arange(len(lanes))
    return Layout(slot, radius, valued & ~side, n_head, n_side, n_words - n_head, n_lanes)


def choose(layout: Layout, features: IntArray) -> Chosen:
    """A set of features.

    Parameters
    ----------
    layout
        Where features stand.
    features : ndarray of int64
        Indices, in any order.
    """
    slots = layout.slot[features]
    slots = slots[slots != NOWHERE]
    words = np.zeros(layout.n_words, dtype=np.uint64)
    np.bitwise_or.at(words, slots >> 6, np.uint64(1) << (slots & 63).astype(np.uint64))
    return choose_words(layout, words)


def choose_words(layout: Layout, words: WordArray) -> Chosen:
    """As :func:`choose`, of features given by their slots: a message of 49,060 is 6 KB.

    Parameters
    ----------
    layout
        Where features stand.
    words : ndarray of uint64, shape (n_words,)
        Bits of the slots.
    """
    words = np.array(words)  # of a message they are read-only, which kernels don't know
    side = slice(layout.n_head, layout.n_head + layout.n_side)
    halves = words[side].view(np.uint16)  # the low half first: little-endian processors only
    return Chosen(
        words,
        np.flatnonzero(words[: side.start]),
        np.flatnonzero(halves),
        np.flatnonzero(words[side.stop :]),
    )


@intrinsic
def lanes_apart(
    typing_context: Any, left: Any, i: Any, right: Any, j: Any, radius: Any, k: Any
) -> Any:
    """Return the mask of ``|left[i + l] - right[j + l]| > radius[k + l]`` for 16 lanes l.

    The arrays are one-dimensional, the difference is taken in float64; NaN compares false.
    """
    signature = types.uint64(left, types.intp, right, types.intp, radius, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.VectorType(ir.DoubleType(), LANES)

        def load(position: int) -> Any:
            kind = signature.args[position]
            array = cgutils.create_struct_proxy(kind)(context, builder, arguments[position])
            pointer = builder.gep(array.data, [arguments[position + 1]])
            size = kind.dtype.bitwidth // 8
            vector = wide if size == 8 else ir.VectorType(ir.FloatType(), LANES)
            loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=size)
            return loaded if size == 8 else builder.fpext(loaded, wide)

        gap = builder.fsub(load(0), load(2))
        absolute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(wide, [wide]), f"llvm.fabs.v{LANES}f64"
        )
        mask = builder.fcmp_ordered(">", builder.call(absolute, [gap]), load(4))
        # Lane 0 becomes bit 0 on little-endian processors, the only ones supported.
        return builder.zext(builder.bitcast(mask, ir.IntType(LANES)), ir.IntType(64))

    return signature, generate


@merged
def plane_word(own: Planes, i: int, other: Planes, j: int, w: int) -> Any:
    """Return the word w of what separates row i from row j by their bits."""
    word = (own.far[i, w] & other.zero[j, w]) | (own.zero[i, w] & other.far[j, w])
    if own.some.shape[1] > 0:
        both = own.some[i, w] & other.some[j, w]
        while both:
            bit = both & (~both + np.uint64(1))
            below = bit - np.uint64(1)
            a = own.values[own.place[i, w] + np.int64(count_ones(own.some[i, w] & below))]
            b = other.values[other.place[j, w] + np.int64(count_ones(other.some[j, w] & below))]
            if abs(a - b) > own.radius[64 * w + np.int64(lowest_bit(bit))]:
                word |= bit
            both ^= bit
    return word


@merged
def side_mask(own: Side, i: int, other: Side, j: int, k: int) -> Any:
    """Return what separates row i from row j by the values ``k:k + 16``, in 16 bits."""
    width = own.width
    return lanes_apart(own.values, i * width + k, other.values, j * width + k, own.radius, k)


@merged
def is_separated(own: Rows, i: int, other: Rows, j: int, chosen: Chosen) -> bool:
    """Return whether one of the chosen features separates row i from row j."""
    n_head = own.head.far.shape[1]
    for x in range(len(chosen.head)):
        w = chosen.head[x]
        if plane_word(own.head, i, other.head, j, w) & chosen.words[w]:
            return True
    for x in range(len(chosen.groups)):
        g = chosen.groups[x]
        wanted = chosen.words[n_head + (g >> 2)] >> np.uint64(LANES * (g & 3))
        if side_mask(own.side, i, other.side, j, LANES * g) & wanted:
            return True
    begin = n_head + ((own.side.width + 63) >> 6)
    for x in range(len(chosen.tail)):
        w = chosen.tail[x]
        if plane_word(own.tail, i, other.tail, j, w) & chosen.words[begin + w]:
            return True
    return False


@merged
def separators(own: Rows, i: int, other: Rows, j: int, w: int, wanted: Any) -> Any:
    """Return the wanted features among those of word w that separate row i from row j."""
    n_head = own.head.far.shape[1]
    if w < n_head:
        return wanted & plane_word(own.head, i, other.head, j, w)
    begin = n_head + ((own.side.width + 63) >> 6)
    if w >= begin:
        return wanted & plane_word(own.tail, i, other.tail, j, w - begin)
    found, k = np.uint64(0), 64 * (w - n_head)
    for shift in range(0, min(64, own.side.width - k), LANES):
        sixteen = wanted >> np.uint64(shift) & _SIXTEEN
        if sixteen:
            mask = side_mask(own.side, i, other.side, j, k + shift)
            found |= (mask & sixteen) << np.uint64(shift)
    return found


@merged
def violates(labels: WordArray, i: int, other: WordArray, j: int) -> bool:
    """Return whether row j lacks a label that row i carries."""
    lacking = np.uint64(0)
    for w in range(labels.shape[1]):
        lacking |= labels[i, w] & ~other[j, w]
    return bool(lacking != 0)
