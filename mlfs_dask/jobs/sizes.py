"""Sizes in bytes as people write them."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kKMGT]?i?B)\s*")
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse_bytes(text: str) -> int | None:
    """Bytes of a size like ``"4 GiB"`` or ``"500MB"``; None if it is none.

    Parameters
    ----------
    text
        A number and a unit; KiB, MiB, ... count by 1024, kB, MB, ... by 1000.

    Examples
    --------
    >>> parse_bytes("1.5 GiB"), parse_bytes("lots")
    (1610612736, None)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2].upper()
    base = 1024 if "I" in unit else 1000
    return int(float(match[1]) * base ** _POWERS[unit.rstrip("B").rstrip("I")])


def show_bytes(size: float) -> str:
    """A size for people.

    Parameters
    ----------
    size
        In bytes.

    Examples
    --------
    >>> show_bytes(3 * 2**20)
    '3.0 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def show_seconds(seconds: float) -> str:
    """A duration for people.

    Parameters
    ----------
    seconds
        How long.

    Examples
    --------
    >>> show_seconds(0.25), show_seconds(95), show_seconds(1e6)
    ('0.25 s', '1 min 35 s', '12 days')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    if minutes < 100 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    days = minutes / (24 * 60)
    return f"{days:.0f} days" if days < 1000 else f"{days / 365:,.0f} years"
