"""What a base learner is: it learns one target of two or more classes from rows of numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.inputs import Block


class LearnedModel(ABC):
    """What a base learner has learned; can be pickled.

    Attributes
    ----------
    notes : tuple of str
        What to know of this model, such as an optimizer that stopped early.
    """

    notes: tuple[str, ...] = ()

    @abstractmethod
    def proba(self, X: Block) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : ndarray of float64, or CSR matrix if the learner takes those
            Shape (n_rows, n_columns); the columns that were learned from.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
            By class code; rows sum to 1.
        """


@dataclass(frozen=True)
class BaseLearner(ABC):
    """A learner of one target; its fields are its parameters, as ``base_params`` gives them.

    Attributes
    ----------
    name : str
        As the key ``base`` gives it.
    takes_missing : bool
        Whether NaN may stay in the rows.
    takes_sparse : bool
        Whether CSR rows come as they are; else they are made dense.
    """

    name: ClassVar[str]
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False

    @abstractmethod
    def check(self) -> None:
        """Refuse impossible parameters; messages begin with ``name = value``."""

    @abstractmethod
    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> LearnedModel:
        """Learn a target.

        Parameters
        ----------
        X : ndarray of float64, or CSR matrix if the learner takes those
            Training rows, shape (n_rows, n_columns), at least one column. Not to be written to.
        y : ndarray of int64, shape (n_rows,)
            Class codes 0 to n_classes - 1, each at least once; at least two classes.
        kind : ndarray of uint8, shape (n_columns,)
            0 numeric, 1 nominal (values are codes).
        stream
            Seed of whatever is drawn.
        """

    def __str__(self) -> str:
        said = [f"{field.name} {getattr(self, field.name)}" for field in fields(self)]
        return f"{self.name} ({', '.join(said)})" if said else self.name


class ClassShares(LearnedModel):
    """Share of each class among the training rows: all that can be known without a column.

    Parameters
    ----------
    y : ndarray of int64, shape (n_rows,)
        Class codes.
    """

    def __init__(self, y: IntArray) -> None:
        self._shares = np.bincount(y) / len(y)

    def proba(self, X: Block) -> FloatArray:
        """The same for each row; see the base class."""
        return np.tile(self._shares, (X.shape[0], 1))
