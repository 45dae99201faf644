"""MDMR: max-dependency and min-redundancy, greedy selection by conditional information."""

from __future__ import annotations

from mlfs_dask._typing import FloatArray
from mlfs_dask.graphs.information import Information
from mlfs_dask.selectors.information import InformationSelector


class MDMR(InformationSelector):
    """Rank features greedily by dependency on labels, less redundancy that labels don't explain.

    Given the features S chosen so far, the next one has the largest

        J(f | S) = Σ_l I(f;l) - 1/|S| Σ_{s in S} [ I(f;s) - Σ_l I(f;l|s) ]

    over labels l, in bits; the first one has the largest first term.

    Parameters
    ----------
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features to choose; the search stops there. Default: all are ranked.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        J of each feature when it was chosen; NaN for features never chosen.
    path_ : list of dict
        ``step``, ``feature``, ``score`` (J), ``reason``, and the terms of J: ``relevance``,
        ``redundancy`` (the mean over S).

    Notes
    -----
    Numeric features count in two bins of equal frequency: above the value of rank round(n / 2) of
    the training rows, or not (for sparse text: non-zero or not). Features of two values and nominal
    ones stay as they are. Values are not scaled. Terms below 1e-12 count as 0. Features of one
    value are never chosen; they come last.

    Cost: counts of all features over the rows of each chosen feature. With 0/1 features that is
    O(n d q) bit operations for each choice, 64 rows at a time; for sparse X only the feature's rows
    and their stored cells. No more than one row of counts, d q numbers, is held at a time.

    References
    ----------
    Lin, Hu, Liu & Duan 2015, Multi-label feature selection based on max-dependency and
    min-redundancy.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> X = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])
    >>> fitted = MDMR().fit(X, Y)
    >>> fitted.order_.tolist(), fitted.scores_.round(4).tolist()
    ([0, 1, 2], [1.0, 1.0, 1.0613])
    """

    _average = True

    def _parts(self, information: Information) -> dict[str, FloatArray]:
        return {"relevance": information.relevance()}

    def _redundancy(self, information: Information, feature: int) -> FloatArray:
        return information.net_redundancy(feature)
