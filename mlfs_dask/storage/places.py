"""Places of stores and runs: paths of this machine, and addresses ``s3://bucket/prefix``.

`place` makes either of what a user typed. An address understands what the package asks of a path,
with one difference that writers must know: on object storage nothing can be renamed or appended
to. An object appears whole when it is put; where two may write, `create` lets one of them succeed;
and what consists of several objects has one that is put last, without which it does not exist.
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple, TypeAlias, TypeVar

from mlfs_dask.errors import InputError
from mlfs_dask.storage.bucket import SCHEME, Bucket, bucket

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_AT_ONCE: Final = 16  # requests
_EXPECTED: Final = "An address looks like s3://bucket/folder/name."

T = TypeVar("T")
R = TypeVar("R")


class ObjectFacts(NamedTuple):
    """Size and time of an object, named as those of a file are."""

    st_size: int
    st_mtime: float


class ObjectPlace:
    """An address on object storage: of an object, or of a prefix that stands for a folder.

    Parameters
    ----------
    bucket
        Name of the bucket.
    key
        Name within it, without slashes at its ends.

    Examples
    --------
    >>> store = ObjectPlace("data", "stores/emotions.zarr")
    >>> str(store / "zarr.json"), store.name, str(store.parent)
    ('s3://data/stores/emotions.zarr/zarr.json', 'emotions.zarr', 's3://data/stores')
    """

    __slots__ = ("bucket", "key")

    def __init__(self, bucket: str, key: str = "") -> None:
        self.bucket = bucket
        self.key = key

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    def __repr__(self) -> str:
        return f"ObjectPlace({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPlace) and str(self) == str(other)

    def __lt__(self, other: ObjectPlace) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> ObjectPlace:
        return ObjectPlace(self.bucket, f"{self.key}/{name}".strip("/"))

    @property
    def name(self) -> str:
        """Last part of the key; empty for the bucket itself."""
        return self.key.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """Ending of the name, with its dot."""
        return Path(self.name).suffix

    @property
    def stem(self) -> str:
        """Name without its ending."""
        return Path(self.name).stem

    @property
    def parent(self) -> ObjectPlace:
        """What the object lies in; the bucket lies in itself."""
        return ObjectPlace(self.bucket, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> ObjectPlace:
        """The place of another name beside this one."""
        return self.parent / name

    def absolute(self) -> ObjectPlace:
        """The place itself: addresses are absolute."""
        return self

    def resolve(self) -> ObjectPlace:
        """The place itself: there are no links."""
        return self

    def exists(self) -> bool:
        """Whether there is an object here, or any below."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is an object of exactly this name."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether there is any object below."""
        return self._bucket.any_below(self.key)

    def is_symlink(self) -> bool:
        """False: there are no links."""
        return False

    def stat(self) -> ObjectFacts:
        """Size and time; FileNotFoundError if there is no such object."""
        if not self.key:
            raise FileNotFoundError(errno.ENOENT, "no object", str(self))
        facts = self._bucket.facts(self.key)
        return ObjectFacts(facts.size, facts.modified.timestamp())

    def read_bytes(self) -> bytes:
        """Content; FileNotFoundError if there is no such object."""
        return self._bucket.get(self.key)

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Content as text."""
        return self.read_bytes().decode(encoding, errors)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Content as a file opened for reading bytes; it is fetched at once."""
        if mode != "rb":
            raise ValueError(f"an object is opened to be read, not {mode!r}")
        return io.BytesIO(self.read_bytes())

    def write_bytes(self, content: bytes) -> int:
        """Put the object, whole; replaces what is there."""
        self._bucket.put(self.key, content)
        return len(content)

    def upload(self, file: Path) -> None:
        """Put the content of a local file, in parts if it is large; replaces what is there."""
        self._bucket.put(self.key, file)

    def create(self, content: bytes) -> None:
        """Put an object that is not there yet; FileExistsError if it is.

        The content must be this writer's own, so that an answer that got lost does no harm.
        """
        self._bucket.create(self.key, content)

    def touch(self) -> None:
        """Put an empty object."""
        self.write_bytes(b"")

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object; one that is not there is no error here, whatever `missing_ok` says."""
        self._bucket.delete(self.key)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a prefix is there as soon as an object is."""

    def iterdir(self) -> Iterator[ObjectPlace]:
        """Objects and prefixes directly below, by name."""
        yield from (ObjectPlace(self.bucket, key) for key in self._bucket.children(self.key))

    def files(self) -> dict[str, ObjectFacts]:
        """Names of the objects directly below, with size and time of each: one request."""
        return {
            ObjectPlace(self.bucket, entry.key).name: ObjectFacts(
                entry.size, entry.modified.timestamp()
            )
            for entry in self._bucket.directly_below(self.key)
        }

    def glob(self, pattern: str) -> Iterator[ObjectPlace]:
        """Those of `iterdir` whose name matches a pattern without slashes."""
        return (each for each in self.iterdir() if fnmatch.fnmatchcase(each.name, pattern))

    def rglob(self, pattern: str) -> Iterator[ObjectPlace]:
        """All objects below, by key, whose name matches a pattern without slashes."""
        below = (ObjectPlace(self.bucket, entry.key) for entry in self._bucket.below(self.key))
        return (each for each in below if fnmatch.fnmatchcase(each.name, pattern))

    def bytes_below(self) -> int:
        """Size of all objects below."""
        return sum(entry.size for entry in self._bucket.below(self.key))

    @property
    def _bucket(self) -> Bucket:
        return bucket(self.bucket)


Place: TypeAlias = Path | ObjectPlace
"""A path of this machine, or an address on object storage."""


def place(given: str | Place) -> Place:
    """The place that a user means.

    Parameters
    ----------
    given
        A path, or an address that begins with ``s3://``.

    Raises
    ------
    InputError
        An address of another kind, with a user name or password in it, or one that names no
        bucket.

    Examples
    --------
    >>> place("s3://data/runs/")
    ObjectPlace('s3://data/runs')
    >>> place("runs").name
    'runs'
    """
    match = _URL.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        return Path(given) if isinstance(given, str) else given
    name, _, key = match["rest"].partition("/")
    is_bucket = match["scheme"].lower() == "s3" and _BUCKET.fullmatch(name)
    # A secret may hold slashes, so what is no bucket is never repeated.
    if "?" in match["rest"] or (not is_bucket and "@" in match["rest"]):
        raise InputError(
            f"the address {match['scheme']}://... holds a user name, a password or a query",
            hint=f"{_EXPECTED} Keys are given by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )
    if match["scheme"].lower() != "s3":
        raise InputError(
            f"addresses of the kind {match['scheme']}:// are not known",
            hint=f"{_EXPECTED} Other servers that speak S3 are named by AWS_ENDPOINT_URL.",
        )
    parts = key.rstrip("/").split("/")
    if not is_bucket or (parts != [""] and not all(map(_is_name, parts))):
        raise InputError(f"{given!r} is no address of an object", hint=_EXPECTED)
    return ObjectPlace(name, "/".join(parts))


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, not as a path.

    Parameters
    ----------
    text
        As typed.
    """
    return _URL.fullmatch(text) is not None


