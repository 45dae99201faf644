"""Missing cells in plain loops: one generator per row."""

import numpy as np


def inject(X, seed, rate):
    """Rows of a dense matrix as float64 with their missing cells."""
    found = np.array(X, dtype=np.float64)
    for i, row in enumerate(found):
        draws = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, i))).random(
            len(row)
        )
        for r, draw in enumerate(draws):
            if draw < rate:
                row[r] = np.nan
    return found
