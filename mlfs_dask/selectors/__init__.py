"""Feature selectors: one file per family of methods, worn as scikit-learn estimators.

The methods
    `spec`, `mllap` (with `euclidean`), `mddm` and `laplacian`: spectral. `pmu` and `mdmr`:
    `information`. `mlrelieff`. `spec_wrapper` and `relief_wrapper`: by `problems` of two classes.
    `nrs_cost`: rough sets with costs (`reduct`). `nrs_stream` and `ofs_a3m`: features that arrive.
    `mlnb`: a `genetic` search. `baselines`: one feature at a time.
What they stand on
    `base` is what all have in common, `engine` how greedy ones decide. `online` is what streams
    have in common: `online_engine` decides, `online_answers` measures.

README.md says how to add one.
"""
