"""What is planted in made data: settings, and the plan drawn from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import counted

BLOCK_ROWS: Final = 4096
"""Rows that share a random stream."""
PLAN: Final = 2**32 - 1
"""Last element of the spawn key of the stream that decides what is planted."""
_SYNTH_STREAM: Final = 5
_COMPARED_BYTES: Final = 16 * 1024 * 1024  # distances of labels to sets held at a time


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What to plant; the defaults are the set of the quickstart.

    Parameters
    ----------
    n_samples, n_features, n_labels
        Size.
    relevant
        Features that the labels depend on.
    copies
        Noisy copies of relevant features; all other features are noise.
    copy_noise
        Standard deviation of the noise in a copy, 0 to 1.
    label_noise
        Standard deviation of the noise in a label, against a signal of 1.
    label_correlation
        Share of the signal that all labels have in common, 0 to 1.
    label_sets
        Number of distinct label sets, exactly; None leaves labels free.
    density
        Share of non-zero values, above 0 to 1.
    sparse
        Store CSR.
    dtype
        Dtype of X: uint8 makes 0/1 features, float32 and float64 real ones.
    seed
        Seed of all streams.
    """

    n_samples: int = 2000
    n_features: int = 60
    n_labels: int = 8
    relevant: int = 12
    copies: int = 12
    copy_noise: float = 0.7
    label_noise: float = 0.3
    label_correlation: float = 0.3
    label_sets: int | None = None
    density: float = 1.0
    sparse: bool = False
    dtype: str = "float32"
    seed: int = 0

    def check(self) -> None:
        """Refuse impossible values.

        Raises
        ------
        InputError
            Names the parameter, its value and what is allowed.
        """
        whole = {"n_samples": 1, "n_features": 1, "n_labels": 1, "relevant": 1, "copies": 0}
        for name, least in whole.items():
            _require(getattr(self, name) >= least, name, getattr(self, name), f"at least {least}")
        _require(
            self.n_features <= np.iinfo(np.int32).max,
            "n_features",
            self.n_features,
            "below 2^31, as stores number their columns",
        )
        _require(self.seed >= 0, "seed", self.seed, "at least 0")
        informative = self.relevant + self.copies
        _require(
            informative <= self.n_features,
            "n_features",
            self.n_features,
            f"at least {informative}, the relevant features and their copies",
        )
        for name in ("copy_noise", "label_correlation"):
            _require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "from 0 to 1")
        sets = self.label_sets
        most = min(self.n_samples, 2 ** min(self.n_labels, 62))
        _require(
            sets is None or 1 <= sets <= most,
            "label_sets",
            sets,
            f"from 1 to {most:,}, no more than samples or sets of "
            f"{counted(self.n_labels, 'label')}",
        )
        _require(self.label_noise >= 0, "label_noise", self.label_noise, "at least 0")
        _require(0 < self.density <= 1, "density", self.density, "above 0, at most 1")
        _require(
            self.dtype in ("uint8", "float32", "float64"),
            "dtype",
            self.dtype,
            "uint8, float32 or float64",
        )
        _require(
            self.dtype != "uint8" or self.density < 1,
            "density",
            self.density,
            "below 1 for 0/1 features: at 1 all of them would be constant",
        )


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise InputError(f"{name} is {value!r}; it must be {allowed}", parameter=name)


@dataclass(frozen=True)
class LabelChoice:
    """Which label sets there are.

    Parameters
    ----------
    sets : ndarray of uint8, shape (n_sets, n_labels)
        All different.
    rows : ndarray of int64, shape (n_sets,)
        A row for each set that has it whatever its features are, ascending.
    of_rows : ndarray of int64, shape (n_sets,)
        The set of each of these rows.
    """

    sets: ByteArray
    rows: IntArray
    of_rows: IntArray


