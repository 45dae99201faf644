"""TLS material of a cluster: three files, the same for everybody who takes part in it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import asdict

from mlfs_dask.errors import ClusterError


class TlsFiles(Struct, frozen=True, kw_only=True):
    """Where certificate authority, certificate and key lie, in PEM.

    Attributes
    ----------
    ca_file
        Whose certificates are trusted: a certificate authority of this cluster only.
    cert, key
        One's own certificate and its private key.
    """

    ca_file: str
    cert: str
    key: str

    @classmethod
    def from_parts(cls, **given: str | None) -> Self | None:
        """Files given by flags or a profile, the rest from Dask's configuration.

        Parameters
        ----------
        **given
            ``ca_file``, ``cert``, ``key``; None where not given.

        Returns
        -------
        TlsFiles or None
            None if none is named anywhere.

        Raises
        ------
        ClusterError
            Some are named, others not, or a file cannot be read.
        """
        import dask

        keys = {"ca_file": "ca-file", "cert": "client.cert", "key": "client.key"}
        parts = {
            name: given.get(name) or dask.config.get(f"distributed.comm.tls.{key}", None)
            for name, key in keys.items()
        }
        if not any(parts.values()):
            return None
        missing = [f"--tls-{name.replace('_', '-')}" for name, value in parts.items() if not value]
        if missing:
            raise ClusterError(
                f"TLS needs three files, and {' and '.join(missing)} is not given",
                hint="Name it by the flag, in the profile's [tls], or in Dask's configuration "
                "(distributed.comm.tls).",
            )
        return cls(**{name: str(Path(str(value)).expanduser()) for name, value in parts.items()})

    def security(self) -> Any:
        """Dask's ``Security`` of a client that accepts nothing but this.

        Raises
        ------
        ClusterError
            A file is missing, is not PEM, or the key is not the certificate's.
        """
        from distributed import Security

        for name, file in asdict(self).items():
            if not Path(file).is_file():
                raise ClusterError(
                    f"the TLS file {file} ({name.replace('_', '-')}) is not there",
                    hint="Copy the files of the machine that the cluster was started on.",
                    path=file,
                )
        security = Security(
            tls_ca_file=self.ca_file,
            tls_client_cert=self.cert,
            tls_client_key=self.key,
            require_encryption=True,
        )
        try:
            security.get_connection_args("client")
        except (ssl.SSLError, OSError) as error:
            raise ClusterError(
                f"the TLS files {self.ca_file}, {self.cert} and {self.key} do not go together: "
                f"{error.strerror or error}",
                hint="They must be PEM, and the key that of the certificate.",
            ) from error
        return security

    def flags(self) -> tuple[str, ...]:
        """The flags of ``mlfs`` and ``dask`` commands that name these files."""
        return (
            "--tls-ca-file",
            self.ca_file,
            "--tls-cert",
            self.cert,
            "--tls-key",
            self.key,
        )
