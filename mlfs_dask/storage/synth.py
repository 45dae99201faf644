r"""Data with a planted truth, of any size, made block by block.

Every feature has a latent standard normal value g. Labels depend on the relevant features alone:

.. math::  y_l = [ \sqrt{\rho}\, u + \sqrt{1 - \rho}\, v_l + \sigma e_l > t_l ]

u is the mean of all relevant latents, v_l that of the label's own ones (each relevant feature is
own to at least one label), both scaled to variance 1; e_l is standard normal noise; t_l is set such
that label l is relevant to a share p_l of the samples, from 1/5 to 2/5. So rho says how much the
labels have in common. A noisy copy has the latent sqrt(1 - s^2) g + s e of a relevant feature;
noise features know nothing of the labels. What is stored is x = Phi(g), uniform in (0, 1); with
density p < 1 all but the upper share p of each feature is 0, and the rest spreads over (0, 1]; 0/1
data (``dtype="uint8"``) mark that upper share. No value is below 0.

With ``label_sets = N`` labels come from N label sets: the first N different ones among rows drawn
for the purpose in the stream of the plan (with noise that doubles from round to round where the
signal alone gives fewer). A row takes the set that differs from its free labels in the fewest, the
first of several; N rows drawn without replacement in the stream of the plan take one set each
whatever their features are, so that every set occurs.

Blocks of 4,096 rows have streams of their own (``SeedSequence(seed, spawn_key=(5, block))``), so
the values depend on the parameters alone, not on tile, batches or workers. The truth (which columns
are relevant, which are copies of which) stands in the attribute ``truth`` of the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import ndtr

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.storage.dtypes import parse_dtype
from mlfs_dask.storage.ingest import StoreOptions, create_store
from mlfs_dask.storage.places import Place
from mlfs_dask.storage.planted import (
    BLOCK_ROWS,
    LabelChoice,
    Plan,
    Planted,
    block_stream,
    draw_plan,
    nearest_sets,
)
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, TableHeader, empty_split
from mlfs_dask.storage.store import Dataset

__all__ = ["BLOCK_ROWS", "Planted", "PlantedTable", "synthesize"]

_AHEAD: Final = 2  # blocks drawn ahead of the one that is written


class PlantedTable:
    """Planted data as a reader of a table.

    Parameters
    ----------
    planted
        What to plant.
    name
        Name of the table.

    Attributes
    ----------
    header : TableHeader
        Feature names say the part a feature plays: relevant0, copy0, noise0, ...
    truth : dict
        ``relevant``: columns of the relevant features; ``copies``: column of a copy -> column of
        its original; ``parameters``.

    Examples
    --------
    >>> table = PlantedTable(Planted(n_samples=10))
    >>> batch = next(table.batches())
    >>> batch.X.shape, len(table.truth["relevant"])
    ((10, 60), 12)
    """

    def __init__(self, planted: Planted, name: str = "synth") -> None:
        planted.check()
        self.planted = planted
        self._plan = draw_plan(planted)
        self.header = _header(planted, self._plan, name)

    @property
    def truth(self) -> dict[str, Any]:
        """What was planted, for the attribute ``truth``."""
        relevant = self.planted.relevant
        columns = self._plan.columns
        copies = columns[relevant : relevant + self.planted.copies]
        originals = columns[self._plan.copy_of]
        return {
            "relevant": sorted(columns[:relevant].tolist()),
            "copies": {str(c): int(o) for c, o in zip(copies, originals, strict=True)},
            "parameters": asdict(self.planted),
        }

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in order, each block from its own stream.

        Parameters
        ----------
        max_bytes
            Not used: wide blocks are drawn in runs of rows whose length depends on the width only,
            so that the values do too.
        """
        rows = max(1, min(BLOCK_ROWS, BATCH_BYTES // (8 * self._drawn_columns)))
        blocks = range(-(-self.planted.n_samples // BLOCK_ROWS))
        if rows < BLOCK_ROWS or len(blocks) == 1:
            for block in blocks:
                yield from self._runs(block, rows)
            return
        with ThreadPoolExecutor(_AHEAD) as pool:  # drawn while those before are written
            ahead: deque[Future[list[RowBatch]]] = deque()
            for block in blocks:
                ahead.append(pool.submit(self._block, block))
                if len(ahead) > _AHEAD:
                    yield from ahead.popleft().result()
            while ahead:
                yield from ahead.popleft().result()

    @property
    def _drawn_columns(self) -> int:
        informative = self.planted.relevant + self.planted.copies
        return informative if self.planted.sparse else self.planted.n_features

    def _block(self, block: int) -> list[RowBatch]:
        return list(self._runs(block, BLOCK_ROWS))

    def _runs(self, block: int, rows: int) -> Iterator[RowBatch]:
        rng = block_stream(self.planted.seed, block)
        first = block * BLOCK_ROWS
        last = min(first + BLOCK_ROWS, self.planted.n_samples)
        for start in range(first, last, rows):
            yield self._draw(rng, start, min(rows, last - start))

    def _draw(self, rng: np.random.Generator, start: int, n_rows: int) -> RowBatch:
        planted, plan = self.planted, self._plan
        relevant = rng.standard_normal((n_rows, planted.relevant))
        noise = planted.label_noise * rng.standard_normal((n_rows, planted.n_labels))
        Y = plan.labels(relevant, noise)
        if plan.choice is not None:
            Y = _chosen(Y, plan.choice, start)
        s = planted.copy_noise
        copies = s * rng.standard_normal((n_rows, planted.copies))
        copies += np.sqrt(1 - s * s) * relevant[:, plan.copy_of]
        informative = _observe(np.hstack([relevant, copies]), planted)
        n_noise = planted.n_features - informative.shape[1]
        if planted.sparse:
            X: Any = _sparse_rows(rng, informative, n_noise, planted, plan.columns)
        else:
            X = np.empty((n_rows, planted.n_features))
            X[:, plan.columns[: informative.shape[1]]] = informative
            drawn = _observe(rng.standard_normal((n_rows, n_noise)), planted)
            X[:, plan.columns[informative.shape[1] :]] = drawn
        return RowBatch(X, Y, empty_split(n_rows))


def synthesize(
    dest: Place,
    planted: Planted | None = None,
    options: StoreOptions | None = None,
) -> Dataset:
    """Make a store of planted data.

    Parameters
    ----------
    dest
        Path or address of the store.
    planted
        What to plant; the set of the quickstart by default: 2,000 samples, 60 features of which 12
        relevant, 12 noisy copies and 36 noise, 8 correlated labels.
    options
        Tile, name, overwriting. The dtype is that of `planted`.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        An impossible parameter.
    StoreError, MachineError
        As `mlfs_dask.storage.ingest.ingest`.
    """
    planted = planted or Planted()
    given = options or StoreOptions()
    table = PlantedTable(planted, given.name or dest.stem)
    parse_dtype(planted.dtype)
    layout = StoreOptions(
        tile=given.tile, dtype=planted.dtype, overwrite=given.overwrite, name=given.name
    )
    return create_store(dest, table.header, table.batches(), layout, {"truth": table.truth})


def _header(planted: Planted, plan: Plan, name: str) -> TableHeader:
    n_noise = planted.n_features - planted.relevant - planted.copies
    parts = [f"relevant{i}" for i in range(planted.relevant)]
    parts += [f"copy{i}" for i in range(planted.copies)]
    parts += [f"noise{i}" for i in range(n_noise)]
    names = [""] * planted.n_features
    for column, part in zip(plan.columns, parts, strict=True):
        names[column] = part
    return TableHeader(
        name=name,
        feature_names=tuple(names),
        label_names=tuple(f"label{i}" for i in range(planted.n_labels)),
        feature_kind=np.zeros(planted.n_features, dtype=np.uint8),
        is_sparse=planted.sparse,
        notes=("synthetic data: the attribute truth says what was planted",),
    )


def _chosen(Y: ByteArray, choice: LabelChoice, start: int) -> ByteArray:
    """Labels of rows from `start` on, as sets to choose from: the nearest, or the row's own."""
    codes = nearest_sets(Y, choice.sets)
    lo, hi = np.searchsorted(choice.rows, [start, start + len(Y)])
    codes[choice.rows[lo:hi] - start] = choice.of_rows[lo:hi]
    labels: ByteArray = choice.sets[codes]
    return labels


def _observe(latent: FloatArray, planted: Planted) -> FloatArray:
    """Stored values of latents: the upper share `density` of a standard normal is not 0."""
    if planted.dtype == "uint8":
        marked = latent > NormalDist().inv_cdf(1 - planted.density)
        return marked.astype(np.float64)
    values = (ndtr(latent) - (1 - planted.density)) / planted.density
    positive: FloatArray = np.maximum(values, 0.0)
    return positive


def _sparse_rows(
    rng: np.random.Generator,
    informative: FloatArray,
    n_noise: int,
    planted: Planted,
    columns: IntArray,
) -> csr_matrix:
    """Rows in CSR; noise is drawn entry by entry, by the gaps between entries."""
    n_rows, n_informative = informative.shape
    rows, positions = np.nonzero(informative)
    cells = _bernoulli_cells(rng, n_rows * n_noise, planted.density)
    values = np.ones(len(cells)) if planted.dtype == "uint8" else 1.0 - rng.random(len(cells))
    noise_rows, noise_positions = np.divmod(cells, max(1, n_noise))
    entries = np.concatenate([informative[rows, positions], values])
    at_rows = np.concatenate([rows, noise_rows])
    at_columns = columns[np.concatenate([positions, n_informative + noise_positions])]
    matrix = csr_matrix((entries, (at_rows, at_columns)), shape=(n_rows, planted.n_features))
    matrix.sort_indices()
    return matrix


def _bernoulli_cells(rng: np.random.Generator, n_cells: int, density: float) -> IntArray:
    """Positions of the successes among `n_cells` independent trials, ascending."""
    found = []
    last = -1
    while True:
        expected = (n_cells - last) * density
        gaps = rng.geometric(density, size=int(expected + 4 * np.sqrt(expected) + 16))
        positions = last + np.cumsum(gaps)
        found.append(positions[positions < n_cells])
        last = int(positions[-1])
        if last >= n_cells:
            return np.concatenate(found)
