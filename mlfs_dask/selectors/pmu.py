"""PMU: pairwise multi-label utility, greedy selection by second-order information terms."""

from __future__ import annotations

from mlfs_dask._typing import FloatArray
from mlfs_dask.graphs.information import Information
from mlfs_dask.selectors.information import InformationSelector


class PMU(InformationSelector):
    """Rank features greedily by information with labels, less interactions in pairs.

    Given the features S chosen so far, the next one has the largest

        J(f | S) = Σ_l I(f;l) - Σ_{l<l'} I3(f;l;l') - Σ_{s in S} Σ_l I3(f;s;l)

    over labels l and unordered pairs of labels, with I3(a;b;c) = I(a;b) - I(a;b|c), all in bits.

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
        ``label_redundancy``, ``redundancy``.

    Notes
    -----
    Numeric features count in two bins of equal frequency: above the value of rank round(n / 2) of
    the training rows, or not (for sparse text: non-zero or not). Features of two values and nominal
    ones stay as they are. Values are not scaled. Terms below 1e-12 count as 0. Features of one
    value are never chosen; they come last.

    Cost: counts of all features over the rows of each label, then over those of each chosen
    feature. With 0/1 features that is O(n d q²) bit operations before the first choice and O(n d q)
    for each choice, 64 rows at a time; for sparse X only the rows of the label or feature, and
    their stored cells. No more than one row of counts, d q numbers, is held at a time.

    References
    ----------
    Lee & Kim 2013, Feature selection for multi-label classification using multivariate mutual
    information; compared with in paper B: Hu et al. 2018.

    Examples
    --------
    Feature 1 is the exclusive or of the labels: it tells nothing of either one, but with feature 0
    it tells both.

    >>> import numpy as np
    >>> Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> X = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])
    >>> fitted = PMU().fit(X, Y)
    >>> fitted.order_.tolist(), fitted.scores_.round(4).tolist()
    ([0, 1, 2], [1.0, 2.0, 1.0662])
    """

    _average = False

    def _parts(self, information: Information) -> dict[str, FloatArray]:
        between_labels = information.label_interactions()
        return {"relevance": information.relevance(), "label_redundancy": between_labels}

    def _redundancy(self, information: Information, feature: int) -> FloatArray:
        return information.interactions(feature)
