"""Addresses of schedulers: what may be connected to, and under which conditions."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final, Self

from mlfs_dask.errors import ClusterError

_PROTOCOLS: Final = ("tcp", "tls")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_EXPECTED: Final = "expected an address such as tls://10.0.0.5:8786 or tcp://127.0.0.1:8786"


@dataclass(frozen=True)
class SchedulerAddress:
    """Protocol, host and port of a scheduler.

    Attributes
    ----------
    protocol
        ``"tcp"`` or ``"tls"``.
    host
        Name or IP address, without brackets.
    port
        1 to 65535.
    """

    protocol: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, default_protocol: str = "tcp") -> Self:
        """Read an address; nothing but protocol, host and port may stand in it.

        Parameters
        ----------
        text
            As typed, or as a scheduler file has it.
        default_protocol
            Where the text names none.

        Raises
        ------
        ClusterError
            Not an address. One that holds a password is not repeated in the message.

        Examples
        --------
        >>> SchedulerAddress.parse("tls://[::1]:8786")
        SchedulerAddress(protocol='tls', host='::1', port=8786)
        >>> str(SchedulerAddress.parse("localhost:8786"))
        'tcp://localhost:8786'
        """
        protocol, separator, rest = text.strip().rpartition("://")
        if "@" in text:
            raise ClusterError(
                "the scheduler's address holds a user name or password, which Dask has no use for",
                hint="Schedulers are protected by TLS certificates: give --tls-ca-file, --tls-cert "
                "and --tls-key.",
            )
        protocol = protocol.lower() if separator else default_protocol
        if protocol not in _PROTOCOLS:
            raise _no_address(text, f"the protocol {protocol[:20]!r} is none of tcp and tls")
        host, colon, port = rest.rstrip("/").rpartition(":")
        if not colon or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
            raise _no_address(text, "there is no port from 1 to 65535 at its end")
        host = host.removeprefix("[").removesuffix("]")
        if not is_host(host):
            raise _no_address(text, "its host is no name and no IP address")
        return cls(protocol, host, int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can be at the other end."""
        return is_loopback(self.host)


def is_host(text: str) -> bool:
    """Whether a text can be a host: a name or an IP address, and nothing besides.

    Parameters
    ----------
    text
        As typed.

    Examples
    --------
    >>> is_host("node-7.example"), is_host("-oProxyCommand=sh"), is_host("a,DNS:b")
    (True, False, False)
    """
    return _is_ip(text) or _HOST.fullmatch(text) is not None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, reached without any network.

    Parameters
    ----------
    host
        Name or IP address; a name counts if all its addresses do.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.5")
    (True, True, False)
    """
    if _is_ip(host):
        return ipaddress.ip_address(host).is_loopback
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(each).is_loopback for each in found)


def refuse_open_network(address: SchedulerAddress, *, insecure: bool) -> str | None:
    """Refuse an address that others could listen in on or take the place of.

    Parameters
    ----------
    address
        Of a scheduler.
    insecure
        The user wants it all the same.

    Returns
    -------
    str or None
        A warning, if it was allowed only because the user wants it.

    Raises
    ------
    ClusterError
        Plain TCP to another machine.
    """
    if address.protocol == "tls" or address.is_loopback:
        return None
    if insecure:
        return (
            f"{address} is not encrypted and asks nobody who he is: whoever reaches it can run "
            "programs in your name there"
        )
    raise ClusterError(
        f"{address} is plain TCP to another machine: not encrypted, and whoever reaches it can run "
        "programs in your name there",
        hint="Use a tls:// scheduler (`mlfs cluster start --host HOST` makes one), or an SSH "
        "tunnel to 127.0.0.1; --insecure connects all the same.",
        address=str(address),
    )


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _no_address(text: str, problem: str) -> ClusterError:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return ClusterError(f"{shown!r} is no address of a scheduler: {problem}", hint=_EXPECTED)
