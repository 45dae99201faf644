"""Quadratic forms of all features by the planned road, with a second pass where digits were lost.

::

    similarity of labels ──┬── collapsed   graphs/labelsets.py ─┐
                           ├── lowrank     graphs/lowrank.py ───┼──> LaplacianTerms per column
    similarity of features ┴── pairs       graphs/pairs.py ─────┘        │ cancelled columns
                                                                         v
                                                            graphs/scatter.py, graphs/pairs.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.graphs.affinity import Affinity, LabelAffinity
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.deviations import scatter_about_heaviest
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.labelsets import collapsed_terms, set_degrees
from mlfs_dask.graphs.laplacian import LaplacianTerms
from mlfs_dask.graphs.lowrank import lowrank_terms, matching_degrees
from mlfs_dask.graphs.pairs import pair_terms, row_pair_scatter
from mlfs_dask.graphs.plan import Road
from mlfs_dask.graphs.scatter import label_scatter, set_scatter
from mlfs_dask.graphs.source import Source


@dataclass(frozen=True, eq=False)
class SpectralTerms:
    """Quadratic forms of columns of a graph on the rows.

    Attributes
    ----------
    terms : LaplacianTerms
    degrees : ndarray of float64, shape (n_samples,)
        Sum of each row's similarities to all rows.
    recomputed : ndarray of bool, shape (n_columns,)
        Columns whose forms were summed without subtraction.
    """

    terms: LaplacianTerms
    degrees: FloatArray
    recomputed: BoolArray


def spectral_terms(
    source: Source, columns: Columns, affinity: Affinity, road: Road, executor: Executor
) -> SpectralTerms:
    """Quadratic forms of all columns.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    affinity
        Similarity of rows; for the roads other than pairs a `LabelAffinity`.
    road
        ``"collapsed"``, ``"lowrank"`` (simple matching) or ``"pairs"``.
    executor
        Where to run.
    """
    if road == "pairs":
        terms, degrees = pair_terms(source, columns, affinity, executor)

        def again(which: IntArray) -> FloatArray:
            return row_pair_scatter(source, columns, which, affinity, executor)

    elif not isinstance(affinity, LabelAffinity) or source.Y is None:
        raise TypeError(f"the {road} road needs a similarity of labels")
    elif road == "collapsed":
        sets, rule = affinity.sets, affinity.rule
        by_set = set_degrees(sets, rule, executor)
        degrees = by_set.full[sets.codes]
        terms = collapsed_terms(source, columns, sets, by_set, rule, executor)

        def again(which: IntArray) -> FloatArray:
            return set_scatter(source, columns, which, sets, by_set, rule, executor)

    else:
        Y = source.Y
        degrees = matching_degrees(Y)
        terms = lowrank_terms(source, columns, Y, executor)

        def again(which: IntArray) -> FloatArray:
            return label_scatter(source, columns, which, Y, executor)

    flagged = terms.cancelled
    which = np.flatnonzero(flagged)
    if len(which) == 0:
        return SpectralTerms(terms, degrees, flagged)
    lff = again(which)
    scatter = scatter_about_heaviest(source, columns, which, degrees, executor)
    return SpectralTerms(terms.replaced(flagged, lff, scatter), degrees, flagged)
