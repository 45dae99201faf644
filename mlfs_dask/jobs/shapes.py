"""What the JSON files of a run folder must hold for a reader to go on.

Only what is read is asked for; anything more is left alone.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.rundir import CHANGED, FORMAT, read_json
from mlfs_dask.storage.places import Place


class _Labelled(msgspec.Struct):
    label: str
    method: str
    params: dict[str, Any]


class _Evaluate(msgspec.Struct):
    split: dict[str, Any]
    features: dict[str, Any]
    metrics: list[str]
    conventions: str
    classifier: list[_Labelled]


class Resolved(msgspec.Struct):
    """``resolved.json``."""

    name: str
    seed: int
    data: dict[str, Any]
    select: list[_Labelled]
    evaluate: _Evaluate | None


class _DatasetEntry(msgspec.Struct):
    name: str
    path: str
    digest: str
    tile: int
    n_samples: int
    n_features: int
    n_labels: int


class Manifest(msgspec.Struct):
    """``manifest.json``."""

    format: int
    run: str
    job_digest: str
    seed: int
    created: str
    datasets: list[_DatasetEntry]
    versions: dict[str, Any]
    machine: dict[str, Any]


class _Truth(msgspec.Struct):
    relevant: list[int]


class DatasetNames(msgspec.Struct):
    """An entry of ``datasets.json``."""

    features: list[str]
    labels: list[str]
    truth: _Truth | None


class Selection(msgspec.Struct):
    """An entry of ``results.json``."""

    dataset: str
    selector: str
    repeat: int | None
    fold: int | None
    problems: list[Any] | None
    order: list[Any]
    scores: list[Any]
    higher_is_better: bool
    support: list[Any]
    path: list[dict[str, Any]] | None


class Results(msgspec.Struct):
    """``results.json``."""

    selections: list[Selection]


class _Compare(msgspec.Struct):
    over: str
    of: str
    at: dict[str, Any] | str | None
    test: str
    control: str | None


class _Comparison(msgspec.Struct):
    metric: str
    higher_is_better: bool
    dataset: str | None
    selector: str | None
    classifier: str | None
    methods: list[str]
    absent: list[str]
    rows: list[str]
    dropped: list[str]
    values: list[list[float | None]]
    ranks: list[list[float]] | None
    average_ranks: list[float] | None
    test: dict[str, Any] | None
    post_hoc: dict[str, Any] | None
    problem: str | None


class Tests(msgspec.Struct):
    """``tests.json``."""

    compare: _Compare
    comparisons: list[_Comparison]


class _TimedUnit(msgspec.Struct):
    dataset: str
    selector: str
    classifier: str | None
    seconds: float
    worker: str
    notes: list[str]


class Timings(msgspec.Struct):
    """``timings.json``."""

    unit_seconds: float
    units: list[_TimedUnit]


Shape: TypeAlias = Any
_DATASETS: Final = dict[str, DatasetNames]


def read_shaped(path: Place, shape: Shape) -> Any:
    """Read a JSON file and check that it holds what its readers need.

    Parameters
    ----------
    path
        The file.
    shape
        A struct of this module, or a type made of them.

    Returns
    -------
    dict
        The document as it stands.

    Raises
    ------
    NotFoundError
        It is missing.
    RunFolderError
        It is not JSON, of another format, or lacks something.
    """
    document = read_json(path)
    version = document.get("format", FORMAT) if isinstance(document, dict) else FORMAT
    if version != FORMAT:
        raise RunFolderError(
            f"{path} has format {version!r}; this version reads {FORMAT}",
            hint="Read it with the version of mlfs-dask that wrote it.",
        )
    try:
        msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{path}: {error}", hint=CHANGED, path=str(path)) from error
    return document


def read_manifest(path: Place) -> dict[str, Any]:
    """``manifest.json``, checked."""
    document: dict[str, Any] = read_shaped(path, Manifest)
    return document


def read_datasets(path: Place, needed: list[str]) -> dict[str, Any]:
    """``datasets.json``, checked to name the data sets of the run."""
    document: dict[str, Any] = read_shaped(path, _DATASETS)
    missing = [name for name in needed if name not in document]
    if missing:
        problem = f"{path}: the data set {missing[0]!r} is missing"
        raise RunFolderError(problem, hint=CHANGED, path=str(path))
    return document
