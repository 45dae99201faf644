"""How long a run will take yet: by its pace, or by its plan while it has none."""

from __future__ import annotations

from datetime import datetime


def seconds_left(
    *, done: int, total: int, fresh: int, elapsed: float, planned: float | None
) -> float | None:
    """Time until the last unit is done, roughly.

    Parameters
    ----------
    done, total
        Finished units and all units.
    fresh
        Those that this session finished.
    elapsed
        Seconds from its start to the last of them.
    planned
        Seconds that the plan gave the whole run; None if it is not known.

    Returns
    -------
    float or None
        None if nothing is known yet, or the plan was wrong.

    Examples
    --------
    >>> seconds_left(done=30, total=40, fresh=20, elapsed=60.0, planned=None)
    30.0
    >>> seconds_left(done=0, total=40, fresh=0, elapsed=5.0, planned=65.0)
    60.0
    """
    left = max(0, total - done)
    if left == 0:
        return 0.0
    if fresh > 0:
        return elapsed / fresh * left
    if planned is None:
        return None
    expected = planned * left / total - elapsed
    return expected if expected > 0 else None


def seconds_between(earlier: str, later: str) -> float:
    """Seconds between two times in ISO 8601; not below 0, whatever a clock was set to.

    Parameters
    ----------
    earlier, later
        Of one clock.

    Examples
    --------
    >>> seconds_between("2026-01-02T03:04:05+00:00", "2026-01-02T03:05:06.500+00:00")
    61.5
    """
    between = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return max(0.0, between.total_seconds())
