"""Job files, the coordinator, run folders.

What a job says
    `spec` declares every key and `schema` prints them. `jobfile` reads a file and tells all its
    `problems` at once: `tables`, `methods` with their `options` (`plain` values; `declared` is what
    methods say of themselves), `sweep`, `compare_spec` (with `compare_check`), `overrides` and the
    files that are its `inputs`. `data` and `rows` are what it finds in its stores, `costs` what
    features cost. `digest` identifies a job.
What is to be done
    `units` are selections and classifiers on folds (`label_orders` splits some), with `streams` of
    random numbers of their own. `agenda` groups them into tasks, `work` and `perform` do them, a
    `prefilter` first; `steps` carry decisions to the journal, `feeds` wait for blocks of features,
    `spread` has one long task done by many workers.
What it takes
    `plan` counts, `needs` says whether it fits. `estimate` has time and memory of a unit: by
    `selector_costs`, `rough_set_costs`, `stream_costs`, `classifier_costs`, `model_costs` and
    `selector_memory`, for rows of a `row_shape`, as a `workload` at the `rates` that `calibrate`
    measures (those of clusters by `cluster_rates`). `scaling` is the same on more workers. `sizes`
    are bytes as people write them.
Who does it where
    `coordinator` begins or takes up a run, `driver` is its loop: `progress` tells how far it is,
    `interrupt` and `cancel` end it. Tasks run by `backends` (here), `local_processes` or
    `on_cluster`, on workers that `worker_setup` prepared; those that are `paused` for good start
    anew. `topics` and `handed` are how they tell and are given things, `fetched` what comes back.
    `submit` hands the coordinator over, by an `order`. `lease` and `lock` say who may write.
    `clusters` starts, finds and examines clusters.
What is kept
    `rundir` is the folder, `shapes` what its files must hold, `manifest` what it is of. `journal`
    (made of `lines`) is the truth that `replay` resumes from; `follow`, `history` and `sessions`
    read it; `loghandler` and `logfile` are the log. `removal` takes runs away.
What came of it
    `outputs` writes `evaluation` and `selections`, `results` reads them back for reports. `summary`
    draws means together, `agreement` compares folds and `alike` methods, `chosen` are the features
    to keep; `compare` tests methods by `compare_table`, `compare_runs` over several runs.
"""
