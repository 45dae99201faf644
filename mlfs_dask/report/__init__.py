"""Reports: run folders read and shown; nothing is computed that the folder does not say."""

from __future__ import annotations

from mlfs_dask.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
