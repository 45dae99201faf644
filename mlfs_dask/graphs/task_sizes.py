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
SET_TILE: Final = 2048
"""Label sets that are compared with as many others at once."""
TRAINING_STRIP: Final = 4096
"""Training rows whose running distances a task holds."""
MANY_TILES: Final = 4
"""With fewer tiles a sample for the middle values of columns is not worth its while."""
WHOLE_PROBLEM: Final = 4000
"""Largest eigenproblem that is solved whole."""
PREPARED_BYTES: Final = 768 * 2**20
"""Rows are prepared once and shared while they take no more; else tile by tile when needed."""
KEPT_BYTES: Final = 256 * 2**20
"""What blocks may keep of each worker's memory; rows whose violators find no room look again."""
LISTED_BYTES: Final = 64 * 2**20
"""What lists of the rows that are other than 0 may take."""
_TILES_BYTES: Final = 1024 * 2**20  # decoded ones that a process keeps
_VIOLATORS: Final = 350  # bytes of a row
_PROCESS_BYTES: Final = 256 * 2**20
_TASK_BYTES: Final = 128 * 2**20
_USED: Final = 0.75  # of a process's memory, so that Dask does not pause it


def have_room(size: float, n_rows: int, stored: float, memory: float, share: float) -> bool:
    """Whether there is room for prepared rows: while their tiles are joined, and after.

    Where it says so they fit, so that no process has to have less memory to fit.

    Parameters
    ----------
    size
        Bytes of all prepared rows.
    n_rows
        How many.
    stored
        Bytes of the same rows as tiles of the store.
    memory
        Bytes of a process, or what is ample.
    share
        Of what is kept with ample memory.

    Examples
    --------
    >>> gib = 2**30
    >>> [have_room(gib / 8, 6000, 0, m * gib, m / 4) for m in (0.5, 0.75, 1, 4)]
    [False, False, True, True]
    """
    tiles = min(stored, _TILES_BYTES * share)
    after = size + LISTED_BYTES + _VIOLATORS * n_rows + KEPT_BYTES * share
    needed = _PROCESS_BYTES + tiles + max(2 * size, after) + _TASK_BYTES
    return needed <= _USED * memory


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
