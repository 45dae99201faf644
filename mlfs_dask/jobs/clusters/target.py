"""Which cluster is meant: by flags, a profile or the environment; one of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlfs_dask.errors import ClusterError, NotFoundError
from mlfs_dask.jobs.clusters.address import SchedulerAddress, refuse_open_network
from mlfs_dask.jobs.clusters.profiles import Profile, read_profile
from mlfs_dask.jobs.clusters.record import RECORD, ClusterFolder, read_record
from mlfs_dask.jobs.clusters.tls import TlsFiles

VARIABLE: Final = "DASK_SCHEDULER_ADDRESS"
_LARGEST: Final = 2**20
STARTED_BY: Final[Mapping[str, str]] = {
    "local": "Start it: `mlfs cluster start`; before that `mlfs cluster stop` if parts are left.",
    "scheduler": "Is the scheduler running, and reachable from this machine?",
    "ssh": "Start it: deploy/ssh/start.sh.",
    "slurm": "Submit deploy/slurm/scheduler.sbatch; `squeue` says whether it is running yet.",
    "kubernetes": "Look at `kubectl get daskclusters,pods`; from outside the Kubernetes cluster "
    "`kubectl port-forward` is needed.",
}
"""Kind of a profile -> what to do if nothing answers."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a command line says about the cluster; None where it says nothing.

    Attributes
    ----------
    scheduler
        Address.
    scheduler_file
        File that the scheduler wrote.
    profile
        Name or path.
    tls_ca_file, tls_cert, tls_key
        TLS material.
    insecure
        Whether plain connections to other machines are wanted.
    """

    scheduler: str | None = None
    scheduler_file: str | None = None
    profile: str | None = None
    tls_ca_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Flags that say where the cluster is."""
        flags = {
            "--scheduler": self.scheduler,
            "--scheduler-file": self.scheduler_file,
            "--profile": self.profile,
        }
        return tuple(flag for flag, value in flags.items() if value is not None)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A cluster to connect to.

    Attributes
    ----------
    address
        Of its scheduler.
    tls
        What to show and what to trust; None on plain connections.
    said_by
        Where the address is from, in words.
    hint
        What to do if nothing answers.
    warning
        What is dangerous about it, or None.
    """

    address: SchedulerAddress
    tls: TlsFiles | None
    said_by: str
    hint: str
    warning: str | None


def choose_target(wanted: Wanted) -> Target | None:
    """The cluster that a command line, a profile or the environment means.

    Parameters
    ----------
    wanted
        The command line.

    Returns
    -------
    Target or None
        None if nothing names a cluster.

    Raises
    ------
    ClusterError
        Several are named; an address is none; TLS material is missing; or the address is plain
        TCP to another machine and `insecure` is false.
    NotFoundError
        There is no such file or profile.
    JobFileError
        The profile is wrong.
    """
    if len(wanted.named) > 1:
        raise ClusterError(
            f"{' and '.join(wanted.named)} each say where the cluster is",
            hint="Give one of them.",
        )
    if wanted.profile is not None:
        return _of_profile(read_profile(wanted.profile), wanted)
    if wanted.scheduler_file is not None:
        return _of_file(Path(wanted.scheduler_file), wanted, {}, "", "scheduler")
    if wanted.scheduler is not None:
        return _target(wanted.scheduler, wanted, {}, "--scheduler", "scheduler")
    address = os.environ.get(VARIABLE)
    if address:
        return _target(address, wanted, {}, f"${VARIABLE}", "scheduler")
    if wanted != Wanted():
        raise ClusterError(
            "certificates or --insecure are given, and nothing says where the cluster is",
            hint="Give --scheduler, --scheduler-file or --profile.",
        )
    return None


def _of_profile(profile: Profile, wanted: Wanted) -> Target:
    said_by = f"profile {profile.name}"
    tls = {
        key: value
        for key in ("ca_file", "cert", "key")
        if (value := getattr(profile.tls, key)) is not None
    }
    if profile.scheduler is not None:
        return _target(profile.scheduler, wanted, tls, said_by, profile.kind)
    if profile.scheduler_file is not None:
        return _of_file(Path(profile.scheduler_file), wanted, tls, said_by, profile.kind)
    folder = ClusterFolder(profile.folder)
    if folder.read() is None:
        raise NotFoundError(
            f"no cluster was started in {folder.path}",
            hint=f"Start it: mlfs cluster start --profile {profile.name}",
            path=str(folder.path),
        )
    return _of_file(folder.scheduler_file, wanted, tls, said_by, profile.kind)


def _of_file(path: Path, wanted: Wanted, tls: Mapping[str, str], said_by: str, kind: str) -> Target:
    """Target of a scheduler file; where `mlfs cluster` wrote it, the certificates are known."""
    try:
        with path.open("rb") as file:
            address = json.loads(file.read(_LARGEST))["address"]
    except FileNotFoundError:
        raise NotFoundError(
            f"there is no scheduler file {path}", hint=STARTED_BY[kind], path=str(path)
        ) from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ClusterError(
            f"{path} is no scheduler file: {error}",
            hint="`dask scheduler --scheduler-file` and `mlfs cluster start` write them.",
            path=str(path),
        ) from error
    record = read_record(path.parent / RECORD)
    if record is not None:
        kind = "local"
    if record is not None and record.tls is not None and not tls:
        tls = {"ca_file": record.tls.ca_file, "cert": record.tls.cert, "key": record.tls.key}
    return _target(str(address), wanted, tls, said_by or str(path), kind)


def _target(text: str, wanted: Wanted, tls: Mapping[str, str], said_by: str, kind: str) -> Target:
    files = TlsFiles.from_parts(
        ca_file=wanted.tls_ca_file or tls.get("ca_file"),
        cert=wanted.tls_cert or tls.get("cert"),
        key=wanted.tls_key or tls.get("key"),
    )
    address = SchedulerAddress.parse(text, default_protocol="tls" if files else "tcp")
    if address.protocol == "tls" and files is None:
        raise ClusterError(
            f"{address} needs certificates, and none is named",
            hint="Give --tls-ca-file, --tls-cert and --tls-key, or set distributed.comm.tls in "
            "Dask's configuration.",
            address=str(address),
        )
    return Target(
        address=address,
        tls=files if address.protocol == "tls" else None,
        said_by=said_by,
        hint=STARTED_BY[kind],
        warning=refuse_open_network(address, insecure=wanted.insecure),
    )
