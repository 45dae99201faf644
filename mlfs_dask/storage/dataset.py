"""Open a data set by path or by name; the public face of the storage layer."""

from __future__ import annotations

from mlfs_dask.storage.catalogue import resolve_store
from mlfs_dask.storage.places import Place
from mlfs_dask.storage.store import Dataset, open_store

__all__ = ["Dataset", "open_dataset"]


def open_dataset(path_or_name: str | Place, digest: str | None = None) -> Dataset:
    """Open a store.

    Parameters
    ----------
    path_or_name
        Path or address (``s3://bucket/NAME.zarr``) of a store, or a name: ``NAME.zarr`` in
        ``$MLFS_STORES`` (else ``./storage/stores``). A name of the catalogue that has no store yet
        is ingested first from ``$MLFS_DATA``.
    digest
        The store as it was when it had this digest, without the blocks of features that were
        appended later. By default with all of them.

    Returns
    -------
    Dataset

    Raises
    ------
    NotFoundError
        Neither a store nor a name of the catalogue; or its files are not at hand.
    StoreError
        Not a finished store, or one of another format version; or it never had this digest.
    StoreCorruptError
        The store lost or changed bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> table = ArrayTable([[1.0, 0.0], [0.0, 2.5]], [[1], [0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ingest(table, Path(folder) / "tiny.zarr").path
    ...     dataset = open_dataset(path)
    ...     dataset.X[0:2].tolist()
    [[1.0, 0.0], [0.0, 2.5]]
    """
    return open_store(resolve_store(str(path_or_name)), digest)
