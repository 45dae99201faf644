"""Time of rough sets: pairs of rows that nothing tells apart at once, then choices.

How many features are chosen, and how many pairs of rows features of few rows leave, is in the rows,
which a plan does not read; `guess_choices` says what was taken for true.
"""

from __future__ import annotations

import math

from mlfs_dask.jobs.row_shape import NS, Params, Shape, blocks, passes, prepared, summary
from mlfs_dask.jobs.workload import Stage, Work


def rough_set(s: Shape, params: Params) -> Work:
    """Looks at pairs that features of few rows leave, then one at each row for each choice.

    Sums of differences look at all features of all pairs.
    """
    pairs, words = float(s.n) * s.n, s.d / 64 + 1
    if params.get("aggregate") == "sum":
        stages = [Stage("pairs of rows", pairs * s.d**2 * NS, s.tiles)]
    else:
        chosen = _chosen(s, params)
        of_a_pair, of_a_word = (3.0 if s.sparse else 15.0, 27.0) if s.bits else (30.0, 14.0)
        each = blocks(s)
        stages = [
            Stage("pairs of rows", pairs * of_a_pair * NS, each),
            Stage(
                "choices",
                chosen * s.n * words * of_a_word * NS,
                tasks=chosen * each,
                result_bytes=chosen * each * 2.0 * s.d,  # counts of less than 65,536 rows
                rounds=chosen,
            ),
        ]
    road = "rough sets of bits" if s.bits else "rough sets"
    return Work(road, (summary(s), passes(s, "spread", 6.0), prepared(s), *stages))


def _chosen(s: Shape, params: Params) -> float:
    return float(min(s.d, params.get("max_features") or 8.0 * math.log2(s.n + 1)))


def guess_choices(s: Shape, params: Params) -> str:
    """What the time of rough sets depends on, in words.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    chosen = round(_chosen(s, params))
    return (
        f"time rests on a guess that {chosen} features are chosen, and that rows of other labels "
        "are mostly told apart by features of few rows"
    )
