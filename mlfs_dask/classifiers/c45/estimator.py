"""C4.5 as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.classifiers.c45.coding import Coding
from mlfs_dask.classifiers.c45.tree import C45Tree, Rules, learn_tree
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import feature_vector
from mlfs_dask.wording import counted


class C45Classifier(ClassifierMixin, BaseEstimator):
    """C4.5 (release 8) decision tree for one target, as WEKA's J48 grows and prunes it.

    A node tests the feature of the highest gain ratio among those of at least average gain: a
    nominal feature has a branch for each value, a numeric one two, parted at the training value
    next below the best midpoint. A numeric gain pays log2(thresholds tried) / n bits. Rows with a
    missing value go down every branch with a part of their weight, in training and in prediction.
    Subtrees that make no fewer training errors are collapsed; then, from the leaves up, the
    expected errors decide whether a node stays, becomes a leaf or is replaced by its largest
    branch. Probabilities are the class frequencies in the leaf.

    Parameters
    ----------
    confidence
        Of the error estimate, above 0, at most 0.5; a smaller one prunes more.
    min_objects
        Least weight of rows in two branches of a test.
    prune
        Whether to prune by expected errors.
    subtree_raising
        Whether pruning may replace a node by its largest branch.

    Attributes
    ----------
    tree_ : C45Tree
        The tree as arrays.
    n_leaves_, n_nodes_ : int
        Leaves, and nodes with the leaves; leaves without training rows are counted too.
    classes_ : ndarray of shape (n_classes,)
        As in scikit-learn.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, weights and nominal values that cannot be.

    Notes
    -----
    Growing costs O(n d log n) for sorting and O(n d) per level. Nothing is drawn. Gains, weights
    and errors that differ by less than 1e-6 are equal, values that differ by less than 1e-5 are
    not parted; the lower index wins among equal features, the last among equally large branches.
    These constants are J48's, and so are the trees.

    References
    ----------
    J. R. Quinlan: C4.5: Programs for machine learning. Morgan Kaufmann 1993, chapters 2 to 4.

    J. R. Quinlan: Improved use of continuous attributes in C4.5. Journal of Artificial Intelligence
    Research 4 (1996) 77-90.

    Examples
    --------
    >>> X = [[1.0, 0], [2.0, 1], [3.0, 0], [7.0, 1], [8.0, 0], [9.0, float("nan")]]
    >>> model = C45Classifier().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> model.n_leaves_, model.predict([[5.0, 0]]).tolist()
    (2, ['high'])
    """

    def __init__(
        self,
        confidence: float = 0.25,
        min_objects: int = 2,
        prune: bool = True,
        subtree_raising: bool = True,
    ) -> None:
        self.confidence = confidence
        self.min_objects = min_objects
        self.prune = prune
        self.subtree_raising = subtree_raising

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        feature_kind: Any = None,
        n_values: Any = None,
    ) -> Self:
        """Grow and prune a tree.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Numbers; NaN is missing.
        y : array-like, shape (n_samples,)
            Classes.
        sample_weight : array-like of float, shape (n_samples,), optional
            At least 0; a row of weight 0 is left out.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal: each value that occurs is a branch. Default: all numeric.
        n_values : array-like of int, shape (n_features,), optional
            Instead of ``feature_kind``: number of values of each nominal feature, whose codes 0, 1,
            ... all are branches; 0 for a numeric feature.
        """
        rules = Rules(self.confidence, self.min_objects, self.prune, self.subtree_raising)
        rules.check()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weights = _weights(sample_weight, len(X))
        counted = weights > 0
        X, weights = X[counted], weights[counted]
        self.classes_, codes = np.unique(y[counted], return_inverse=True)
        self.tree_ = learn_tree(X, codes, weights, _coding(X, feature_kind, n_values), rules)
        self.n_leaves_, self.n_nodes_ = self.tree_.n_leaves, self.tree_.n_nodes
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Class frequencies in the leaves that rows come to.

        A missing value leads to all branches, in proportion to their training rows; a value that
        training rows did not have leads nowhere: the node that asks for it answers.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "tree_")
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        tree: C45Tree = self.tree_
        return tree.proba(X)

    def predict(self, X: Any) -> AnyArray:
        """The most frequent class; of equally frequent ones the first.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        found: AnyArray = self.classes_[np.argmax(proba, axis=1)]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _weights(sample_weight: Any, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    usable = weights.shape == (n,) and np.isfinite(weights).all() and (weights >= 0).all()
    if not usable:
        raise InputError(f"sample_weight: expected {counted(n, 'finite number')} of at least 0")
    if not weights.any():
        # scikit-learn's checks look for this sentence.
        raise InputError("Sample weights must contain at least one non-zero number.")
    return weights


def _coding(X: FloatArray, feature_kind: Any, n_values: Any) -> Coding:
    if n_values is not None:
        if feature_kind is not None:
            raise InputError("feature_kind and n_values are both given: expected one of them")
        return Coding.declared(X, n_values)
    kind: ByteArray = np.zeros(X.shape[1], dtype=np.uint8)
    if feature_kind is not None:
        kind = feature_vector(feature_kind, "feature_kind", X.shape[1], np.uint8)
    return Coding.of_rows(X, kind)
