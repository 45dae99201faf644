"""Tiles of rows, executors that map kernels over them, and Dask graphs made of kernels.

What all of it stands on
    `source` cuts what users hand in into tiles (with `inputs`, `backing`, `tilecache` and
    `missing`), `tiles` makes tasks of them, `executor` says where tasks run, `messages` what is
    sent for that, `places` to which workers, `losses` what is had again when these are lost. `rows`
    and `columns` are parts of a source, `spans` of anything. `budget` and `task_sizes` bound what
    is held at once.
Sums of columns
    `statistics` summarizes columns (`absent` counts missing values alone), `groups` adds them up by
    groups of rows, `label_sums` by label, `problem_scatter` by the classes of many problems;
    `deviations` go about a mean, `crossproducts` and `principal` take columns two at a time.
Counts
    `discretize` finds bins (by `middles` of many rows); `contingency` counts them with labels,
    `cooccurrence` with one more label or bin; `information` says what counts tell.
Spectral scores
    `spectral` and `laplacian` ask, `plan` chooses the road: `labelsets` (collapsed), `lowrank`, or
    `pairs` of tiles (with `affinity`, `products` and `bandwidth`). `scatter` restores lost digits;
    `spectrum` has eigenvectors, `euclidean` distances that are not squared.
Neighbours
    `neighbors` finds the nearest rows (by `search_tasks`, of rows that `neighbor_tasks` prepares),
    `subspaces` those of many problems at once (`subspace_tasks`), `edges` makes a graph of them;
    `label_counts` and `tied_counts` count their labels, `distance_rows` compares with all rows;
    `relief` weighs features by hits and misses (`relief_tasks`). `distance_checks` is what all of
    them need to know first, `duplicates` makes equal rows one.
Rough sets and streams
    `regions` are positive regions by violators (by `region_tasks`, with `separation`, `block_reach`
    and `remaining`), `summed` those of the other reading. `arrivals` are features that come one by
    one, `dependency` is what labels depend on (by `gap_tasks`), `kept_distances` is what a stream
    remembers.
Models
    `logistic` regressions, `densities` of naive Bayes, judged on `folds`.

A module whose name ends in ``_tasks`` is what runs on a worker for the module beside it.
"""
