"""The manifest: which job on which data with which versions; a run goes on only with the same."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.digest import job_digest, versions
from mlfs_dask.jobs.inputs import kept_files
from mlfs_dask.jobs.rundir import CHANGED, FORMAT, RunFolder, read_json
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
        "datasets": [{"path": d.path, **_facts(d)} for d in datasets],
        "versions": versions(),
        "machine": _machine(),
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


def saved_job(folder: RunFolder) -> Job:
    """The job of a run, from its folder alone; its stores are where they were at the start.

    The files it names are the copies in the folder.

    Parameters
    ----------
    folder
        A run that exists.

    Raises
    ------
    RunFolderError
        A file of the folder was changed.
    """
    document = read_json(folder.resolved)
    try:
        job = msgspec.convert(document, Job)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{folder.resolved}: {error}", hint=CHANGED) from error
    paths = tuple(dataset["path"] for dataset in read_manifest(folder.manifest)["datasets"])
    stores = paths[0] if len(paths) == 1 else paths
    data = msgspec.structs.replace(job.data, store=stores)
    return kept_files(msgspec.structs.replace(job, data=data), folder.inputs)


def check_manifest(folder: RunFolder, job: Job, datasets: Sequence[Dataset]) -> None:
    """Refuse to go on with a run if what decides its bits has changed.

    Parameters
    ----------
    folder
        A run that exists.
    job
        The job as it is now.
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
            (
                _named(manifest["datasets"]),
                _named([_facts(d) for d in datasets]),
                None,
            ),
            (manifest["machine"], _machine(), None),
            ({"seed": manifest["seed"]}, {"seed": job.seed}, None),
        )
        for name in (keys or before)
        if before.get(name) != now.get(name)
    ]
    digest = job_digest(job, [(dataset.name, dataset.digest) for dataset in datasets])
    if not differing and digest != manifest["job_digest"]:
        differing.append(f"job: digest {manifest['job_digest'][:10]} then, {digest[:10]} now")
    names = {dataset.name: describe_dataset(dataset) for dataset in datasets}
    if not differing and not _has_names(read_json(folder.datasets), names, job):
        problem = f"{folder.datasets} does not hold the names that are in the stores"
        raise RunFolderError(problem, hint=CHANGED, path=str(folder.datasets))
    if differing:
        lines = "".join(f"\n  {line}" for line in differing)
        raise RunFolderError(
            f"{folder.id} was begun under other conditions, its parts would not match:{lines}",
            hint="Restore them to go on, or give --force to start a new run.",
            differing=differing,
        )


def saved_digests(folder: RunFolder) -> list[str]:
    """Digests of the data sets of a run when it began, in the job's order.

    Parameters
    ----------
    folder
        A run that exists.
    """
    return [dataset["digest"] for dataset in read_manifest(folder.manifest)["datasets"]]


def _has_names(kept: Any, names: dict[str, Any], job: Job) -> bool:
    """Whether a run kept these names; of a data set that it follows more features may have come."""
    if not isinstance(kept, dict) or kept.keys() != names.keys():
        return False
    for name, begun in names.items():
        now = kept[name]
        if job.follows(name) and isinstance(now, dict) and isinstance(now.get("features"), list):
            now = {**now, "features": now["features"][: len(begun["features"])]}
        if now != begun:
            return False
    return True


def _facts(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "digest": dataset.digest,
        "tile": dataset.tile,
        "n_samples": dataset.n_samples,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
    }


def _machine() -> dict[str, str]:
    """What decides the bits of sums besides the packages."""
    return {"processor": platform.machine(), "system": platform.system()}


def _named(datasets: list[dict[str, Any]]) -> dict[str, Any]:
    """All facts of all data sets in one table, under names for people."""
    return {
        f"{fact} of {dataset['name']}": value
        for dataset in datasets
        for fact, value in dataset.items()
        if fact not in ("name", "path")
    }
