"""``python -m mlfs_dask`` is ``mlfs``."""

from mlfs_dask.cli import main

if __name__ == "__main__":
    main()
