"""Connecting to a cluster: quickly where nothing answers, never with less than TLS asks for."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from mlfs_dask.errors import ClusterError
from mlfs_dask.jobs.clusters.address import SchedulerAddress
from mlfs_dask.jobs.clusters.findings import counted
from mlfs_dask.jobs.clusters.target import Target
from mlfs_dask.jobs.clusters.versions import refuse_other_versions

_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 20


@contextmanager
def connected(target: Target, *, check_versions: bool = True) -> Iterator[Any]:
    """Client of a cluster while the block runs.

    Parameters
    ----------
    target
        Which cluster.
    check_versions
        Whether to refuse a cluster whose packages are others, and say in the log where it is.

    Raises
    ------
    ClusterError
        Nothing answers; the certificates are not those of the cluster; or its packages are others.
    """
    if target.warning:
        _LOG.warning("%s", target.warning)
    security = target.tls.security() if target.tls is not None else None
    refuse_dead(target)
    with _client(target, security) as client:
        if check_versions:
            refuse_other_versions(client)
            _say_where(target, len(client.scheduler_info(n_workers=-1)["workers"]))
        yield client


def _say_where(target: Target, n_workers: int) -> None:
    workers = counted(n_workers, "worker")
    _LOG.info("%s (from %s): %s", target.address, target.said_by, workers)
    if n_workers == 0:
        _LOG.warning("tasks wait for the first worker")


def refuse_dead(target: Target) -> None:
    """Raise if nothing answers at an address, without Dask's patience.

    Parameters
    ----------
    target
        Where to look.

    Raises
    ------
    ClusterError
        The host has no address, or nothing listens there.
    """
    address = target.address
    try:
        socket.create_connection((address.host, address.port), timeout=_ANSWER_SECONDS).close()
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ClusterError(
            f"no scheduler answers at {address} (from {target.said_by}): {reason}",
            hint=target.hint,
            address=str(address),
        ) from error


def _client(target: Target, security: Any) -> Any:
    from distributed import Client

    try:
        return Client(
            str(target.address),
            security=security,
            set_as_default=False,
            timeout=_CONNECT_SECONDS,
            name="mlfs",
        )
    except (OSError, TypeError, RuntimeError, ValueError) as error:
        raise _refused(target.address, error, security) from error


def _refused(address: SchedulerAddress, error: Exception, security: Any) -> ClusterError:
    """What went wrong between two who could reach each other."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    if security is None:
        problem = f"what listens at {address} does not talk to plain connections: {causes[-1]}"
        hint = "Is it a tls:// scheduler, or no scheduler at all?"
    else:
        # Dask says what its last try met, which need not be what the first one failed of.
        context = security.get_connection_args("client")["ssl_context"]
        shaken, told = _handshake(address, context)
        if shaken or isinstance(told, ssl.SSLCertVerificationError):
            problem = (
                f"{address} and this machine do not trust each other's certificates: "
                f"{told or causes[-1]}"
            )
            hint = (
                "Take the files that belong to this cluster: `mlfs cluster info` on the machine it "
                "was started on names them."
            )
        else:
            problem = f"what listens at {address} does not talk TLS with this machine: {told}"
            hint = "Is it a tcp:// scheduler, or no scheduler at all, or are these another's files?"
    return ClusterError(problem, hint=hint, address=str(address))


def _handshake(address: SchedulerAddress, context: ssl.SSLContext) -> tuple[bool, Exception | None]:
    """Whether a bare TLS handshake succeeds on this side, and what went wrong then or after."""
    shaken = False
    try:
        place = (address.host, address.port)
        with (
            socket.create_connection(place, timeout=_ANSWER_SECONDS) as plain,
            context.wrap_socket(plain) as channel,
        ):
            shaken = True
            channel.recv(1)  # who refuses our certificate says so after the handshake
    except OSError as error:
        return shaken, error
    return shaken, None
