"""Multi-label classifiers: one file per family, worn as scikit-learn estimators.

By nearest neighbours
    `mlknn`, `dmlknn`, `brknn` and `iblr`, on what `neighbors` and their `curves` share.
By models of problems
    `br`, `lp`, `rakel` and `clr`, on `transformation`: `problems` for `base_learners` (one is
    `c45`), as `model_tasks` on `model_rows`.
By densities
    `mlnb`.
What all have in common
    `base`; `predicted` where labels do not follow from scores alone.
"""
