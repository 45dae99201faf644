"""Certificates of one cluster, made on the spot by the ``openssl`` command.

A certificate authority signs one certificate and is forgotten: its private key is never kept, so
nobody can make another certificate that the cluster trusts. Whoever holds the key of the one there
is may do everything on the cluster, so it is readable by its owner alone.
"""

from __future__ import annotations

import ipaddress
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mlfs_dask.errors import ClusterError, MachineError
from mlfs_dask.jobs.clusters.address import is_host
from mlfs_dask.jobs.clusters.tls import TlsFiles
from mlfs_dask.storage.atomic import machine_faults

DAYS: Final = 365
"""How long certificates are valid."""

_CURVE: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_SECONDS: Final = 60


def make_certificates(folder: Path, hosts: Iterable[str] = ()) -> TlsFiles:
    """Make a certificate authority, a certificate and a key in a folder.

    Parameters
    ----------
    folder
        Made if it is not there, for the owner alone; files in it of the same names are replaced.
    hosts
        Names and IP addresses to put into the certificate. Dask does not look at them: it trusts
        the authority, whatever the name.

    Returns
    -------
    TlsFiles
        ``ca.pem``, ``cert.pem`` and ``key.pem``, readable by the owner alone.

    Raises
    ------
    ClusterError
        There is no ``openssl``.
    MachineError
        It failed, or the folder cannot be written.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ClusterError(
            "certificates are made by the command openssl, which is not there",
            hint="Install openssl, or give certificates of your own: --tls-ca-file, --tls-cert, "
            "--tls-key.",
        )
    with machine_faults("make certificates in", folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as made:
            _make(openssl, Path(made), hosts)
            for name in ("ca.pem", "cert.pem", "key.pem"):
                (Path(made) / name).chmod(0o600)
                (Path(made) / name).replace(folder / name)
    return files_in(folder)


def files_in(folder: Path) -> TlsFiles:
    """The files that `make_certificates` leaves in a folder.

    Parameters
    ----------
    folder
        The folder.
    """
    return TlsFiles(
        ca_file=str(folder / "ca.pem"),
        cert=str(folder / "cert.pem"),
        key=str(folder / "key.pem"),
    )


def expiry(certificate: str) -> float | None:
    """When a certificate expires, in seconds since 1970; None where `openssl` cannot say.

    Parameters
    ----------
    certificate
        PEM file.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    done = subprocess.run(
        [openssl, "x509", "-noout", "-enddate", "-in", certificate],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    _, found, date = done.stdout.strip().partition("notAfter=")
    return ssl.cert_time_to_seconds(date) if found else None


def _make(openssl: str, folder: Path, hosts: Iterable[str]) -> None:
    def run(*words: str) -> None:
        done = subprocess.run(
            [openssl, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            umask=0o077,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise MachineError(f"openssl {words[0]} failed: {done.stderr.strip()}")

    (folder / "authority.cnf").write_text(_AUTHORITY, encoding="ascii")
    (folder / "member.cnf").write_text(_member(hosts), encoding="ascii")
    lasts = ("-days", str(DAYS))
    run(
        *("req", "-x509", *_CURVE, "-config", "authority.cnf", *lasts),
        *("-keyout", "ca-key.pem", "-out", "ca.pem"),
    )
    run(
        *("req", "-new", *_CURVE, "-config", "authority.cnf", "-subj", "/CN=mlfs cluster"),
        *("-keyout", "key.pem", "-out", "request.pem"),
    )
    run(
        *("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca-key.pem", *lasts),
        *("-CAcreateserial", "-extfile", "member.cnf", "-out", "cert.pem"),
    )


_AUTHORITY: Final = """\
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = mlfs cluster authority
[extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
"""


def _member(hosts: Iterable[str]) -> str:
    names = dict.fromkeys(("localhost", "127.0.0.1", *hosts))
    return (
        "basicConstraints = critical, CA:FALSE\n"
        "keyUsage = critical, digitalSignature\n"
        "extendedKeyUsage = serverAuth, clientAuth\n"
        f"subjectAltName = {', '.join(map(_alternative, names))}\n"
    )


def _alternative(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        if not is_host(host):
            raise ClusterError(
                f"{host[:80]!r} is no host", hint="Give names and IP addresses."
            ) from None
        return f"DNS:{host}"
