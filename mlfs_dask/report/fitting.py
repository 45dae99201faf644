"""Text in pictures: how wide it will be, and how to fit a long name into the room there is.

A picture is laid out before any font is known, so widths are estimates on the safe side.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_NARROW: Final = frozenset("ijlftrI.,:;'|!()[]{}/\\ -\"`")
_WIDE: Final = frozenset("mwMW@%")
_ELLIPSIS: Final = "…"


def text_width(text: str, size: float) -> float:
    """Estimated width of a line of text.

    Parameters
    ----------
    text
        One line.
    size
        Size of the font; the width is in the same unit.

    Examples
    --------
    >>> text_width("ill", 10) < text_width("abc", 10) < text_width("MWM", 10)
    True
    """
    return size * sum(_em(character) for character in text)


def fit_lines(text: str, room: float, size: float, lines: int = 2) -> list[str]:
    """A text broken into lines that fit; of what does not, the middle is left out.

    The ends of long names tell the points of a sweep apart, so the last line keeps the end.

    Parameters
    ----------
    text
        What to show.
    room
        Width of a line.
    size
        Size of the font.
    lines
        How many lines there may be.

    Examples
    --------
    >>> fit_lines("SPEC Jaccard, eigenvectors", 100, 12)
    ['SPEC Jaccard,', 'eigenvectors']
    >>> fit_lines("a name that goes on and on and on", 100, 12)
    ['a name that', 'goes o…and on']
    """
    found: list[str] = []
    rest = text.strip()
    while rest and len(found) < lines:
        if text_width(rest, size) <= room:
            found.append(rest)
            break
        if len(found) == lines - 1:
            found.append(_without_middle(rest, room, size))
            break
        line = _cut(rest, room, size)
        if rest[len(line)] != " " and " " in line:
            line = line[: line.rindex(" ")]
        found.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    return found


def _without_middle(text: str, room: float, size: float) -> str:
    left = room - size * _em(_ELLIPSIS)
    tail = _cut(text[::-1], left / 2, size)[::-1]
    head = _cut(text[: -len(tail)], left - text_width(tail, size), size)
    return head + _ELLIPSIS + tail


def _cut(text: str, room: float, size: float) -> str:
    """The longest beginning that fits, at least one character."""
    used = 0.0
    for position, character in enumerate(text):
        used += size * _em(character)
        if used > room and position > 0:
            return text[:position]
    return text


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if character == _ELLIPSIS or unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _NARROW:
        return 0.4
    if character in _WIDE:
        return 0.9
    return 0.72 if character.isupper() else 0.62
