"""Run folders to self-contained HTML; reads results, never computes them."""
