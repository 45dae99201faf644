"""What tests need, ours and those of plug-ins.

`tables` in memory, `strategies` that draw them (and `files` of them), `damage` to files, `jobs`
that take a fraction of a second.
"""
