"""Tests of significance over several methods and several data sets.

A table has one row per data set (or fold) and one column per method. :func:`friedman` asks whether
the methods differ at all, by their average ranks; :func:`nemenyi`, :func:`bonferroni_dunn` and
:func:`holm` then ask which do; :func:`wilcoxon` compares pairs by signed ranks. Every function
takes the table itself or what :func:`rank_table` made of it, any ``alpha``, and says what it did
about ties and missing cells:

* Rank 1 is the best value of a row; equal values share the mean of their ranks.
* A missing cell (NaN) is refused, or its whole row is left out (``missing="drop"``), by name.
* Differences of ranks are significant if *greater* than the critical difference; adjusted p-values
  if not greater than ``alpha``.

Examples
--------
>>> from mlfs_dask import stats
>>> losses = {
...     "A": [0.21, 0.10, 0.33, 0.18], "B": [0.25, 0.14, 0.31, 0.20], "C": [0.30, 0.22, 0.41, 0.35]
... }
>>> test = stats.friedman(losses, higher_is_better=False)
>>> test.ranking.average_ranks.tolist(), round(test.chi_square, 3), test.rejects
([1.25, 1.75, 3.0], 6.5, True)
>>> [(p.first, p.second) for p in stats.nemenyi(test.ranking).pairs if p.significant]
[('A', 'C')]
"""

from __future__ import annotations

from mlfs_dask.evaluate.stats.all_pairs import nemenyi
from mlfs_dask.evaluate.stats.catalogue import TESTS, Test, get_test
from mlfs_dask.evaluate.stats.critical import critical_difference
from mlfs_dask.evaluate.stats.groups import groups_alike, groups_of
from mlfs_dask.evaluate.stats.omnibus import Friedman, friedman
from mlfs_dask.evaluate.stats.one_control import bonferroni_dunn
from mlfs_dask.evaluate.stats.posthoc import PostHoc, RankPair
from mlfs_dask.evaluate.stats.signed_ranks import SignedRankPair, Wilcoxon, wilcoxon
from mlfs_dask.evaluate.stats.stepdown import holm, holm_adjusted
from mlfs_dask.evaluate.stats.table import RankTable, rank_table

__all__ = [
    "TESTS",
    "Friedman",
    "PostHoc",
    "RankPair",
    "RankTable",
    "SignedRankPair",
    "Test",
    "Wilcoxon",
    "bonferroni_dunn",
    "critical_difference",
    "friedman",
    "get_test",
    "groups_alike",
    "groups_of",
    "holm",
    "holm_adjusted",
    "nemenyi",
    "rank_table",
    "wilcoxon",
]
