"""Sizes of what tasks hold at once.

Plans are made by them too, so nothing heavy is imported here.
"""

from typing import Final

COLUMN_BLOCK: Final = 256
"""Features of a block of a matrix product, zero-padded to it."""
SUMS_BYTES: Final = 32 * 2**20
"""Columns are taken in runs whose sums per group stay below this."""
PART_BYTES: Final = 32 * 2**20
"""Size of a block of scaled columns where training rows are prepared strip by strip."""
TRAINING_STRIP: Final = 4096
"""Training rows whose running distances a task holds."""
MANY_TILES: Final = 4
"""With fewer tiles a sample for the middle values of columns is not worth its while."""
WHOLE_PROBLEM: Final = 4000
"""Largest eigenproblem that is solved whole."""


def blocks_of_task(n_blocks: int) -> int:
    """Blocks of columns that a task multiplies with the same similarities, which it makes anew.

    Few where there are few, so that more than one worker has some.

    Parameters
    ----------
    n_blocks
        All of them.

    Examples
    --------
    >>> blocks_of_task(4), blocks_of_task(40), blocks_of_task(4000)
    (1, 5, 16)
    """
    return min(16, max(1, -(-n_blocks // 8)))
