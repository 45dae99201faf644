"""A binary decision tree: CART, as scikit-learn grows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.checks import check_count, check_not_negative
from mlfs_dask.classifiers.base_learners.encoding import Encoding, encode
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.classifiers.base_learners.quiet import quiet
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block

_LARGEST = float(np.finfo(np.float32).max)


class TreeModel(LearnedModel):
    """A grown tree.

    Parameters
    ----------
    encoding
        Of the columns.
    tree
        Grown by scikit-learn.
    """

    def __init__(self, encoding: Encoding, tree: DecisionTreeClassifier) -> None:
        self._encoding = encoding
        self.tree = tree

    def proba(self, X: Block) -> FloatArray:
        """Share of each class in the leaf; see the base class."""
        found: FloatArray = self.tree.predict_proba(_rows(self._encoding, X))
        return found


@dataclass(frozen=True)
class Tree(BaseLearner):
    """CART: each split the one that leaves the least impurity, until leaves are pure.

    Probabilities are the shares of the classes in a leaf. Equally good splits are drawn from: by
    the seed. A missing value goes to the side on which it does best in training, or to the larger
    one if the feature had none there. Nominal features of more than two values become a column per
    value.

    Parameters
    ----------
    criterion
        ``"gini"`` or ``"entropy"``.
    max_depth
        Levels of splits; None: no limit.
    min_samples_split, min_samples_leaf
        Rows that a node needs to be split, and that a leaf keeps.
    pruning
        Cost-complexity pruning: the impurity that a leaf must save.

    Notes
    -----
    O(d n log n). Values are compared as float32; larger ones than it can hold are refused.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone: Classification and regression trees. 1984.
    """

    name: ClassVar[str] = "tree"
    takes_missing: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    criterion: Literal["gini", "entropy"] = "gini"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    pruning: float = 0.0

    def check(self) -> None:
        """Refuse trees without a split and leaves without a row."""
        if self.max_depth is not None:
            check_count("max_depth", self.max_depth)
        check_count("min_samples_split", self.min_samples_split, 2)
        check_count("min_samples_leaf", self.min_samples_leaf)
        check_not_negative("pruning", self.pruning)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> TreeModel:
        """Grow a tree; see the base class."""
        encoding = encode(X, kind, "none")
        tree: Any = DecisionTreeClassifier(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            ccp_alpha=self.pruning,
            random_state=int(stream.generate_state(1)[0]),
        )
        with quiet():
            return TreeModel(encoding, tree.fit(_rows(encoding, X), y))


def _rows(encoding: Encoding, X: Block) -> Block:
    """Encoded rows; sparse ones are made dense if cells are missing, which CSR trees refuse."""
    values = X.data if sp.issparse(X) else X
    if np.any(np.abs(values) > _LARGEST):
        raise InputError(
            f"X holds values beyond {_LARGEST:.1e}, which a tree cannot compare as float32",
            hint="Scale the features, or use c45.",
        )
    if sp.issparse(X) and not np.isnan(X.data).any():
        return encoding.sparse(X)
    return encoding.dense(X)
