"""Numerics on plain NumPy arrays, compiled by numba: no Dask, no files.

How kernels are made
    `_jit` compiles, `_cache` throws away what is out of date, `lanes` are instructions that NumPy
    lacks, `blas` holds BLAS to one thread. `ranking` turns scores into decisions, `shares` a share
    of the features into a number; `streams` are random numbers by row.
Sums and columns
    `summary` of a block, `deviations` about a centre, `exactsum` and `label_sums` the same in any
    order, `digits` and `brackets` for the middle value, `principal` for components, `discretize`
    for bins.
Counts
    `contingency`, `cooccurrence` and the `information` in them; `label_weights`.
Spectral scores
    `labelsets` and their `similarity`, `affinity` of features; `spectral` sums, `spectrum` has
    eigenvectors, `pairsums` label against label, `greedy` the choices of MLLAP, `edges` a graph.
Neighbours
    `distances` of rows, of `bits`, of sparse rows by `postings`, by `meetings` or, where few must
    be known, by `bounds`; `duplicates` are equal rows. `neighbors` at several numbers of features,
    `members` of overlapping classes, their `pools` and the `terms` they make. `mlknn` and `dmlknn`
    count labels of neighbours; `hitmiss`, `gaps` and `cell_gaps` are those of Relief.
Rough sets and streams
    `separation` of two rows (in `planes`, by `holders`), `reach` of violators and their lists,
    `violators`; `indispensable` features; `summed` is the other reading. `gap_levels`,
    `gap_counts`, `gap_line` and `gap_measure` are gap neighbourhoods, `points` equal rows.
Models and measures
    `logistic` (with `conjugate`), `naive_bayes`, and C4.5: `c45_grow`, `c45_split`, `c45_prune`,
    `c45_tree`. `metrics` are measures of labels, `stratify` makes folds.
"""
