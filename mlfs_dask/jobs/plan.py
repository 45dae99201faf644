"""What a job would do, counted and estimated: nothing is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct, structs

from mlfs_dask.errors import PlanError
from mlfs_dask.graphs.executor import available_cores
from mlfs_dask.jobs import estimate
from mlfs_dask.jobs.agenda import Agenda
from mlfs_dask.jobs.data import names
from mlfs_dask.jobs.digest import job_digest, run_id
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.inputs import check_file
from mlfs_dask.jobs.needs import Needs
from mlfs_dask.jobs.rates import Rates, known_rates
from mlfs_dask.jobs.rows import folds_of
from mlfs_dask.jobs.rundir import RunFolder, runs_folder
from mlfs_dask.jobs.scaling import Elapsed, elapsed, on_this_machine
from mlfs_dask.jobs.selector_costs import COSTS, GUESSES
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.spec import COST_KEYS, STORE_COSTS, Costs, InputFile, Job, Method
from mlfs_dask.jobs.spread import is_worth_it
from mlfs_dask.jobs.sweep import entry_of
from mlfs_dask.jobs.units import Unit, units_of
from mlfs_dask.jobs.workload import Work
from mlfs_dask.storage.dataset import Dataset
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import are, counted, have

# Smaller jobs stay in this process: a cluster takes some seconds before its first task.
_WORTH_A_CLUSTER_SECONDS: Final = 10.0


class ConstantLabel(Struct, frozen=True):
    """A label that the training rows of a fold show with one value only."""

    dataset: str
    label: str
    repeat: int
    fold: int
    lacks: str  # "positives" or "negatives"


class PlannedData(Struct, frozen=True):
    """A data set of the job."""

    name: str
    path: str
    n_samples: int
    n_features: int
    n_labels: int


class PlannedFile(Struct, frozen=True):
    """A file that the job names; a run keeps a copy of it."""

    key: str
    path: str
    bytes: int
    sha256: str


class Plan(Struct, frozen=True, kw_only=True):
    """What a run of a job would be.

    Attributes
    ----------
    run
        Id.
    state
        State of the run if there is one already, else None.
    datasets
        What it runs on.
    files
        What else it reads.
    missing_rate
        Share of the cells that are made missing, or None.
    costs
        Where the costs of the features come from, in words; None: there are none.
    waits
        Data set -> its selectors that will wait for blocks of features until the store is closed.
    sweep
        Entry of the job file that is swept -> its points.
    n_selections, n_curves
        Units of both kinds.
    n_done
        Units that an earlier, interrupted run finished.
    n_tasks
        Tasks the rest makes.
    workers
        Worker processes; 0 means in this process.
    task_bytes
        Estimated peak of the arrays of the largest task.
    memory_bytes
        The same with the process around it: what a worker needs.
    memory_limit_bytes
        Limit per worker the job sets, or None.
    largest
        Unit that needs that much.
    seconds
        Estimated time of the command, without waiting.
    rates, rates_note
        What the time is estimated by, and why a calibration was passed over, if one was.
    constant_labels
        Pairs of label and fold that cannot be learned.
    few_rows
        Methods that ask for more neighbours than some training rows have, in words.
    guesses
        What estimates rest on that only rows could tell, in words.
    """

    run: str
    state: str | None
    datasets: list[PlannedData]
    files: list[PlannedFile]
    missing_rate: float | None
    costs: str | None
    waits: dict[str, list[str]]
    sweep: dict[str, int]
    n_selections: int
    n_curves: int
    n_done: int
    n_tasks: int
    workers: int
    task_bytes: int
    memory_bytes: int
    memory_limit_bytes: int | None
    largest: str
    seconds: float
    rates: str
    rates_note: str
    constant_labels: list[ConstantLabel]
    few_rows: list[str]
    guesses: list[str]

    @property
    def warnings(self) -> list[str]:
        """What the user should know before starting."""
        found = []
        pairs = len(self.constant_labels)
        if pairs:
            labels = {(pair.dataset, pair.label) for pair in self.constant_labels}
            found.append(
                f"{counted(pairs, 'pair')} of label and training fold {have(pairs)} no positive or "
                f"no negative row ({counted(len(labels), 'label')}): nothing can be learned about "
                "the label there"
            )
        found += self.few_rows
        if self.rates_note:
            found.append(self.rates_note)
        return found


def make_plan(
    job: Job, datasets: Sequence[Dataset], *, runs: Place | None = None, done: Sequence[str] = ()
) -> Plan:
    """Count and estimate a job.

    Parameters
    ----------
    job
        Resolved job.
    datasets
        Its opened data sets.
    runs
        Folder of all runs.
    done
        Ids of units that are finished already.

    Raises
    ------
    PlanError
        ``strict`` and a label is constant in a training fold; or a worker needs more memory than
        the job allows it.
    """
    known = known_rates()
    sizes = {dataset.name: Sizes.of(dataset) for dataset in datasets}
    constant_labels, fewest = _look_at_folds(job, datasets)
    units = units_of(job, names(datasets))
    agenda = Agenda(job, units, sizes, done)
    limit = parse_bytes(job.run.memory_per_worker or "")
    cost = [
        sum(estimate.seconds(job, u, sizes[u.dataset], known.rates, limit) for u in group)
        for group in agenda.groups
    ]
    workers = _workers(job, cost)
    needs = Needs(job, units, sizes, known.rates, workers)
    # Should others be lost, a worker reads all tiles: what fits has to fit then, too.
    wide = is_worth_it(max(cost, default=0.0), len(cost), workers)
    peak, largest = needs.most(limit, sharing=workers if wide else 1)
    digest = job_digest(job, [(dataset.name, dataset.digest) for dataset in datasets])
    folder = RunFolder((runs or runs_folder()) / run_id(job.name, digest))
    plan = Plan(
        run=folder.id,
        state=folder.read_state()["state"] if folder.exists else None,
        datasets=[
            PlannedData(d.name, d.path, d.n_samples, d.n_features, d.n_labels) for d in datasets
        ],
        files=[_planned_file(key, file) for key, file in sorted(job.files.items())],
        missing_rate=job.data.missing.rate if job.data.missing is not None else None,
        costs=_costs_in_words(job, datasets),
        waits=_waits(job, datasets),
        sweep=_points(job),
        n_selections=_count(units, "select"),
        n_curves=_count(units, "judge"),
        n_done=len(set(done)),
        n_tasks=len(agenda.groups),
        workers=workers,
        task_bytes=peak,
        memory_bytes=peak + known.rates.process_bytes,
        memory_limit_bytes=limit,
        largest=str(largest) if largest is not None else "",
        seconds=_elapsed(job, agenda.groups, sizes, known.rates, workers, limit),
        rates=known.source,
        rates_note=known.note,
        constant_labels=constant_labels,
        few_rows=_few_rows(job, fewest),
        guesses=_guesses(job, sizes),
    )
    if limit is not None and not needs.fits(limit):
        raise needs.refuse(limit)
    if job.evaluate is not None and job.evaluate.strict and plan.constant_labels:
        raise _refused(plan.constant_labels)
    return plan


def _planned_file(key: str, file: InputFile) -> PlannedFile:
    return PlannedFile(key, file.path, check_file(file).stat().st_size, file.sha256)


def _costs_in_words(job: Job, datasets: Sequence[Dataset]) -> str | None:
    costs = job.data.costs
    if costs is None and any(dataset.feature_cost is not None for dataset in datasets):
        costs = STORE_COSTS  # used where there are some
    if not isinstance(costs, Costs):
        return "of the stores" if costs == STORE_COSTS else costs
    numbers = [f"{key} {getattr(costs, key):g}" for key in COST_KEYS[costs.distribution]]
    return f"drawn, {costs.distribution} with {' and '.join(numbers)}"


def _waits(job: Job, datasets: Sequence[Dataset]) -> dict[str, list[str]]:
    """Selectors that follow stores which may still grow."""
    waits: dict[str, list[str]] = {}
    for dataset in datasets:
        following = [s.label for s in job.selects_on(dataset.name) if s.follow and s.final]
        if following and not dataset.is_closed:
            waits[dataset.name] = following
    return waits


def _points(job: Job) -> dict[str, int]:
    points: dict[str, int] = {}
    for key, values in job.sweep.items():
        entry = entry_of(key)
        points[entry] = points.get(entry, 1) * len(values)
    return points


def _workers(job: Job, cost: Sequence[float]) -> int:
    if job.run.workers is not None:
        return job.run.workers
    if sum(cost) < _WORTH_A_CLUSTER_SECONDS or available_cores() == 1:
        return 0
    # A single task has all cores in this process, but one of them on a worker.
    return 0 if len(cost) == 1 else min(available_cores(), len(cost))


def _elapsed(
    job: Job,
    groups: Sequence[Sequence[Unit]],
    sizes: Mapping[str, Sizes],
    rates: Rates,
    workers: int,
    limit: int | None,
) -> float:
    """Time of a command: tasks side by side, each by itself spread over the cores if it is long."""
    alone, spread = [], []
    for group in groups:
        on = [(u, sizes[u.dataset]) for u in group]
        alone.append(sum(estimate.seconds(job, u, its, rates, limit) for u, its in on))
        works = [on_this_machine(estimate.work(job, u, its, limit), rates) for u, its in on]
        wide = sum(_wide(work, workers, rates).seconds for work in works)
        spread.append(min(alone[-1], len(group) * rates.unit_seconds + wide))
    if workers == 0:
        return rates.start_seconds + sum(spread)
    shared = max(sum(alone) / workers, max(spread, default=0.0))
    return rates.start_seconds + rates.cluster_seconds + shared


def _wide(work: Work, workers: int, rates: Rates) -> Elapsed:
    """Work on all workers, or on the threads of this process, which share its memory."""
    if workers:
        return elapsed(work, workers, rates, available_cores())
    quick = structs.replace(
        rates,
        task_seconds=1e-5,
        message_seconds=1e-5,
        worker_seconds=1e-5,
        round_seconds=1e-4,
        reply_seconds=1e-5,
        shared_reply_seconds=1e-5,
        upkeep=1e-5,
        bytes_per_second=1e12,
    )
    return elapsed(work, available_cores(), quick)


def _count(units: Sequence[Unit], kind: str) -> int:
    return sum(unit.kind == kind for unit in units)


def _look_at_folds(
    job: Job, datasets: Sequence[Dataset]
) -> tuple[list[ConstantLabel], dict[str, int]]:
    """Labels that cannot be learned, and the fewest training rows of each data set."""
    constant: list[ConstantLabel] = []
    fewest: dict[str, int] = {}
    if job.evaluate is None:
        return constant, fewest
    for dataset in datasets:
        name = dataset.name
        for fold in folds_of(job, dataset):
            n_train = len(fold.train)
            fewest[name] = min(n_train, fewest.get(name, n_train))
            positives = np.count_nonzero(dataset.Y[fold.train], axis=0)
            for lacks, labels in (
                ("positives", np.flatnonzero(positives == 0)),
                ("negatives", np.flatnonzero(positives == n_train)),
            ):
                constant += [
                    ConstantLabel(name, dataset.label_names[label], fold.repeat, fold.fold, lacks)
                    for label in labels.tolist()
                ]
    return constant, fewest


def _few_rows(job: Job, fewest: Mapping[str, int]) -> list[str]:
    """Methods that ask for more neighbours than there are other rows."""
    entries: list[Method] = list(job.select)
    if job.evaluate is not None:
        entries += job.evaluate.classifier
    asked = {entry.label: entry.params.get("n_neighbors", 0) for entry in entries}
    return [
        f"{label}: n_neighbors = {n_neighbors}, but a training row of {name} has only "
        f"{counted(n_train - 1, 'other')}: all of them will be its neighbours"
        for name, n_train in fewest.items()
        for label, n_neighbors in asked.items()
        if n_neighbors >= n_train
    ]


def _guesses(job: Job, sizes: Mapping[str, Sizes]) -> list[str]:
    """Of each selection whose costs depend on what is in the rows, or are not known at all."""
    made = [
        f"{select.label} on {name}: "
        + GUESSES[select.method](some.shape(some.n_samples), select.params)
        for name, some in sizes.items()
        for select in job.selects_on(name)
        if select.method in GUESSES
    ]
    methods = {select.method for name in sizes for select in job.selects_on(name)}
    return made + [
        f"{method}: nothing is known of its costs; it is taken to look at all pairs of rows once"
        for method in sorted(methods - COSTS.keys())
    ]


def _refused(pairs: Sequence[ConstantLabel]) -> PlanError:
    shown = "".join(
        f"\n  {p.dataset}: label {p.label!r} has no {p.lacks} in repeat {p.repeat}, fold {p.fold}"
        for p in pairs[:20]
    )
    more = f"\n  and {len(pairs) - 20} more" if len(pairs) > 20 else ""
    return PlanError(
        f"strict = true, and {counted(len(pairs), 'pair')} of label and training fold "
        f"{are(len(pairs))} constant:"
        f"{shown}{more}",
        hint="Take fewer folds, leave out these labels, or set evaluate.strict = false.",
        pairs=len(pairs),
    )
