"""Results: put together from the units of a run.

``results.json`` and ``evaluation.csv`` depend on the units alone, so they are equal byte for byte
however often the run was interrupted and wherever it ran; times stand in ``timings.json`` only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import to_builtins

from mlfs_dask.jobs.compare import Names, compare_evaluation
from mlfs_dask.jobs.compare_spec import Compare
from mlfs_dask.jobs.evaluation import evaluation_csv, read_evaluation
from mlfs_dask.jobs.journal import Journal, iter_journal
from mlfs_dask.jobs.results import read_unit
from mlfs_dask.jobs.rundir import (
    FORMAT,
    RunFolder,
    file_sha256,
    write_bytes,
    write_json,
    write_parts,
)
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit

_RECORD: Final = (
    "problems",
    "order",
    "scores",
    "higher_is_better",
    "support",
    "cost",
    "path",
    "stop",
)


def write_results(
    folder: RunFolder,
    job: Job,
    units: Sequence[Unit],
    done: Collection[str],
    journal: Journal,
) -> dict[str, str]:
    """Write ``results.json``, ``evaluation.csv``, ``timings.json``, perhaps ``tests.json``.

    Parameters
    ----------
    folder
        The run.
    job
        Resolved job.
    units
        All its units.
    done
        Ids of those with a result.
    journal
        Its journal, for the times.

    Returns
    -------
    dict
        sha256, by name, of these (but the times) and of the files with names and parameters.
    """
    finished = [unit for unit in units if unit.id in done]
    # The id that the run was given: its folder may have been renamed since.
    head = {"format": FORMAT, "run": read_manifest(folder.manifest)["run"], **_judges(job)}
    selections = (
        _selection(job, unit, read_unit(folder, unit.id))
        for unit in finished
        if unit.kind == "select"
    )
    write_parts(folder.results, _lines(head, "selections", selections))
    rows = [
        row
        for unit in finished
        if unit.kind == "judge"
        for row in _rows(unit, read_unit(folder, unit.id)["measurements"])
    ]
    write_bytes(folder.evaluation, evaluation_csv(rows))
    journal.sync()
    events = (event for event, _ in iter_journal(folder.journal))
    write_json(folder.timings, _timings(finished, events))
    written = [folder.results, folder.evaluation, folder.resolved, folder.datasets]
    if job.compare is not None:
        head |= {"compare": to_builtins(job.compare)}
        tests = _tests(folder, job, job.compare, units)
        write_parts(folder.tests, _lines(head, "comparisons", tests))
        written.append(folder.tests)
    return {path.name: file_sha256(path) for path in written}


def _judges(job: Job) -> dict[str, Any]:
    """By whose conventions, and by which classifiers, the selections were judged."""
    return {
        "conventions": None if job.evaluate is None else job.evaluate.conventions,
        "classifiers": [
            {"classifier": label, "method": method.method, "params": to_builtins(method.params)}
            for label, method in job.classifiers.items()
        ],
    }


def _selection(job: Job, unit: Unit, record: dict[str, Any]) -> dict[str, Any]:
    method = job.selects[unit.selector]
    prefilter = method.prefilter
    first = {} if prefilter is None else {"prefilter": msgspec.to_builtins(prefilter)}
    return {
        "dataset": unit.dataset,
        "selector": unit.selector,
        "method": method.method,
        "params": {**method.params, **first},
        "repeat": unit.repeat,
        "fold": unit.fold,
        **{key: record.get(key) for key in _RECORD},
    }


def _tests(
    folder: RunFolder, job: Job, compare: Compare, units: Sequence[Unit]
) -> list[dict[str, Any]]:
    """Comparisons of ``tests.json``: from what evaluation.csv says, so that both always agree."""
    evaluation = read_evaluation(folder.evaluation)
    names = Names(
        datasets=list(dict.fromkeys(unit.dataset for unit in units)),
        selectors=list(job.selects),
        classifiers=list(job.classifiers),
    )
    return compare_evaluation(evaluation, compare, names)


def _lines(head: dict[str, Any], key: str, items: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """JSON with one item of a list per line: compact, and readable by line-based tools."""
    yield f'{json.dumps(head, ensure_ascii=False)[:-1]}, "{key}": [\n'.encode()
    before = b""
    for item in items:
        yield before + json.dumps(item, ensure_ascii=False, allow_nan=False).encode()
        before = b",\n"
    yield b"\n]}\n" if before else b"]}\n"


def _rows(unit: Unit, measurements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = ("dataset", "selector", "classifier", "repeat", "fold")
    where = {name: getattr(unit, name) for name in names}
    return [{**where, **measurement} for measurement in measurements]


def _timings(units: Sequence[Unit], events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    last: dict[str, dict[str, Any]] = {}
    steps: dict[str, list[float]] = {}
    for event in events:
        if event["event"] == "unit":
            last[event["unit"]] = {key: event[key] for key in ("seconds", "worker", "notes")}
        elif event["event"] == "step":
            steps.setdefault(event["unit"], []).append(event["seconds"])
    return {
        "format": FORMAT,
        "unit_seconds": round(sum(last[unit.id]["seconds"] for unit in units), 6),
        "units": [
            {
                "kind": unit.kind,
                "dataset": unit.dataset,
                "selector": unit.selector,
                "classifier": unit.classifier,
                "repeat": unit.repeat,
                "fold": unit.fold,
                **last[unit.id],
                "step_seconds": steps.get(unit.id, []),
            }
            for unit in units
        ],
    }
