"""Connecting to a cluster: quickly where nothing answers, never with less than TLS asks for."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from mlfs_dask.errors import ClusterError
from mlfs_dask.jobs.clusters.address import SchedulerAddress
from mlfs_dask.jobs.clusters.target import Target
from mlfs_dask.jobs.clusters.versions import refuse_other_versions
from mlfs_dask.wording import counted

_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS: Final = 5.0
_GREETING_SECONDS: Final = 20
_ENDING_SECONDS: Final = 0.2
_LENGTH: Final = struct.Struct("<Q")
_LONGEST_GREETING: Final = 2**20
_CONNECT_SECONDS: Final = 20
_REFUSALS: Final = (OSError, TypeError, RuntimeError, ValueError)


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
        Nothing answers, or something that is no scheduler; the certificates are not those of the
        cluster; or its packages are others.
    """
    if target.warning:
        _LOG.warning("%s", target.warning)
    security = target.tls.security() if target.tls is not None else None
    refuse_strangers(target, security)
    _refuse_others(target, security)
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


def refuse_strangers(target: Target, security: Any) -> None:
    """Raise unless a Dask process answers at an address, and the two trust each other.

    Dask itself waits for ever for what listens and speaks another language, such as a web server.

    Parameters
    ----------
    target
        Where to look.
    security : distributed.Security or None
        What to show and what to trust; None on plain connections.

    Raises
    ------
    ClusterError
        The host has no address, nothing listens there, or what listens is something else.
    """
    address = target.address
    with _connected(target) as plain:
        plain.settimeout(_GREETING_SECONDS)
        if security is None:
            heard, shaken = _greeting(plain), False
        else:
            heard, shaken = _shake(plain, security.get_connection_args("client")["ssl_context"])
    if heard == b"" or isinstance(heard, ConnectionError):  # one that ends, and listens no more?
        time.sleep(_ENDING_SECONDS)
        _connected(target).close()
    if security is None:
        _refuse_other_words(address, heard)
    else:
        _refuse_distrust(address, heard, shaken=shaken)


def _connected(target: Target) -> socket.socket:
    address = target.address
    try:
        return socket.create_connection((address.host, address.port), timeout=_ANSWER_SECONDS)
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ClusterError(
            f"no scheduler answers at {address} (from {target.said_by}): {reason}",
            hint=target.hint,
            address=str(address),
        ) from error


def _refuse_other_words(address: SchedulerAddress, heard: bytes | OSError) -> None:
    reason = _unlike_dask(heard)
    if reason is not None:
        raise ClusterError(
            f"what listens at {address} does not talk to plain connections: {reason}",
            hint="Is it a tls:// scheduler, or no scheduler at all, or one that stands still?",
            address=str(address),
        )


def _shake(plain: socket.socket, context: ssl.SSLContext) -> tuple[bytes | OSError, bool]:
    """What is heard over TLS, or why nothing is, and whether hands were shaken."""
    shaken = False
    try:
        with context.wrap_socket(plain) as channel:
            shaken = True
            return _words(channel), True  # who refuses our certificate says so only now
    except OSError as error:
        return error, shaken


def _refuse_distrust(address: SchedulerAddress, heard: bytes | OSError, *, shaken: bool) -> None:
    reason = _unlike_dask(heard)
    if reason is None:
        return
    foreign = isinstance(heard, bytes | TimeoutError)
    if isinstance(heard, ssl.SSLCertVerificationError) or (shaken and not foreign):
        raise ClusterError(
            f"{address} and this machine do not trust each other's certificates: {reason}",
            hint="Take the files that belong to this cluster: `mlfs cluster info` on the machine "
            "it was started on names them.",
            address=str(address),
        )
    raise ClusterError(
        f"what listens at {address} does not talk TLS with this machine: {reason}",
        hint="Is it a tcp:// scheduler, or no scheduler at all, or are these another's files?",
        address=str(address),
    )


def _greeting(plain: socket.socket) -> bytes | OSError:
    """The first bytes that are heard, or why none are.

    A Dask process speaks first. Others wait to be spoken to: empty lines have a web server answer,
    and a TLS server hang up; to Dask they are not yet the eight bytes that each message begins
    with.
    """
    try:
        plain.sendall(b"\r\n\r\n\r\n\n")
        return _words(plain)
    except OSError as error:
        return error


def _words(channel: socket.socket) -> bytes:
    heard = b""
    while len(heard) < _LENGTH.size and (more := channel.recv(_LENGTH.size - len(heard))):
        heard += more
    return heard


def _unlike_dask(heard: bytes | OSError) -> str | None:
    """Why that is no beginning of a Dask message, in words; None if it is one."""
    if isinstance(heard, TimeoutError):
        return f"no word for {_GREETING_SECONDS} s"
    if isinstance(heard, OSError):
        return str(heard)
    if len(heard) == _LENGTH.size and _LENGTH.unpack(heard)[0] <= _LONGEST_GREETING:
        return None
    return f"it says {heard!r}" if heard else "it hung up"


def _refuse_others(target: Target, security: Any) -> None:
    """Raise if what answers is a worker, or another Dask process that is no scheduler.

    A client that one of these does not take waits for it at the end of this process.
    """
    with ThreadPoolExecutor(1) as thread:  # an event loop may be running in this one
        try:
            said = thread.submit(asyncio.run, _identity(target, security)).result()
        except _REFUSALS as error:
            raise _not_taken(target, error) from error
    if "workers" not in said:
        raise ClusterError(
            f"what listens at {target.address} (from {target.said_by}) is no scheduler but a Dask "
            f"{str(said.get('type', 'process')).lower()}",
            hint="Give the address of its scheduler.",
            address=str(target.address),
        )


async def _identity(target: Target, security: Any) -> dict[str, Any]:
    """What a Dask process says of itself."""
    from distributed import Security, rpc

    arguments = (security or Security()).get_connection_args("client")
    async with rpc(
        str(target.address), timeout=_CONNECT_SECONDS, connection_args=arguments
    ) as remote:
        answer = await asyncio.wait_for(remote.identity(), _CONNECT_SECONDS)
    return answer if isinstance(answer, dict) else {}


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
    except _REFUSALS as error:
        raise _not_taken(target, error) from error


def _not_taken(target: Target, error: Exception) -> ClusterError:
    return ClusterError(
        f"the scheduler at {target.address} did not take this client: {error}",
        hint="Is it a scheduler, of the same version of Dask? Its log may say more.",
        address=str(target.address),
    )
