"""Tables in memory that pass for readers of files: for tests of this package and of plug-ins."""

from mlfs_dask.storage.in_memory import ArrayTable

__all__ = ["ArrayTable"]
