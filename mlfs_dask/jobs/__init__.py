"""Job files, the coordinator, run folders.

What a job says
    `spec` declares every key, `jobfile` reads a file with `methods`, `options`, `sweep`,
    `compare_spec`, `overrides` and `inputs`; `data` and `rows` are what it finds in its stores.
What is to be done
    `units` are selections and classifiers on folds; `plan` and `estimate` count them, `agenda`
    groups them into tasks, `work` and `perform` do them.
Who does it where
    `coordinator` begins or takes up a run, `driver` is its loop; tasks run by `backends` (here),
    `local_processes` or `on_cluster`; `submit` hands the coordinator over, `lease` says who may
    write. `clusters` starts, finds and examines clusters.
What is kept
    `rundir` is the folder, `journal` the truth that `replay` resumes from; `outputs` writes the
    results, `results` reads them back for reports, `summary` and `compare` draw them together.
"""