def names_in(folder: Place) -> list[str]:
    """Names of what lies in a folder.

    Parameters
    ----------
    folder
        A folder, or a prefix.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        No such folder; a prefix without objects has no names.
    """
    if isinstance(folder, ObjectPlace):
        return [each.name for each in folder.iterdir()]
    return os.listdir(folder)


def each_at_once(function: Callable[[T], R], items: Iterable[T], folder: Place) -> Iterator[R]:
    """What a function gives for items, in their order; asked for together where answers are slow.

    Parameters
    ----------
    function
        Looks at something in the folder.
    items
        What it takes.
    folder
        A folder; or a prefix, of which many things are asked at the same time.

    Examples
    --------
    >>> list(each_at_once(len, ["a", "bc"], Path("runs")))
    [1, 2]
    """
    if not isinstance(folder, ObjectPlace):
        yield from map(function, items)
        return
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="mlfs-ask") as threads:
        yield from threads.map(function, items)


def files_below(folder: Place, name: str = "*") -> list[Place]:
    """Files at any depth, sorted.

    Parameters
    ----------
    folder
        A folder, or a prefix.
    name
        Pattern of their names.
    """
    if isinstance(folder, ObjectPlace):
        return sorted(folder.rglob(name))
    return sorted(path for path in folder.rglob(name) if path.is_file())


def relative_path(path: Place, folder: Place) -> PurePosixPath:
    """Path from a folder to what lies below it.

    Parameters
    ----------
    path
        Below the folder.
    folder
        Of the same kind.
    """
    if isinstance(path, ObjectPlace) and isinstance(folder, ObjectPlace):
        return PurePosixPath(path.key).relative_to(folder.key)
    return PurePosixPath(str(path)).relative_to(str(folder))


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and part.isprintable()
