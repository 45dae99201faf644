"""Data files in, Zarr stores out and back.

In
    `readers` give `records` of a file, tables `in_memory` theirs; `ingest` checks them by
    `intake`, keeps them in a `spool` and writes `arrays` of the smallest of the `dtypes`. `append`
    adds `blocks` of features. `synth` makes data of what is `planted`, `synth_like` data in the
    `likeness` of a file.
The store
    `layout` says how it looks, `digest` what identifies its values, `seal` that it is whole.
    `dataset` opens it by a name of the `catalogue`; a `store` has facts, `rows` are its X, read
    through `guarded` arrays; `direct` unpacks their chunks where it can. `describe` looks at all
    of it, `verify` checks every byte.
Out
    `export` writes the field's files.
Where things lie
    `places` are folders and buckets. `atomic` writes a file or folder whole or not at all;
    `bucket`, at an `endpoint`, knows object storage: `upload` puts a store there, `segments` are
    what grows there, `claims` who writes. `zarr_loop` ends what Zarr has started.
"""
