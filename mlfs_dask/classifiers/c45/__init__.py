"""C4.5 decision trees as WEKA's J48 grows and prunes them."""

from __future__ import annotations

from mlfs_dask.classifiers.c45.estimator import C45Classifier

__all__ = ["C45Classifier"]
