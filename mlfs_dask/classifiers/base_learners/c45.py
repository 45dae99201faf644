"""C4.5 decision trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.classifiers.c45.coding import Coding
from mlfs_dask.classifiers.c45.tree import C45Tree, Rules, learn_tree
from mlfs_dask.graphs.inputs import Block


class C45Model(LearnedModel):
    """A grown and pruned tree.

    Parameters
    ----------
    tree
        The tree.
    """

    def __init__(self, tree: C45Tree) -> None:
        self.tree = tree

    def proba(self, X: Block) -> FloatArray:
        """Class frequencies in the leaf; see the base class."""
        return self.tree.proba(X)


@dataclass(frozen=True)
class C45(BaseLearner):
    """C4.5 (release 8), as WEKA's J48 grows and prunes it; see `C45Classifier`.

    Probabilities are the class frequencies in a leaf. A missing value goes down every branch with a
    part of its row. Nominal features have a branch for each value; one that no training row has
    leads nowhere, so the node that asks for it answers.

    Parameters
    ----------
    confidence
        Of the error estimate that pruning goes by, above 0, at most 0.5; less prunes more.
    min_objects
        Least weight of rows in two branches of a test.
    prune, subtree_raising
        Whether to prune, and whether pruning may replace a node by its largest branch.

    Notes
    -----
    O(n d log n) and O(n d) per level. Sparse rows are made dense, two copies of n d numbers.

    References
    ----------
    J. R. Quinlan: C4.5: Programs for machine learning. Morgan Kaufmann 1993.
    """

    name: ClassVar[str] = "c45"
    takes_missing: ClassVar[bool] = True

    confidence: float = 0.25
    min_objects: int = 2
    prune: bool = True
    subtree_raising: bool = True

    def check(self) -> None:
        """Refuse a confidence out of range and less than one row per branch."""
        self._rules().check()

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> C45Model:
        """Grow and prune a tree; see the base class. Nothing is drawn."""
        coding = Coding.of_rows(X, kind)
        return C45Model(learn_tree(X, y, np.ones(len(y)), coding, self._rules()))

    def _rules(self) -> Rules:
        return Rules(self.confidence, self.min_objects, self.prune, self.subtree_raising)
