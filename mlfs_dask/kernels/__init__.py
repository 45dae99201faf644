"""Numerics on plain NumPy arrays, compiled by numba: no Dask, no files."""
