"""Profiles: files that say where a cluster is and how to reach it. They are data, nothing runs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from mlfs_dask.errors import NotFoundError
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.tables import WRONG, read_table
from mlfs_dask.resources import declaration

Kind: TypeAlias = Literal["local", "scheduler", "ssh", "slurm", "kubernetes"]

_LARGEST: Final = 2**20


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a profile."""


class Tls(_Table, frozen=True, kw_only=True):
    """TLS material; what is not named is taken from the flags or from Dask's configuration."""

    ca_file: Annotated[str | None, Meta(description="Certificate authority, PEM.")] = None
    cert: Annotated[str | None, Meta(description="One's own certificate, PEM.")] = None
    key: Annotated[str | None, Meta(description="Its private key, PEM.")] = None


class Start(_Table, frozen=True, kw_only=True):
    """What ``mlfs cluster start --profile`` starts on this machine."""

    workers: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Processes; by default one per core.")
    ] = None
    threads: Annotated[int, Meta(ge=1, description="Tasks of a worker at the same time.")] = 1
    memory: Annotated[str | None, Meta(description="Limit of a worker, for example '4 GiB'.")] = (
        None
    )
    host: Annotated[
        str, Meta(description="Where to listen; other machines reach anything but loopback.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Of the scheduler; 0: any.")] = 0
    tls: Annotated[
        bool | None, Meta(description="By default wherever other machines can connect.")
    ] = None


class Profile(_Table, frozen=True, kw_only=True):
    """One profile.

    Attributes
    ----------
    name, file
        How it was asked for, and where it was found.
    """

    schema: Annotated[Literal[1], Meta(description="Version of the format.")]
    kind: Annotated[Kind, Meta(description="What started the cluster.")]
    scheduler: Annotated[str | None, Meta(description="Address, such as tls://host:8786.")] = None
    scheduler_file: Annotated[
        str | None, Meta(description="File that the scheduler writes, relative to the profile.")
    ] = None
    tls: Tls = field(default_factory=Tls)
    folder: Annotated[
        str | None,
        Meta(description="For 'local': state folder of `mlfs cluster`, relative to the profile."),
    ] = None
    start: Annotated[Start | None, Meta(description="For 'local': sizes.")] = None
    name: str = ""
    file: str = ""


_FROM_FILE: Final = ("schema", "kind", "scheduler", "scheduler_file", "tls", "folder", "start")


def read_profile(name: str) -> Profile:
    """Read and check a profile.

    Parameters
    ----------
    name
        Path of a TOML file, or a name: ``NAME.toml`` in ``$MLFS_PROFILES``, else in the user's
        configuration folder, else among those that come with the package.

    Raises
    ------
    NotFoundError
        There is none.
    JobFileError
        Everything that is wrong with it.

    Examples
    --------
    >>> read_profile("slurm").kind
    'slurm'
    """
    path = find_profile(name)
    with path.open("rb") as file:
        return parse_profile(file.read(_LARGEST + 1), str(path), name)


def parse_profile(text: bytes, file: str, name: str = "") -> Profile:
    """Check the text of a profile.

    Parameters
    ----------
    text
        TOML in UTF-8.
    file
        Its path: for messages, and what relative paths in it are relative to.
    name
        How it was asked for.

    Raises
    ------
    JobFileError
        Everything that is wrong with it.
    """
    problems = Problems(file)
    clean: dict[str, Any] = {}
    try:
        if len(text) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST} bytes")
        raw = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        problems.add("", f"not TOML: {error}")
    else:
        readers = {"tls": _read_tls, "start": _read_start}
        for key in raw.keys() & {"name", "file"}:
            problems.unknown_key("", key, _FROM_FILE)
        clean = read_table(Profile, raw, "", problems, readers)
        _check_whole(clean, problems)
    problems.check()
    base = Path(file).absolute().parent
    for key in ("scheduler_file", "folder"):
        if key in clean:
            clean[key] = _beside(base, clean[key])
    clean["tls"] = {key: _beside(base, value) for key, value in clean.get("tls", {}).items()}
    return msgspec.convert({**clean, "name": name or file, "file": file}, Profile)


def find_profile(name: str) -> Path:
    """The file of a profile.

    Parameters
    ----------
    name
        As in `read_profile`.

    Raises
    ------
    NotFoundError
        There is none.
    """
    if name.endswith(".toml") or os.sep in name:
        if Path(name).is_file():
            return Path(name)
        raise NotFoundError(f"there is no profile {name}", hint=_known(), path=name)
    for folder in _folders():
        path = folder / f"{name}.toml"
        if path.is_file():
            return path
    raise NotFoundError(f"no profile is named {name!r}", hint=_known(), name=name)


def all_profiles() -> list[str]:
    """Names of all profiles."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def _folders() -> Iterator[Path]:
    """Where profiles lie, the user's own first."""
    own = os.environ.get("MLFS_PROFILES")
    if own:
        yield Path(own)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    yield Path(base) / "mlfs" / "profiles"
    yield declaration("deploy/profiles")


def _known() -> str:
    return f"There are: {', '.join(all_profiles())}; or give the path of a TOML file."


def _beside(base: Path, path: str) -> str:
    return str(base / Path(path).expanduser())


def _read_tls(raw: Any, path: str, problems: Problems) -> Any:
    return read_table(Tls, raw, path, problems)


def _read_start(raw: Any, path: str, problems: Problems) -> Any:
    return read_table(Start, raw, path, problems, {"memory": read_memory})


def read_memory(raw: Any, path: str, problems: Problems) -> Any:
    """A size such as ``'4 GiB'``.

    Parameters
    ----------
    raw, path, problems
        As for all readers of `mlfs_dask.jobs.tables`.
    """
    if not isinstance(raw, str) or not parse_bytes(raw):
        problems.wrong_value(path, raw, "a size with its unit, like '4 GiB' or '500 MB'")
        return WRONG
    return raw


def _check_whole(clean: dict[str, Any], problems: Problems) -> None:
    """What only several keys together can get wrong."""
    kind = clean.get("kind")
    if kind is WRONG or kind is None:
        return
    where = [key for key in ("scheduler", "scheduler_file") if key in clean]
    if kind == "local":
        for key in where:
            problems.add(
                key,
                "a 'local' cluster is found by its folder; leave this key out, or use 'scheduler'",
            )
        return
    for other in ("folder", "start"):
        if other in clean:
            problems.add(other, f"only 'local' has it, and this is {kind!r}; leave this key out")
    if len(where) != 1:
        problems.add(
            "scheduler" if where else "",
            "give exactly one of scheduler (an address) and scheduler_file (a path)",
        )
