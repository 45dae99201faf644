"""The dashboard: runs as pages and JSON, served by a Dask scheduler at ``/mlfs``.

It looks and never touches: requests are read-only, and no path is ever made of what they say.

In the scheduler
    `preload` and `plugin` put it there, `menu` into Dask's own pages; `handlers` answer requests
    with `pages` (`links` between them) or `metrics`, and ask the `board`, which reads.
What is read
    `listing` has all runs, `track` one by its journal, `view` all that its page shows: `stages`,
    the `pace`, what is `measured` and `chosen` so far, and the `workers`.
"""
