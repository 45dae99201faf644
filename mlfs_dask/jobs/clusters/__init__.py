"""Dask clusters: where they are, how to reach them safely, and small ones of one machine."""
