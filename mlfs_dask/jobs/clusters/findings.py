"""What ``mlfs doctor`` finds: what was looked at, how it is, what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["ok", "note", "warning", "problem"]

_SHOWN: Final = 4


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes
    ----------
    check
        What: ``"versions"``, ``"store"``, ``"clock"``, ...
    level
        ``"ok"``; ``"note"``, to be known; ``"warning"``, jobs run but not at their best;
        ``"problem"``, jobs fail, or would give other results, or are open to strangers.
    message
        How it is.
    fix
        What to do; None where nothing is to be done.
    """

    check: str
    level: Level
    message: str
    fix: str | None = None


def several(nodes: Iterable[str]) -> str:
    """Names of nodes, shortened.

    Parameters
    ----------
    nodes
        In any order.

    Examples
    --------
    >>> several(["b", "a"]), several("abcdefg")
    ('a, b', 'a, b, c, d and 3 more')
    """
    names = sorted(nodes)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
