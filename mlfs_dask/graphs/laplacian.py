"""What a spectral score needs to know of each column, whatever road it came by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray
from mlfs_dask.kernels.spectral import Moments

# Below this share of g'Dg the difference g'Dg - g'Sg has lost three digits or more.
CANCELLED = 1e-3


@dataclass(frozen=True, eq=False)
class LaplacianTerms:
    """Quadratic forms of columns f of a graph with degrees D and Laplacian L.

    Attributes
    ----------
    lff : ndarray of float64, shape (n_columns,)
        ``f'Lf``.
    dff : ndarray of float64, shape (n_columns,)
        ``f'Df``.
    scatter : ndarray of float64, shape (n_columns,)
        ``sum of D_ii (f_i - u)²``, u the mean weighted by D.
    dgg : ndarray of float64, shape (n_columns,)
        ``g'Dg`` of the shifted column: the size of what was subtracted from.
    mean : ndarray of float64, shape (n_columns,)
        Mean of the shifted column, weighted by D.
    """

    lff: FloatArray
    dff: FloatArray
    scatter: FloatArray
    dgg: FloatArray
    mean: FloatArray

    @property
    def cancelled(self) -> BoolArray:
        """Columns whose differences lost digits and have to be summed without subtraction."""
        limit = CANCELLED * self.dgg
        return ~((self.lff > limit) & (self.scatter > limit)) & (self.dgg > 0)

    def replaced(self, which: BoolArray, lff: FloatArray, scatter: FloatArray) -> LaplacianTerms:
        """The same terms with those of some columns replaced.

        Parameters
        ----------
        which : ndarray of bool, shape (n_columns,)
        lff, scatter : ndarray of float64, shape (which.sum(),)
        """
        new_lff, new_scatter = self.lff.copy(), self.scatter.copy()
        new_lff[which], new_scatter[which] = lff, scatter
        return replace(self, lff=new_lff, scatter=new_scatter)

    @staticmethod
    def concatenate(parts: Sequence[LaplacianTerms]) -> LaplacianTerms:
        """Terms of runs of columns, one after the other."""
        names = [field.name for field in fields(LaplacianTerms)]
        return LaplacianTerms(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


def terms_of(lff: FloatArray, moments: Moments, volume: float) -> LaplacianTerms:
    """Terms from ``f'Lf`` and weighted moments.

    Parameters
    ----------
    lff : ndarray of float64, shape (n_columns,)
    moments
        Sums weighted by the degrees.
    volume
        Sum of all degrees, ``1'D1``.
    """
    return LaplacianTerms(
        lff=lff,
        dff=moments.ff,
        scatter=moments.gg - moments.g * moments.g / volume,
        dgg=moments.gg,
        mean=moments.g / volume,
    )
