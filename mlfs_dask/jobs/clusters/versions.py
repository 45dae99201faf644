"""Versions on client, scheduler and workers: which differences matter."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from mlfs_dask.errors import ClusterError
from mlfs_dask.registry import plugin_packages

_MUST: Final = (
    "python",  # up to the minor version: tasks travel as pickles
    "mlfs-dask",
    "dask",
    "distributed",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
)
"""Others than the client's are refused: protocol, or the bits of results."""

_SHOULD: Final = ("zarr", "numcodecs", "msgspec", "msgpack", "cloudpickle", "tornado", "llvmlite")
_NAMED: Final = 5


class Difference(Struct, frozen=True):
    """A package that is another than the client's.

    Attributes
    ----------
    package
        Its name.
    here, there
        Versions; None where it is not installed.
    nodes
        Where.
    matters
        Whether jobs must not run.
    """

    package: str
    here: str | None
    there: str | None
    nodes: tuple[str, ...]
    matters: bool

    def __str__(self) -> str:
        more = f" and {len(self.nodes) - _NAMED} more" if len(self.nodes) > _NAMED else ""
        return (
            f"{self.package} {self.there or 'is missing'} on {', '.join(self.nodes[:_NAMED])}{more}"
            f", {self.here} here"
        )


def installed_versions() -> dict[str, str | None]:
    """Versions of this process, by package, plug-ins included; None where one is not installed."""
    packages = dict.fromkeys((*_PACKAGES, *plugin_packages()))
    return {"python": platform.python_version(), **{name: _version(name) for name in packages}}


_PACKAGES: Final = (*_MUST[1:], *_SHOULD)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def gather_versions(client: Any) -> dict[str, dict[str, str | None] | str]:
    """Versions of all processes of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected.

    Returns
    -------
    dict
        Node -> versions, or what went wrong there, in words. Nodes are ``"scheduler"`` and the
        addresses of workers.
    """
    found: dict[str, dict[str, str | None] | str] = {}
    try:
        found["scheduler"] = client.run_on_scheduler(installed_versions)
    except Exception as error:  # whatever a foreign process answers is told, not raised
        found["scheduler"] = str(error) or type(error).__name__
    for worker, answer in client.run(installed_versions, on_error="return").items():
        found[worker] = answer if isinstance(answer, dict) else str(answer)
    return found


def differences(
    found: Mapping[str, dict[str, str | None] | str], here: Mapping[str, str | None]
) -> list[Difference]:
    """What differs from the client, what matters first.

    Parameters
    ----------
    found
        From `gather_versions`.
    here
        Versions of the client.

    Examples
    --------
    >>> (difference,) = differences({"scheduler": {"numpy": "2.0"}}, {"numpy": "2.1"})
    >>> str(difference), difference.matters
    ('numpy 2.0 on scheduler, 2.1 here', True)
    """
    nodes: dict[tuple[str, str | None], list[str]] = {}
    for node, versions in found.items():
        for package, version in _compared(versions, here):
            nodes.setdefault((package, version), []).append(node)
    made = [
        Difference(package, here[package], version, tuple(where), package in _MUST)
        for (package, version), where in nodes.items()
    ]
    return sorted(made, key=lambda difference: (not difference.matters, difference.package))


def _compared(
    versions: dict[str, str | None] | str, here: Mapping[str, str | None]
) -> Iterator[tuple[str, str | None]]:
    if isinstance(versions, str):  # most likely the package is not there at all
        yield "mlfs-dask", None
        return
    for package, own in here.items():
        other = versions.get(package)
        if package == "python" and _minor(other) == _minor(own):
            continue
        if other != own:
            yield package, other


def _minor(version: str | None) -> str:
    return ".".join((version or "").split(".")[:2])


def refuse_other_versions(client: Any) -> None:
    """Raise if jobs must not run on a cluster, since its packages are others than the client's.

    Parameters
    ----------
    client : distributed.Client
        Connected.

    Raises
    ------
    ClusterError
        Names the packages and where they are.
    """
    found = gather_versions(client)
    wrong = [each for each in differences(found, installed_versions()) if each.matters]
    if wrong:
        lines = "".join(f"\n  {difference}" for difference in wrong)
        raise ClusterError(
            f"the cluster runs other packages than this machine, so results would not be the same "
            f"or nothing would run:{lines}",
            hint="Install the same versions everywhere (requirements/runtime.lock has them); "
            "`mlfs doctor` shows all that differs.",
            packages=[difference.package for difference in wrong],
        )
