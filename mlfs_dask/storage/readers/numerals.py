"""Numbers in text: correctly rounded, equal to what Python's ``float`` gives.

Whole blocks go through a JSON decoder, whose number grammar is part of ours; what it refuses is
looked at cell by cell with :func:`parse_number`, which knows the full grammar and can complain.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Final

import msgspec
import numpy as np

from mlfs_dask._typing import FloatArray

_NUMBER: Final = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FLOATS: Final = msgspec.json.Decoder(list[float])
_OPTIONAL_FLOATS: Final = msgspec.json.Decoder(list[float | None])


def parse_number(text: bytes) -> float | None:
    """Value of a decimal number; NaN for ``nan`` in any case; None if it is no number.

    Infinities are returned as such (also of numbers beyond float64); callers refuse them.

    Examples
    --------
    >>> parse_number(b"+.5e1"), parse_number(b"1_0"), parse_number(b"NaN")
    (5.0, None, nan)
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    word = text.lower()
    if word == b"nan":
        return math.nan
    if word.lstrip(b"+-") in (b"inf", b"infinity"):
        return math.inf
    return None


def decode_numbers(joined: bytes, *, missing: bool = False) -> FloatArray | None:
    """Numbers separated by commas, all at once.

    Parameters
    ----------
    joined
        Text without brackets, braces and quotes.
    missing
        Cells may be ``null``, which gives NaN.

    Returns
    -------
    ndarray of float64 or None
        None if some cell is not a plain JSON number: look at the cells one by one.

    Examples
    --------
    >>> decode_numbers(b"1,2.5e-3,-4").tolist()
    [1.0, 0.0025, -4.0]
    >>> decode_numbers(b"1,,2") is None
    True
    """
    text = b"[" + joined + b"]"
    try:
        if missing:
            return np.array(_OPTIONAL_FLOATS.decode(text), dtype=np.float64)
        values = _FLOATS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    # Twice as fast as numpy's own ways from a list of floats.
    return np.frombuffer(bytearray(struct.pack(f"{len(values)}d", *values)), dtype=np.float64)
