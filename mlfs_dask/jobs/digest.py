"""What identifies a run: only what changes numbers enters the digest."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from functools import reduce
from importlib.metadata import version
from operator import getitem
from typing import Any, Final

from mlfs_dask import __version__
from mlfs_dask.jobs.spec import Job

_PACKAGES: Final = ("numpy", "scipy", "numba", "scikit-learn", "zarr", "dask", "distributed")
_ID_DIGITS: Final = 10


def canonical_json(value: Any) -> bytes:
    """One spelling per value: keys sorted, no blanks, UTF-8, no NaN.

    Parameters
    ----------
    value
        Plain values.

    Examples
    --------
    >>> canonical_json({"b": 1, "a": [0.5, None]})
    b'{"a":[0.5,null],"b":1}'
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def job_digest(job: Job, datasets: Sequence[tuple[str, str]]) -> str:
    """Digest of everything that decides the numbers of a job.

    Parameters
    ----------
    job
        Resolved job; how it is run, where stores and files lie and whether its entries were swept
        do not count.
    datasets
        Name and digest of each store, in the job's order.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    resolved = job.resolved()
    del resolved["run"], resolved["data"]["store"], resolved["sweep"]
    for select in resolved["select"]:
        if not select["follow"]:  # a job that says nothing of it is the one it was before
            del select["follow"]
    for key, file in job.files.items():
        resolved["files"][key] = file.sha256
        *tables, last = key.split(".")
        reduce(getitem, tables, resolved)[last] = "in files"
    identity = {
        "job": resolved,
        "datasets": [list(dataset) for dataset in datasets],
        "package": ".".join(__version__.split(".")[:2]),
    }
    return hashlib.sha256(canonical_json(identity)).hexdigest()


def run_id(name: str, digest: str) -> str:
    """Id of the first run of a job; ``--force`` adds -2, -3, ...

    Parameters
    ----------
    name
        Name of the job.
    digest
        From `job_digest`.
    """
    return f"{name}-{digest[:_ID_DIGITS]}"


def versions() -> dict[str, str]:
    """Versions of everything whose upgrade may change last bits, by name."""
    found = {"mlfs-dask": __version__, "python": platform.python_version()}
    found.update({package: version(package) for package in _PACKAGES})
    return found
