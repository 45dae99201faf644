"""A run, read back from its folder."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError, RunFolderError
from mlfs_dask.jobs.evaluation import REBUILD, no_evaluation, read_evaluation
from mlfs_dask.jobs.history import InHand, read_history
from mlfs_dask.jobs.journal import read_journal
from mlfs_dask.jobs.rundir import CHANGED, RunFolder, file_sha256, find_run, read_json
from mlfs_dask.jobs.selections import iter_selections
from mlfs_dask.jobs.shapes import (
    Resolved,
    Results,
    Tests,
    Timings,
    read_datasets,
    read_manifest,
    read_shaped,
)
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import counted


def read_unit(folder: RunFolder, unit_id: str) -> dict[str, Any]:
    """Result of a finished unit.

    Parameters
    ----------
    folder
        The run.
    unit_id
        Id of the unit.
    """
    result: dict[str, Any] = read_json(folder.unit_file(unit_id))["result"]
    return result


class Run:
    """A run, read from its folder.

    Parameters
    ----------
    folder
        The run folder.

    Attributes
    ----------
    id : str
        Id of the run.
    path : Path or ObjectPlace
        Its folder.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.id = folder.id
        self.path = folder.path

    def __repr__(self) -> str:
        return f"<Run {self.id!r}: {self.state}>"

    @property
    def state(self) -> str:
        """``done``, ``partial``, ``running``, ``interrupted``, ``failed``, ..."""
        state: str = self._folder.read_state()["state"]
        return state

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Data, versions, seed and digests of the run."""
        return read_manifest(self._folder.manifest)

    @cached_property
    def job(self) -> dict[str, Any]:
        """The job with all defaults."""
        self._check_unchanged(self._folder.resolved)
        document: dict[str, Any] = read_shaped(self._folder.resolved, Resolved)
        return document

    @cached_property
    def datasets(self) -> dict[str, Any]:
        """Name of each data set -> its feature names, label names and planted truth."""
        self._check_unchanged(self._folder.datasets)
        needed = [dataset["name"] for dataset in self.manifest["datasets"]]
        return read_datasets(self._folder.datasets, needed)

    @cached_property
    def timings(self) -> dict[str, Any]:
        """Seconds per unit."""
        document: dict[str, Any] = read_shaped(self._folder.timings, Timings)
        return document

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The journal."""
        return read_journal(self._folder.journal)[0]

    @cached_property
    def selections(self) -> list[dict[str, Any]]:
        """All selections, as ``results.json`` holds them; repeat and fold None: on all rows."""
        self._check_unchanged(self._folder.results)
        document = read_shaped(self._folder.results, Results)
        selections: list[dict[str, Any]] = document["selections"]
        return selections

    @cached_property
    def compact_selections(self) -> list[dict[str, Any]]:
        """As `selections`, with arrays in place of lists where there is a ranking per problem."""
        self._check_unchanged(self._folder.results)
        return list(iter_selections(self._folder.results))

    @cached_property
    def tests(self) -> dict[str, Any] | None:
        """``tests.json``: the tests that the job's ``[compare]`` asks for; None without them."""
        path = self._folder.tests
        if not path.exists():
            return None
        self._check_unchanged(path)
        document: dict[str, Any] = read_shaped(path, Tests)
        return document

    @cached_property
    def evaluation(self) -> NDArray[np.void]:
        """``evaluation.csv`` as a structured array; undefined values are NaN.

        Fields: dataset, selector, classifier, repeat, fold, n_features, share, cost_share, metric,
        value, n_scored.
        """
        path = self._folder.evaluation
        if not path.exists():
            return no_evaluation()
        self._check_unchanged(path)
        return read_evaluation(path)

    def check(self) -> None:
        """Raise RunFolderError if a file is not what the run wrote."""
        folder = self._folder
        for path in (folder.results, folder.evaluation, folder.tests, *self._inputs):
            self._check_unchanged(path)

    @property
    def _inputs(self) -> tuple[Place, Place]:
        return self._folder.resolved, self._folder.datasets

    def _check_unchanged(self, path: Place) -> None:
        written = self._folder.read_state().get("outputs", {}).get(path.name)
        if written is not None and path.is_file() and file_sha256(path) != written:
            problem = f"{path} was changed since the run wrote it"
            hint = CHANGED if path in self._inputs else REBUILD
            raise RunFolderError(problem, hint=hint, path=str(path))

    @property
    def in_hand(self) -> tuple[InHand, ...]:
        """Selections that were begun and aren't finished, with the subsets they have by now."""
        return read_history(self._folder).in_hand

    def order(self, selector: str, dataset: str | None = None) -> IntArray:
        """Features best first, selected on all rows.

        Parameters
        ----------
        selector
            Label of the selector.
        dataset
            Name of the data set; may be left out if the run has one.

        Returns
        -------
        ndarray of int64, shape (n_features,)
            Per-problem selectors: (n_problems, n_features).

        Raises
        ------
        InputError
            No such selection, or several data sets to choose from.
        """
        return np.array(self.selection(selector, dataset)["order"], dtype=np.int64)

    def selection(self, selector: str, dataset: str | None = None) -> dict[str, Any]:
        """The selection on all rows.

        Parameters
        ----------
        selector
            Label of the selector.
        dataset
            Name of the data set; may be left out if the run has one.

        Raises
        ------
        InputError
            No such selection, or several data sets to choose from.
        """
        final = [s for s in self.selections if s["fold"] is None]
        found = [s for s in final if s["selector"] == selector and dataset in (None, s["dataset"])]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{s['selector']!r} on {s['dataset']}" for s in final)
        raise InputError(
            f"{self.id} has {counted(len(found), 'selection')} on all rows by {selector!r}"
            + (f" on {dataset}" if dataset else ""),
            hint=f"There are: {known}." if known else "This run has none.",
        )


def open_run(path: str | Place) -> Run:
    """Open a run.

    Parameters
    ----------
    path
        Its folder or address, its id in ``$MLFS_RUNS`` (else ``./runs``), or a unique beginning of
        the id.

    Raises
    ------
    NotFoundError
        No such run.

    Examples
    --------
    After ``mlfs run quickstart``::

        run = mlfs_dask.open_run("quickstart")
        run.order("spec")[:12]
    """
    return Run(find_run(path))
