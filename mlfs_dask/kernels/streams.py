"""NumPy's own random streams for many rows at once.

One generator per row makes what a row draws independent of which other rows are drawn, but making
a generator costs ten times what a row of a few hundred numbers does. Here the streams
``default_rng(SeedSequence(seed, spawn_key=(kind, row)))`` of consecutive rows are seeded together
and drawn by a kernel, to the same bits: seeding by O'Neill's ``seed_seq`` as NumPy has it, drawing
by PCG64 (XSL-RR 128/64).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import IntArray
from mlfs_dask.kernels._jit import inline, jit

Words = NDArray[np.uint32]
States = NDArray[np.uint64]

# Constants of NumPy's SeedSequence: two hashes and the function that mixes them.
_HASH_A: Final = 0x43B0D7E5
_STEP_A: Final = 0x931E8875
_HASH_B: Final = 0x8B51F9DD
_STEP_B: Final = 0x58F38DED
_LEFT: Final = np.uint32(0xCA01F9DD)
_RIGHT: Final = np.uint32(0x4973F715)
_POOL: Final = 4
_WORD: Final = 2**32
_SHIFT: Final = np.uint32(16)

# PCG64's multiplier, high and low half.
_HIGH: Final = np.uint64(0x2360ED051FC65DA4)
_LOW: Final = np.uint64(0x4385DF649FCCF645)
_HALF: Final = np.uint64(32)
_MASK: Final = np.uint64(0xFFFFFFFF)
_ONE: Final = np.uint64(1)
_UNIT: Final = 1.0 / 2**53


def row_states(seed: int, kind: int, start: int, stop: int) -> States:
    """States of the generators of consecutive rows.

    Parameters
    ----------
    seed
        Entropy, not negative, of any size.
    kind
        First number of the spawn key; the second is the row.
    start, stop
        Rows, at most 2^32.

    Returns
    -------
    ndarray of uint64, shape (stop - start, 4)
        High and low half of PCG64's state, high and low half of its increment.

    Examples
    --------
    >>> import numpy as np
    >>> stream = np.random.SeedSequence(7, spawn_key=(2, 40))
    >>> state = np.random.default_rng(stream).bit_generator.state["state"]
    >>> high, low, _, _ = (int(half) for half in row_states(7, 2, 40, 41)[0])
    >>> state["state"] == high * 2**64 + low
    True
    """
    rows = np.arange(start, stop, dtype=np.uint32)
    words = _generated(_pool_of_rows(seed, kind, rows)).astype(np.uint64)
    halves = words[0::2] | (words[1::2] << _HALF)
    return _seeded(np.ascontiguousarray(halves.T))


def draw_below(states: States, n_draws: int, bound: float) -> tuple[IntArray, IntArray]:
    """Which of each row's first draws of ``random()`` are below a bound.

    Parameters
    ----------
    states : ndarray of uint64, shape (n_rows, 4)
        From :func:`row_states`; not changed.
    n_draws
        Draws per row.
    bound
        In [0, 1].

    Returns
    -------
    start : ndarray of int64, shape (n_rows + 1,)
        Row i has ``draw[start[i]:start[i + 1]]``.
    draw : ndarray of int64
        Numbers of its draws below the bound, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> stream = np.random.SeedSequence(0, spawn_key=(2, 1))
    >>> np.flatnonzero(np.random.default_rng(stream).random(20) < 0.2)
    array([ 2, 16, 18])
    >>> draw_below(row_states(0, 2, 1, 2), 20, 0.2)[1]
    array([ 2, 16, 18])
    """
    expected = len(states) * n_draws * bound
    room = int(expected + 6 * np.sqrt(expected)) + n_draws
    return _draw_below(states, n_draws, bound, room)


def _pool_of_rows(seed: int, kind: int, rows: Words) -> list[Words]:
    """Entropy pools after the rows' number, the last word of the key, was mixed in."""
    mixed = np.random.SeedSequence(seed, spawn_key=(kind,))
    n_words = max(_POOL, -(-seed.bit_length() // 32)) + 1
    # Each word hashed so far moved the constant on: 16 for the pool, then 4 for each further word.
    constant = _HASH_A * pow(_STEP_A, 16 + _POOL * (n_words - _POOL), _WORD) % _WORD
    pool = []
    for word in mixed.pool:
        hashed = rows ^ np.uint32(constant)
        constant = constant * _STEP_A % _WORD
        hashed = hashed * np.uint32(constant)
        hashed ^= hashed >> _SHIFT
        value = np.uint32(int(word) * int(_LEFT) % _WORD) - hashed * _RIGHT
        pool.append(value ^ (value >> _SHIFT))
    return pool


def _generated(pool: list[Words]) -> Words:
    """Eight words per row, shape (8, n_rows): two of 64 bits for the state, two for the stream."""
    words = np.empty((8, len(pool[0])), dtype=np.uint32)
    constant = _HASH_B
    for position in range(8):
        value = pool[position % _POOL] ^ np.uint32(constant)
        constant = constant * _STEP_B % _WORD
        value = value * np.uint32(constant)
        words[position] = value ^ (value >> _SHIFT)
    return words


@inline
def _multiply(high: np.uint64, low: np.uint64) -> tuple[np.uint64, np.uint64]:
    """``state * multiplier`` modulo 2^128, from products of 32 bits."""
    a, b = low >> _HALF, low & _MASK
    c, d = _LOW >> _HALF, _LOW & _MASK
    middle = a * d + ((b * d) >> _HALF)
    other = b * c + (middle & _MASK)
    carried = a * c + (middle >> _HALF) + (other >> _HALF)
    return carried + high * _LOW + low * _HIGH, low * _LOW


@inline
def _step(
    high: np.uint64, low: np.uint64, inc_high: np.uint64, inc_low: np.uint64
) -> tuple[np.uint64, np.uint64]:
    high, low = _multiply(high, low)
    total = low + inc_low
    return high + inc_high + np.uint64(total < low), total


@jit
def _seeded(halves: States) -> States:
    """PCG64's ``srandom``: one step from zero, the seed added, one more step."""
    states = np.empty_like(halves)
    for i in range(len(halves)):
        inc_high = (halves[i, 2] << _ONE) | (halves[i, 3] >> np.uint64(63))
        inc_low = (halves[i, 3] << _ONE) | _ONE
        low = inc_low + halves[i, 1]
        high = inc_high + halves[i, 0] + np.uint64(low < inc_low)
        high, low = _step(high, low, inc_high, inc_low)
        states[i, 0], states[i, 1] = high, low
        states[i, 2], states[i, 3] = inc_high, inc_low
    return states


@jit
def _draw_below(states: States, n_draws: int, bound: float, room: int) -> tuple[IntArray, IntArray]:
    start = np.zeros(len(states) + 1, dtype=np.int64)
    draw = np.empty(room, dtype=np.int64)
    found = 0
    for i in range(len(states)):
        if found + n_draws > len(draw):
            larger = np.empty(2 * len(draw) + n_draws, dtype=np.int64)
            larger[:found] = draw[:found]
            draw = larger
        high, low, inc_high, inc_low = states[i]
        for number in range(n_draws):
            high, low = _step(high, low, inc_high, inc_low)
            turn = high >> np.uint64(58)
            mixed = high ^ low
            bits = (mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63)))
            if np.float64(bits >> np.uint64(11)) * _UNIT < bound:
                draw[found] = number
                found += 1
        start[i + 1] = found
    return start, draw[:found].copy()
