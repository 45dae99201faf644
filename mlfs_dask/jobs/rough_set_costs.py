"""Time of rough sets: pairs of rows that nothing tells apart at once, then choices.

How many features are chosen, and how many pairs of rows features of few rows leave, is in the rows,
which a plan does not read; `guess_choices` says what was taken for true.
"""

from __future__ import annotations

import math
from typing import Final

from mlfs_dask.graphs.budget import AMPLE
from mlfs_dask.graphs.task_sizes import PREPARED_BYTES, have_room
from mlfs_dask.jobs.row_shape import NS, Params, Shape, blocks, passes, prepared, summary
from mlfs_dask.jobs.workload import Stage, Work
from mlfs_dask.wording import are, counted

_FIRST: Final = 50.0  # choices, of which the first ones take longest


def prepared_bytes(s: Shape) -> float:
    """Of all rows in the form in which they are compared.

    Parameters
    ----------
    s
        Rows.
    """
    words = 8.0 * 2 * (s.d / 64 + 1) * (1 if s.bits else 2)
    return s.n * (words + (0.0 if s.bits else 8.0 * s.per_row) + 8)


def are_kept(s: Shape, share: float) -> bool:
    """Whether rows are prepared once; else tile by tile, whenever they are compared.

    Parameters
    ----------
    s
        Rows.
    share
        Of what a process keeps with ample memory.
    """
    size = prepared_bytes(s)
    fits = have_room(size, s.n, s.stored_bytes, AMPLE * share, share)
    return size <= PREPARED_BYTES * share and fits


def rough_set(s: Shape, params: Params) -> Work:
    """Looks at pairs that features of few rows leave, then one at each row for each choice.

    Sums of differences look at all features of all pairs.
    """
    pairs, words = float(s.n) * s.n, s.d / 64 + 1
    if params.get("aggregate") == "sum":
        stages = [Stage("pairs of rows", pairs * s.d**2 * NS, s.tiles)]
    else:
        chosen = rounds = _chosen(s, params)
        if s.bits:
            of_a_pair, of_a_word = 3.0 if s.sparse else 15.0, 27.0
        else:
            of_a_pair, of_a_word = (4.5, 50.0) if s.sparse else (22.0, 10.0)
            # The first choices leave most rows open, which look at all others each time.
            chosen = max(chosen, _FIRST * (chosen / _FIRST) ** 0.3) if s.sparse else chosen
        each, of_a_choice = blocks(s), s.n * words * of_a_word
        if not are_kept(s, s.share):
            # They are made anew for every tile. Nor are there lists of the rows that store a
            # feature, so that each open row looks at all others.
            each = float(s.tiles)
            if s.sparse:
                chosen, of_a_choice = rounds, pairs * (35.0 if s.bits else 70.0)
            of_a_choice += each * prepared(s).seconds / NS
        stages = [
            Stage("pairs of rows", pairs * of_a_pair * NS, each),
            Stage(
                "choices",
                chosen * of_a_choice * NS,
                tasks=rounds * each,
                result_bytes=rounds * each * 2.0 * s.d,  # counts of less than 65,536 rows
                rounds=rounds,
            ),
        ]
    road = "rough sets of bits" if s.bits else "rough sets"
    return Work(road, (summary(s), passes(s, "spread", 6.0), prepared(s), *stages))


def _chosen(s: Shape, params: Params) -> float:
    """Features that are chosen: more where each is other than 0 in few rows."""
    guess = 8.0 * math.log2(s.n + 1)
    if s.sparse:
        guess = max(guess, math.log(s.n + 1) * s.d / s.per_row / 6)
    return float(min(s.d, params.get("max_features") or guess))


def guess_choices(s: Shape, params: Params) -> str:
    """What the time of rough sets depends on, in words.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    chosen = round(_chosen(s, params))
    more = {**params, "max_features": 2 * chosen}
    times = rough_set(s, more).seconds / rough_set(s, {**params, "max_features": chosen}).seconds
    are_chosen = f"{counted(chosen, 'feature')} {are(chosen)} chosen"
    return (
        f"time rests on a guess that {are_chosen} (twice as many would take "
        f"{times:.1f} times as long), and that rows of other labels are mostly told apart by "
        "features of few rows"
    )