@dataclass(frozen=True)
class Plan:
    """Which column plays which part, and how labels come about.

    Parameters
    ----------
    columns : ndarray of int64, shape (n_features,)
        Column of the i-th feature in the order relevant, copies, noise.
    copy_of : ndarray of int64, shape (copies,)
        Position of the original among the relevant features.
    weights : ndarray of float64, shape (relevant, n_labels)
        Labels' signals from latents, variance 1.
    thresholds : ndarray of float64, shape (n_labels,)
    choice
        Label sets to choose from; None: all.
    """

    columns: IntArray
    copy_of: IntArray
    weights: FloatArray
    thresholds: FloatArray
    choice: LabelChoice | None = None

    def labels(self, relevant: FloatArray, noise: FloatArray) -> ByteArray:
        """Free labels of rows.

        Parameters
        ----------
        relevant : ndarray of float64, shape (n_rows, relevant)
            Latents.
        noise : ndarray of float64, shape (n_rows, n_labels)
            Of the labels.
        """
        Y: ByteArray = (relevant @ self.weights + noise > self.thresholds).astype(np.uint8)
        return Y


def block_stream(seed: int, block: int) -> np.random.Generator:
    """Random stream of a block of rows, or of the plan.

    Parameters
    ----------
    seed
        Seed of the data.
    block
        Number of the block, or ``PLAN``.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_SYNTH_STREAM, block)))


def draw_plan(planted: Planted) -> Plan:
    """Draw what plays which part.

    Parameters
    ----------
    planted
        Settings.
    """
    rng = block_stream(planted.seed, PLAN)
    relevant, q = planted.relevant, planted.n_labels
    columns = rng.permutation(planted.n_features)
    copy_of = np.arange(planted.copies) % relevant
    own = np.zeros((relevant, q))
    for position, feature in enumerate(rng.permutation(max(relevant, 2 * q)) % relevant):
        own[feature, position % q] = 1.0
    shared = np.ones((relevant, 1))
    rho = planted.label_correlation
    weights = np.sqrt(rho) * shared / np.linalg.norm(shared)
    weights = weights + np.sqrt(1 - rho) * own / np.linalg.norm(own, axis=0)
    spread = np.sqrt((weights**2).sum(axis=0) + planted.label_noise**2)
    shares = np.linspace(0.4, 0.2, q)
    normal = NormalDist()
    thresholds = spread * np.array([normal.inv_cdf(1 - share) for share in shares])
    plan = Plan(columns, copy_of, weights, thresholds)
    if planted.label_sets is None:
        return plan
    return replace(plan, choice=_draw_choice(rng, planted, plan, planted.label_sets))


def nearest_sets(Y: ByteArray, sets: ByteArray) -> IntArray:
    """The set that differs from each row in the fewest labels, the first of several.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)
    sets : ndarray of uint8, shape (n_sets, n_labels)

    Returns
    -------
    ndarray of int64, shape (n_rows,)

    Examples
    --------
    >>> sets = np.array([[1, 1, 1], [0, 0, 0]], dtype=np.uint8)
    >>> nearest_sets(np.array([[0, 0, 1], [1, 0, 1]], dtype=np.uint8), sets).tolist()
    [1, 0]
    """
    # |y xor s| = |y| + |s| - 2 y's: whole numbers, exact in float32.
    known = sets.astype(np.float32)
    sizes = known.sum(axis=1)
    nearest = np.empty(len(Y), dtype=np.int64)
    step = max(1, _COMPARED_BYTES // (4 * len(sets)))
    for start in range(0, len(Y), step):
        rows = Y[start : start + step].astype(np.float32)
        nearest[start : start + step] = np.argmin(sizes - 2 * (rows @ known.T), axis=1)
    return nearest


def _draw_choice(
    rng: np.random.Generator, planted: Planted, plan: Plan, n_sets: int
) -> LabelChoice:
    """The first different label sets among rows drawn for the purpose, and a row for each."""
    found: dict[bytes, None] = {}
    deviation = planted.label_noise
    n_rows = max(1024, 2 * n_sets)
    while len(found) < n_sets:
        relevant = rng.standard_normal((n_rows, planted.relevant))
        noise = deviation * rng.standard_normal((n_rows, planted.n_labels))
        for row in plan.labels(relevant, noise):
            found[row.tobytes()] = None
            if len(found) == n_sets:
                break
        deviation = max(2 * deviation, 0.25)  # where the signal alone gives fewer sets
    sets = np.frombuffer(b"".join(found), dtype=np.uint8).reshape(n_sets, planted.n_labels)
    rows = rng.choice(planted.n_samples, n_sets, replace=False)
    order = np.argsort(rows)
    return LabelChoice(sets, rows[order], order)
