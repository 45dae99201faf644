"""What the writers share: parts a format may lack, numbers as text, plain or packed text files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import numpy as np

from mlfs_dask.errors import InputError
from mlfs_dask.storage import atomic
from mlfs_dask.storage.export.columns import Table
from mlfs_dask.storage.records import NOMINAL, SPLIT_TEST, SPLIT_TRAIN


@dataclass(frozen=True)
class Exported:
    """Files written and parts left out."""

    files: tuple[Path, ...]
    not_held: tuple[str, ...]


def left_out(dataset: Table, held: Set[str]) -> tuple[str, ...]:
    """Parts that a store has and a format does not hold.

    Parameters
    ----------
    dataset
        Opened store.
    held
        Among ``"names"``, ``"kinds"``, ``"costs"``, ``"split"``.
    """
    present = {
        "names": ("the names of features and labels", True),
        "kinds": (
            "which features are nominal, and their declared values",
            bool((dataset.feature_kind == NOMINAL).any()),
        ),
        "costs": ("the costs of the features", dataset.feature_cost is not None),
        "split": ("the split into training and test rows", bool(dataset.split.any())),
        "truth": ("the record of what was planted", dataset.truth is not None),
    }
    return tuple(text for part, (text, there) in present.items() if there and part not in held)


def check_distinct_names(dataset: Table) -> None:
    """Refuse a feature and a label of one name, where a file holds both side by side.

    Parameters
    ----------
    dataset
        Opened store.

    Raises
    ------
    InputError
        Names the first such name.
    """
    both = set(dataset.feature_names) & set(dataset.label_names)
    if both:
        raise InputError(
            f"{min(both)!r} names both a feature and a label; this format cannot tell them apart",
            hint="Export to npz, which can.",
        )


@lru_cache(maxsize=1 << 16)
def number(value: float) -> str:
    """Shortest text that reads back as the same float64; whole numbers without a point.

    Parameters
    ----------
    value
        A finite number.

    Examples
    --------
    >>> number(2.0), number(0.1), number(1e22)
    ('2', '0.1', '1e+22')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def has_missing(dataset: Table) -> bool:
    """Whether any value of X is missing.

    Parameters
    ----------
    dataset
        Opened store.
    """
    if dataset.x_dtype.kind != "f":
        return False
    return any(
        bool(np.isnan(batch.X.data if dataset.is_sparse else batch.X).any())
        for batch in dataset.batches()
    )


def has_two_sides(dataset: Table) -> bool:
    """Whether each row is a training or a test row and both occur: then two files hold the split.

    Parameters
    ----------
    dataset
        Opened store.
    """
    return set(np.unique(dataset.split).tolist()) == {SPLIT_TRAIN, SPLIT_TEST}


@contextmanager
def text_file(target: Path, *, overwrite: bool) -> Iterator[TextIO]:
    """UTF-8 text file written beside and renamed; packed if its name ends in ``.gz``.

    Parameters
    ----------
    target
        Final name.
    overwrite
        Replace an existing file.
    """
    with atomic.new_file(target, overwrite=overwrite) as partial:
        if target.suffix == ".gz":
            with (
                partial.open("wb") as raw,
                gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
            ):
                text = io.TextIOWrapper(packed, encoding="utf-8", newline="")
                yield text
                text.flush()
                text.detach()
        else:
            with partial.open("w", encoding="utf-8", newline="") as handle:
                yield handle
