"""``mlfs cluster``: a small cluster of this machine, and a look at any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.output import json_option, print_json, print_table, quoted
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_options, target_of
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.clusters.live import Live
    from mlfs_dask.jobs.clusters.record import ClusterRecord
    from mlfs_dask.jobs.clusters.start import ClusterOrder
    from mlfs_dask.jobs.clusters.tls import TlsFiles

dir_option = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="State folder of the cluster; by default $MLFS_CLUSTER, else ./cluster.",
)


@click.group()
def cluster() -> None:
    """A cluster of this machine: start it, look at it, stop it.

    \b
    Example:
      mlfs cluster start --workers 4
      mlfs run JOB --profile local
      mlfs cluster stop
    """


@cluster.command()
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--threads", type=click.IntRange(min=1), help="Tasks of a worker at once; default 1.")
@click.option(
    "--memory", metavar="SIZE", help="Limit of a worker, like '4 GiB'; default an equal share."
)
@click.option(
    "--host", help="Address of this machine to listen at; by default 127.0.0.1, for it alone."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Of the scheduler; by default any that is free."
)
@click.option(
    "--tls/--no-tls",
    "tls",
    default=None,
    help="Certificates for all connections; by default wherever other machines can connect.",
)
@click.option("--tls-ca-file", type=click.Path(dir_okay=False), help="Use this, make none.")
@click.option("--tls-cert", type=click.Path(dir_okay=False), help="Use this, make none.")
@click.option("--tls-key", type=click.Path(dir_okay=False), help="Use this, make none.")
@click.option("--insecure", is_flag=True, help="Let other machines connect without TLS. Dangerous.")
@click.option("--profile", metavar="NAME", help="Take sizes from a profile of kind 'local'.")
@dir_option
@runs_option
@json_option
def start(folder: Path | None, profile: str | None, as_json: bool, **given: Any) -> None:
    """Start a scheduler and workers that go on when this command and its terminal are gone.

    By default they listen on this machine alone. On a machine that you share with others, give
    --tls: whoever reaches a scheduler without it can run programs in your name. With --host and an
    address of this machine others can connect; then TLS is the default, and the files in the state
    folder's tls/ are what they need.

    \b
    Example:
      mlfs cluster start --workers 4 --memory '2 GiB'
      mlfs cluster start --host 10.0.0.5 --port 8786
    """
    from mlfs_dask.jobs.clusters.profiles import read_profile
    from mlfs_dask.jobs.clusters.record import ClusterFolder
    from mlfs_dask.jobs.clusters.start import start_cluster

    read = read_profile(profile) if profile is not None else None
    place = ClusterFolder(folder or (read.folder if read is not None else None))
    record = start_cluster(place, _order(read, given))
    if as_json:
        print_json(_document(record, place.path, place.scheduler_file))
        return
    click.echo(f"{_sizes(record)} at {record.address}, {_protection(record)}")
    click.echo(f"runs:      {record.dashboard}/mlfs")
    click.echo(f"dashboard: {record.dashboard}/status")
    click.echo(f"state:     {place.path}")
    click.echo(f"use it:    mlfs run JOB --scheduler-file {quoted(place.scheduler_file)}")
    click.echo(f"end it:    mlfs cluster stop --dir {quoted(place.path)}")


def _order(profile: Any, given: dict[str, Any]) -> ClusterOrder:
    """What is wanted: by flags, else by the profile."""
    from mlfs_dask.errors import ClusterError
    from mlfs_dask.jobs.clusters.profiles import Start
    from mlfs_dask.jobs.clusters.start import ClusterOrder
    from mlfs_dask.jobs.clusters.target import STARTED_BY

    if profile is not None and profile.kind != "local":
        raise ClusterError(
            f"profile {profile.name!r} is of a cluster of kind {profile.kind!r}, which this "
            "command does not start",
            hint=STARTED_BY[profile.kind],
        )
    sizes = (profile.start if profile is not None else None) or Start()
    wanted = {
        name: getattr(sizes, name) if given[name] is None else given[name]
        for name in ("workers", "threads", "host", "port", "tls")
    }
    memory = given["memory"] or sizes.memory
    return ClusterOrder(
        **wanted,
        memory_bytes=None if memory is None else _bytes(memory),
        files=_files(given),
        insecure=given["insecure"],
        runs=given["runs"],
    )


def _bytes(memory: str) -> int:
    from mlfs_dask.errors import InputError
    from mlfs_dask.jobs.sizes import parse_bytes

    size = parse_bytes(memory)
    if not size:
        raise InputError(
            f"--memory {memory!r} is no size", hint="Give one with its unit, like '4 GiB'."
        )
    return size


def _files(given: dict[str, Any]) -> TlsFiles | None:
    from mlfs_dask.errors import ClusterError
    from mlfs_dask.jobs.clusters.tls import TlsFiles

    parts = {name: given[f"tls_{name}"] for name in ("ca_file", "cert", "key")}
    if not any(parts.values()):
        return None
    if not all(parts.values()):
        raise ClusterError("TLS needs all of --tls-ca-file, --tls-cert and --tls-key")
    return TlsFiles(**{name: str(Path(part).absolute()) for name, part in parts.items()})


@cluster.command()
@cluster_options
@dir_option
@json_option
def info(where: dict[str, Any], folder: Path | None, as_json: bool) -> None:
    """Show a cluster: addresses, workers, what they do, the link to its dashboard.

    Without an option this is the cluster that `mlfs cluster start` made; otherwise any other.

    \b
    Example:
      mlfs cluster info
      mlfs cluster info --scheduler-file /shared/scheduler.json
    """
    from mlfs_dask.errors import ClusterError
    from mlfs_dask.jobs.clusters.connect import connected
    from mlfs_dask.jobs.clusters.live import look
    from mlfs_dask.jobs.clusters.record import ClusterFolder

    if folder is not None and any(where.values()):
        raise ClusterError("--dir and the other options each name a cluster", hint="Give one.")
    place = ClusterFolder(folder)
    record = None if any(where.values()) else place.read()
    if record is not None:
        where = {**where, "scheduler_file": str(place.scheduler_file)}
    target = target_of(where)
    if target is None:
        raise ClusterError(
            f"no cluster was started in {place.path}, and no other is named",
            hint="`mlfs cluster start` starts one; --scheduler, --scheduler-file and --profile "
            "name another.",
        )
    with connected(target, check_versions=False) as client:
        live = look(client)
    if as_json:
        facts = {} if record is None else _document(record, place.path, place.scheduler_file)
        print_json({**facts, **_live_document(live)})
        return
    if record is not None:
        click.echo(f"{_sizes(record)}, {_protection(record)}, since {record.created}")
        click.echo(f"state:     {place.path}")
    click.echo(f"scheduler: {live.address}")
    click.echo(f"dashboard: {live.dashboard or 'none'}")
    click.echo()
    _print_workers(live)


@cluster.command()
@dir_option
@json_option
def stop(folder: Path | None, as_json: bool) -> None:
    """End the cluster that `mlfs cluster start` made, and whatever is left of it.

    Runs that were at work on it can be resumed.

    \b
    Example:
      mlfs cluster stop
    """
    from mlfs_dask.jobs.clusters.record import ClusterFolder
    from mlfs_dask.jobs.clusters.stop import stop_cluster

    place = ClusterFolder(folder)
    stopped = stop_cluster(place)
    if as_json:
        counts = {"ended": stopped.ended, "killed": stopped.killed} if stopped else None
        print_json({"folder": str(place.path), "stopped": counts})
    elif stopped is None:
        click.echo(f"no cluster was started in {place.path}")
    else:
        killed = f", {stopped.killed} of them killed" if stopped.killed else ""
        click.echo(
            f"stopped {counted(stopped.ended + stopped.killed, 'process', 'processes')}{killed}"
        )


@cluster.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", "hosts", multiple=True, help="Name or address to put into them.")
@json_option
def certificates(folder: Path, hosts: tuple[str, ...], as_json: bool) -> None:
    """Make TLS certificates for a cluster that is started by other means: SSH, Slurm, Kubernetes.

    FOLDER gets ca.pem, cert.pem and key.pem; scheduler, workers and clients need all three.
    Whoever reads key.pem can use the cluster in your name.

    \b
    Example:
      mlfs cluster certificates ~/mlfs-slurm/tls
    """
    from mlfs_dask.jobs.clusters.certificates import DAYS, make_certificates

    files = make_certificates(folder.absolute(), hosts)
    if as_json:
        print_json(files)
    else:
        click.echo(f"{folder}: ca.pem, cert.pem, key.pem, valid for {DAYS} days")


def _document(record: ClusterRecord, folder: Path, scheduler_file: Path) -> dict[str, Any]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(record)
    return {"folder": str(folder), "scheduler_file": str(scheduler_file), **facts}


def _live_document(live: Live) -> dict[str, Any]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(live)
    return facts


def _sizes(record: ClusterRecord) -> str:
    from mlfs_dask.jobs.sizes import show_bytes

    threads = "" if record.threads == 1 else f" with {record.threads} threads each"
    memory = show_bytes(record.memory_bytes)
    return f"{counted(record.workers, 'worker')}{threads}, {memory} each"


def _protection(record: ClusterRecord) -> str:
    return "TLS" if record.tls is not None else "not encrypted"


def _print_workers(live: Live) -> None:
    from mlfs_dask.jobs.sizes import show_bytes

    rows: Sequence[Sequence[object]] = [
        (
            worker.address,
            worker.status,
            worker.threads,
            worker.processing,
            show_bytes(worker.memory_bytes),
            show_bytes(worker.memory_limit_bytes) if worker.memory_limit_bytes else "none",
            " ".join(f"{name}={amount:g}" for name, amount in worker.resources.items()),
        )
        for worker in live.workers
    ]
    if not rows:
        click.echo("no workers")
        return
    print_table(rows, ("worker", "state", "threads", "tasks", "memory", "limit", "resources"))
