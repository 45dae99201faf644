"""The manifest: which job on which data with which versions; a run goes on only with the same."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.digest import job_digest, versions
from mlfs_dask.jobs.rundir import FORMAT, RunFolder
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.spec import Job
from mlfs_dask.storage.dataset import Dataset

# Packages that compute; others may be upgraded in the middle of a run.
_NUMERIC: Final = ("mlfs-dask", "numpy", "scipy", "numba", "scikit-learn")


def make_manifest(run: str, job: Job, datasets: Sequence[Dataset]) -> dict[str, Any]:
    """The manifest of a new run.

    Parameters
    ----------
    run
        Its id.
    job
        Resolved job.
    datasets
        Its opened data sets.
    """
    return {
        "format": FORMAT,
        "run": run,
        "name": job.name,
        "job_digest": job_digest(job, [(d.name, d.digest) for d in datasets]),
        "seed": job.seed,
        "datasets": [
            {
                "name": dataset.name,
                "path": dataset.path,
                "digest": dataset.digest,
                "tile": dataset.tile,
                "n_samples": dataset.n_samples,
                "n_features": dataset.n_features,
                "n_labels": dataset.n_labels,
            }
            for dataset in datasets
        ],
        "versions": versions(),
        "machine": {"processor": platform.machine(), "system": platform.system()},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Names and planted truth of a data set: what a report needs when the store is elsewhere.

    Parameters
    ----------
    dataset
        Opened store.
    """
    return {
        "features": list(dataset.feature_names),
        "labels": list(dataset.label_names),
        "truth": dataset.truth,
    }


def check_manifest(folder: RunFolder, datasets: Sequence[Dataset]) -> None:
    """Refuse to go on with a run if what decides its bits has changed.

    Parameters
    ----------
    folder
        A run that exists; its id has the job's digest in it.
    datasets
        The data sets as they are now.

    Raises
    ------
    RunFolderError
        Names all that differs.
    """
    manifest = read_manifest(folder.manifest)
    if folder.read_state()["state"] == "done":
        return
    differing = [
        f"{name}: {before.get(name)} then, {now.get(name)} now"
        for before, now, keys in (
            (manifest["versions"], versions(), _NUMERIC),
            (_tiles(manifest["datasets"]), {f"tile of {d.name}": d.tile for d in datasets}, None),
        )
        for name in (keys or before)
        if before.get(name) != now.get(name)
    ]
    if differing:
        lines = "".join(f"\n  {line}" for line in differing)
        raise RunFolderError(
            f"{folder.id} was begun under other conditions, its parts would not match:{lines}",
            hint="Restore them to go on, or give --force to start a new run.",
            differing=differing,
        )


def _tiles(datasets: list[dict[str, Any]]) -> dict[str, Any]:
    return {f"tile of {dataset['name']}": dataset["tile"] for dataset in datasets}
