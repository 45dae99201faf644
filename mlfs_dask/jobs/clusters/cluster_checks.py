"""Judgements of ``mlfs doctor`` on what lies between machines: facts in, findings out."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from typing import Final

from mlfs_dask.jobs.clusters.address import SchedulerAddress, is_loopback
from mlfs_dask.jobs.clusters.findings import Finding, several
from mlfs_dask.jobs.clusters.live import Live
from mlfs_dask.jobs.clusters.probe import SchedulerFacts
from mlfs_dask.jobs.clusters.settings import ALLOWED_FAILURES, COORDINATOR
from mlfs_dask.jobs.clusters.tls import TlsFiles
from mlfs_dask.wording import counted

_SKEW_WARNING: Final = 1.0
_SKEW_PROBLEM: Final = 5.0  # leases of runs are taken over after 30 s without a sign
_LONG_TTL: Final = 120.0
_DAY: Final = 86_400.0
_FEW_DAYS: Final = 14


def check_clocks(skews: Mapping[str, tuple[float, float]]) -> Iterator[Finding]:
    """Clocks agree, since leases and certificates go by them.

    Parameters
    ----------
    skews
        Host -> seconds it is ahead of the client, and how far off this may be.
    """
    worst = 0.0
    for host, (ahead, doubt) in sorted(skews.items()):
        certain = max(0.0, abs(ahead) - doubt)
        worst = max(worst, certain)
        if certain > _SKEW_WARNING:
            yield Finding(
                check="clock",
                level="problem" if certain > _SKEW_PROBLEM else "warning",
                message=f"the clock of {host} is {abs(ahead):.1f} s "
                f"{'ahead of' if ahead > 0 else 'behind'} this machine's",
                fix="Let both keep time by NTP (timedatectl, chronyd).",
            )
    if worst <= _SKEW_WARNING:
        doubt = max((doubt for _, doubt in skews.values()), default=0.0)
        yield Finding(check="clock", level="ok", message=f"clocks agree to {worst + doubt:.2g} s")


def check_scheduler(scheduler: SchedulerFacts, live: Live) -> Iterator[Finding]:
    """Patience enough for a long job, and workers that are looked after.

    Parameters
    ----------
    scheduler, live
        The scheduler and its cluster.
    """
    if scheduler.allowed_failures < ALLOWED_FAILURES:
        yield Finding(
            check="scheduler",
            level="warning",
            message=f"allowed-failures is {scheduler.allowed_failures}: a task that loses "
            f"{counted(scheduler.allowed_failures + 1, 'worker')} is given up",
            fix="Start the scheduler with DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="
            f"{ALLOWED_FAILURES}, or with DASK_CONFIG naming deploy/dask.yaml.",
        )
    if not scheduler.worker_ttl or scheduler.worker_ttl > _LONG_TTL:
        shown = f"{scheduler.worker_ttl:.0f} s" if scheduler.worker_ttl else "never"
        yield Finding(
            check="scheduler",
            level="note",
            message=f"a worker that hangs is given up after {shown} (worker-ttl)",
            fix="Start the scheduler with DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s.",
        )
    if not live.workers:
        yield Finding(
            check="workers",
            level="warning",
            message="there are none: jobs wait for the first",
            fix="Start some: `dask worker`, `mlfs cluster start`, deploy/README.md.",
        )
    elif not any(COORDINATOR in worker.resources for worker in live.workers):
        yield Finding(
            check="workers",
            level="note",
            message=f"none declares the resource {COORDINATOR}: nothing limits how many jobs are "
            "coordinated at once",
            fix=f"Start workers with --resources {COORDINATOR}=1.",
        )
    else:
        yield Finding(check="workers", level="ok", message=f"{len(live.workers)} at work")


def check_network(
    address: SchedulerAddress, scheduler: SchedulerFacts | str, live: Live
) -> Iterator[Finding]:
    """Nothing unencrypted between machines.

    Parameters
    ----------
    address
        By which the client came.
    scheduler, live
        The scheduler and its cluster.
    """
    addresses = [address, *(SchedulerAddress.parse(worker.address) for worker in live.workers)]
    open_ones = [a for a in addresses if a.protocol != "tls" and not a.is_loopback]
    if open_ones:
        yield Finding(
            check="tls",
            level="problem",
            message=f"plain connections between machines: {several(map(str, open_ones))}; whoever "
            "reaches them can run programs there",
            fix="Start scheduler and workers with certificates: `mlfs cluster certificates`, "
            "--tls-ca-file, --tls-cert, --tls-key, --protocol tls.",
        )
    else:
        kind = "TLS" if address.protocol == "tls" else "not encrypted, but within one machine"
        yield Finding(check="tls", level="ok", message=f"connections: {kind}")
    if isinstance(scheduler, str) or scheduler.pages_encrypted:
        return
    reachable = [page for page in scheduler.pages if not is_loopback(page)]
    if reachable:
        yield Finding(
            check="tls",
            level="warning",
            message=f"the dashboard listens at {several(reachable)} without TLS: anybody can read "
            "it, it asks for no password",
            fix="Start the scheduler with --dashboard-address 127.0.0.1:8787 and reach it by an "
            "SSH tunnel, or set distributed.scheduler.dashboard.tls.",
        )


def check_store(path: str, digest: str, seen: Mapping[str, str]) -> Iterator[Finding]:
    """All workers see the store that the client sees.

    Parameters
    ----------
    path, digest
        The store here.
    seen
        Worker -> digest it sees, or what is wrong, in words.
    """
    wrong = {node: what for node, what in seen.items() if what != digest}
    for what in sorted({*wrong.values()}):
        where = several(node for node, each in wrong.items() if each == what)
        other = len(what) == len(digest) and " " not in what
        yield Finding(
            check="store",
            level="problem",
            message=f"{where}: {path} has digest {what[:10]}, here {digest[:10]}"
            if other
            else f"{where}: {what}",
            fix="Put the store where all machines see it under the same path: a shared disk, or "
            "a copy of it on each.",
        )
    if not wrong:
        yield Finding(
            check="store",
            level="ok",
            message=f"{path}, digest {digest[:10]}, here and on {counted(len(seen), 'worker')}",
        )


def check_runs(folder: str, seen: Mapping[str, str | None]) -> Iterator[Finding]:
    """Workers can hold coordinators: they see and write the folder of runs.

    Parameters
    ----------
    folder
        Of all runs.
    seen
        Worker -> what is wrong there, in words, or None.
    """
    wrong = {node: what for node, what in seen.items() if what is not None}
    for what in sorted({*wrong.values()}):
        where = several(node for node, each in wrong.items() if each == what)
        yield Finding(
            check="runs",
            level="warning",
            message=f"{where}: {folder}: {what}; `mlfs run` works, but no coordinator can be "
            "handed to such a worker",
            fix="Put --runs on a disk that all machines share and may write.",
        )
    if not wrong:
        yield Finding(
            check="runs",
            level="ok",
            message=f"{folder}: written and read by {counted(len(seen), 'worker')}",
        )


def check_files(files: TlsFiles, expires: float | None) -> Iterator[Finding]:
    """The key is its owner's alone, the certificate is valid for a while.

    Parameters
    ----------
    files
        Of the client.
    expires
        When the certificate does, in seconds since 1970; None if that is unknown.
    """
    facts = os.stat(files.key)
    mode = stat.S_IMODE(facts.st_mode)
    # Secrets of Kubernetes belong to root, and to a group that only the pod is in.
    own = facts.st_uid == os.getuid() != 0
    if mode & (0o077 if own or os.getuid() == 0 else 0o007):
        yield Finding(
            check="tls",
            level="problem",
            message=f"{files.key} can be read by others (mode {mode:04o}): whoever does can run "
            "programs on the cluster in your name",
            fix=f"chmod 600 {files.key}",
        )
    if expires is None:
        return
    days = (expires - time.time()) / _DAY
    if days < _FEW_DAYS:
        yield Finding(
            check="tls",
            level="warning",
            message=f"the certificate {files.cert} expires in {counted(round(days), 'day')}",
            fix="Start the cluster anew, or make others: `mlfs cluster certificates`.",
        )
