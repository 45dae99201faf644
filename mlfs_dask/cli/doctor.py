"""``mlfs doctor``: whether this machine, or a cluster, is fit for jobs."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_options, target_of

if TYPE_CHECKING:
    from mlfs_dask.jobs.clusters.doctor import Diagnosis, Store
    from mlfs_dask.storage.places import Place

_PROBLEM_EXIT_CODE = 2


@click.command()
@cluster_options
@click.option("--store", help="Name or path of a store that all workers must see.")
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure this machine, for about a minute, so that mlfs plan knows its speed.",
)
@runs_option
@json_option
def doctor(
    where: dict[str, Any], store: str | None, calibrate: bool, runs: Place, as_json: bool
) -> None:
    """Look for what would make jobs fail, slow or different, and say what to do about it.

    With --scheduler, --scheduler-file, --profile or $DASK_SCHEDULER_ADDRESS: versions of client,
    scheduler and workers, whether all see the store and the folder of runs, clocks, threads, memory
    limits, disks, TLS, compiled kernels, how many lost workers the scheduler forgives. Without:
    this machine. The exit code is 2 if anything is a problem.

    With --calibrate: how fast this machine does the work of each method, starts processes, moves
    bytes and reads its disk, kept in $MLFS_CALIBRATION or the user's cache folder for mlfs plan.
    Let it do nothing else meanwhile.

    \b
    Example:
      mlfs doctor
      mlfs doctor --profile slurm --store emotions
      mlfs doctor --calibrate
    """
    from mlfs_dask.jobs.clusters.connect import connected
    from mlfs_dask.jobs.clusters.doctor import examine_cluster, examine_machine
    from mlfs_dask.storage.catalogue import stores_folder

    target = target_of(where)
    if calibrate:
        if target is not None or store is not None:
            raise click.UsageError("--calibrate measures this machine: no cluster, no --store")
        _calibrate(as_json)
        return
    used = _look_at(store)
    if target is None:
        diagnosis = examine_machine(runs, stores_folder(), used)
    else:
        with connected(target, check_versions=False) as client:
            diagnosis = examine_cluster(client, target, runs, used)
    if as_json:
        print_json(_document(diagnosis))
    else:
        _print(diagnosis)
    if diagnosis.count("problem"):
        raise click.exceptions.Exit(_PROBLEM_EXIT_CODE)


def _calibrate(as_json: bool) -> None:
    from datetime import UTC, datetime

    import msgspec

    from mlfs_dask.errors import InputError
    from mlfs_dask.jobs.calibrate import calibrate
    from mlfs_dask.jobs.rates import calibration_file, keep_rates
    from mlfs_dask.storage.atomic import machine_faults

    wanted = calibration_file()  # what is wrong with it is told now rather than after a minute
    if wanted.is_dir():
        raise InputError(
            f"{wanted} is a folder; the calibration is kept in a file",
            hint="Have $MLFS_CALIBRATION name a file.",
        )
    with machine_faults("keep the calibration in", wanted.parent):
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=wanted.parent) as trial:
            trial.write(b"of some bytes")
    rates = calibrate(lambda line: click.echo(line, err=True))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    file = keep_rates(rates, date)
    if as_json:
        print_json({"file": str(file), "date": date, "rates": msgspec.to_builtins(rates)})
    else:
        click.echo(f"kept in {file}: mlfs plan goes by it on this machine")


def _look_at(store: str | None) -> Store | None:
    if store is None:
        return None
    from mlfs_dask.jobs.clusters.doctor import Store
    from mlfs_dask.storage.catalogue import resolve_store
    from mlfs_dask.storage.store import open_store

    opened = open_store(resolve_store(store, ingest_missing=False))
    return Store(opened.path, opened.digest)


def _document(diagnosis: Diagnosis) -> dict[str, Any]:
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(diagnosis)
    return {"fit": diagnosis.count("problem") == 0, **document}


def _print(diagnosis: Diagnosis) -> None:
    from mlfs_dask.wording import counted

    for finding in diagnosis.findings:
        click.echo(f"{finding.level:8} {finding.check:11} {finding.message}")
        if finding.fix:
            click.echo(f"{'':20} -> {finding.fix}")
    counts = [
        counted(n, level) for level in ("problem", "warning") if (n := diagnosis.count(level))
    ]
    click.echo(f"\n{' and '.join(counts) or 'fit for jobs'}")
