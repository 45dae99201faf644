"""Tiles of rows, executors that map kernels over them, and Dask graphs made of kernels."""
