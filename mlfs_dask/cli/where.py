"""Options that say on which cluster something shall run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from mlfs_dask.jobs.clusters.target import Target

_FILE: Final = click.Path(dir_okay=False)
_OPTIONS: Final = (
    click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tls://host:8786."),
    click.option(
        "--scheduler-file",
        type=_FILE,
        metavar="FILE",
        help="File that a Dask scheduler or `mlfs cluster start` wrote.",
    ),
    click.option("--profile", metavar="NAME", help="Profile of a cluster: a name or a TOML file."),
    click.option("--tls-ca-file", type=_FILE, help="Certificate authority of a tls:// scheduler."),
    click.option("--tls-cert", type=_FILE, help="Certificate to show to it."),
    click.option("--tls-key", type=_FILE, help="Key of that certificate."),
    click.option(
        "--insecure", is_flag=True, help="Allow plain connections to another machine. Dangerous."
    ),
)
_NAMES: Final = (
    "scheduler",
    "scheduler_file",
    "profile",
    "tls_ca_file",
    "tls_cert",
    "tls_key",
    "insecure",
)


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of this module; it gets them as one mapping, ``where``.

    Parameters
    ----------
    function
        Body of a command.
    """

    @functools.wraps(function)
    def collected(**given: Any) -> Any:
        where = {name: given.pop(name) for name in _NAMES}
        return function(where=where, **given)

    decorated: Callable[..., Any] = collected
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def flags_of(where: Mapping[str, Any]) -> tuple[str, ...]:
    """The options again, for a command that goes on.

    Parameters
    ----------
    where
        As `cluster_options` gives them.

    Examples
    --------
    >>> flags_of({"scheduler": "tls://host:8786", "profile": None, "insecure": False})
    ('--scheduler', 'tls://host:8786')
    """
    words: list[str] = []
    for name, value in where.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value:
            words += (flag, str(value))
    return tuple(words)


def target_of(where: Mapping[str, Any]) -> Target | None:
    """The cluster that is meant; None if none is.

    Parameters
    ----------
    where
        As `cluster_options` gives them.

    Raises
    ------
    MlfsError
        As `mlfs_dask.jobs.clusters.target.choose_target`.
    """
    from mlfs_dask.jobs.clusters.target import Wanted, choose_target

    return choose_target(Wanted(**where))


@contextmanager
def cluster_client(where: Mapping[str, Any], *, workers: int | None = None) -> Iterator[Any]:
    """Client of the cluster that is meant; None if none is, or processes of this machine are.

    Parameters
    ----------
    where
        As `cluster_options` gives them.
    workers
        Value of ``--workers``.

    Raises
    ------
    MlfsError
        Both are asked for, or the cluster cannot be used.
    """
    from mlfs_dask.errors import ClusterError

    if workers is not None:
        if flags_of(where):
            raise ClusterError(
                f"--workers starts processes on this machine, and {flags_of(where)[0]} is about "
                "a cluster",
                hint="Give one of them.",
            )
        yield None
        return
    target = target_of(where)
    if target is None:
        yield None
        return
    from mlfs_dask.jobs.clusters.connect import connected

    with connected(target) as client:
        yield client
