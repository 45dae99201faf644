"""Reports: run folders read and shown; nothing is computed that the folder does not say.

The page
    `page` writes it from `content`: the `facts`, the `progress` that was, `tables` and `baselines`,
    `curves`, `selected` features, `stability` of the folds, `alike` methods, `significance` with
    its `verdicts`, `conventions` of the measures, `downloads`. `compare` puts several runs first.
Drawing
    `chart` places lines and bands, `critical_difference` says what is on a diagram of ranks and
    `rank_drawing` draws it; `fitting` knows how wide text is, `words` how numbers are written.
"""

from __future__ import annotations

from mlfs_dask.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
