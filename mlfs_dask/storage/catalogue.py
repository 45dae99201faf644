"""Names of data sets: stores made already, and files that a store can be made of.

A catalogue file ``NAME.toml`` says which files make up a data set (relative paths, sha256), what
size it must have, where it comes from and under which licence; it holds no data. The files are
looked for below the folder ``$MLFS_DATA`` alone.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import os
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from mlfs_dask.errors import DataFileError, InputError, MlfsError, NotFoundError
from mlfs_dask.resources import declaration
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.layout import METADATA, SUFFIX
from mlfs_dask.storage.places import Place, is_address, place
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.storage.store import Dataset, open_store
from mlfs_dask.wording import counted

_LOG = logging.getLogger(__name__)
_LONGEST_NAME = 255  # bytes, of any file system in use


class CatalogueFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a data set.

    Attributes
    ----------
    path
        Relative to ``$MLFS_DATA``.
    sha256
        Digest of the file as it lies on the disk.
    role
        ``"data"``, ``"test"`` (rows that go to the test part) or ``"labels"`` (Mulan's XML).
    """

    path: str
    sha256: str
    role: Literal["data", "test", "labels"] = "data"


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one catalogue file says.

    Attributes
    ----------
    name, title
        Name that users type, and what the data are.
    n_samples, n_features, n_labels
        Size of the store.
    source, licence
        Where the files come from; what their origin says about the licence.
    files
        The files; exactly one has the role ``data``.
    aliases
        Other names.
    notes
        What to know before judging results on these data.
    positive, keep_identifiers
        As in `ReadOptions`.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_labels: int
    source: str
    licence: str
    files: tuple[CatalogueFile, ...]
    aliases: tuple[str, ...] = ()
    notes: str = ""
    positive: str | None = None
    keep_identifiers: bool = False

    def file(self, role: str) -> CatalogueFile | None:
        """File of a role, if there is one.

        Parameters
        ----------
        role
            ``"data"``, ``"test"`` or ``"labels"``.
        """
        return next((file for file in self.files if file.role == role), None)


def stores_folder() -> Place:
    """Where stores lie: ``$MLFS_STORES`` (a folder or an address), else ``./storage/stores``."""
    return place(os.environ.get("MLFS_STORES") or "storage/stores")


def store_path(name: str) -> Place:
    """Where the store of a name lies, whether it exists or not.

    Parameters
    ----------
    name
        Name of a data set.

    Raises
    ------
    InputError
        A name that would leave the folder of stores.
    """
    if not name or name in (".", "..") or any(char in name for char in "/\\\0"):
        raise InputError(
            f"{name!r} is no name for a store", hint="Use a name without slashes, or give a path."
        )
    return stores_folder() / (name if name.endswith(SUFFIX) else name + SUFFIX)


class StoreSummary(msgspec.Struct, frozen=True):
    """A store in the folder of stores; sizes are 0 where it cannot be opened.

    Attributes
    ----------
    name
        What resolves to it.
    path
        Where it lies.
    n_samples, n_features, n_labels
        Size.
    problem
        Why it cannot be opened, or None.
    """

    name: str
    path: str
    n_samples: int = 0
    n_features: int = 0
    n_labels: int = 0
    problem: str | None = None


def list_folder() -> list[StoreSummary]:
    """Stores in the folder of stores, by name."""
    found: list[Place] = sorted(stores_folder().glob(f"[!.]*{SUFFIX}"))  # of one kind
    return [_summary(path) for path in found]


def _summary(path: Place) -> StoreSummary:
    try:
        dataset = open_store(path)
    except MlfsError as error:
        return StoreSummary(path.stem, str(path), problem=error.message)
    sizes = (dataset.n_samples, dataset.n_features, dataset.n_labels)
    return StoreSummary(path.stem, str(path), *sizes)


def catalogue() -> dict[str, CatalogueEntry]:
    """All entries by name, sorted."""
    return _read_catalogue(declaration("storage/catalogue"))


@lru_cache(maxsize=4)
def _read_catalogue(folder: Path) -> dict[str, CatalogueEntry]:
    entries = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            entry = msgspec.toml.decode(path.read_bytes(), type=CatalogueEntry)
        except msgspec.DecodeError as error:
            raise DataFileError.at(path, problem=str(error)) from error
        entries[entry.name] = entry
    return entries


def find_entry(name: str) -> CatalogueEntry | None:
    """Catalogue entry of a name or alias.

    Parameters
    ----------
    name
        What the user typed.
    """
    entries = catalogue()
    aliases = {alias: entry for entry in entries.values() for alias in entry.aliases}
    return entries.get(name) or aliases.get(name)


def resolve_store(name_or_path: str, *, ingest_missing: bool = True) -> Place:
    """Place of a store from what a user typed.

    Parameters
    ----------
    name_or_path
        Path or address of a store; or name of one in ``$MLFS_STORES``; or name in the catalogue.
    ingest_missing
        Make the store of a catalogue name first, from ``$MLFS_DATA``, if there is none.

    Raises
    ------
    NotFoundError
        None of these, or the files are not at hand; the hint has the command to run.
    DataFileError
        A file of the catalogue entry has other content than recorded.
    """
    if is_address(name_or_path):
        return place(name_or_path)
    path = Path(name_or_path)
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        raise NotFoundError(
            f"there is no store {name_or_path[:60]!r}...: a part of it is longer than "
            f"{_LONGEST_NAME} bytes",
            hint="Give the path or the name of a store.",
        )
    if (path / METADATA).is_file() or (path.is_dir() and path.suffix == SUFFIX):
        return path
    entry = find_entry(name_or_path)
    if entry is not None or not _looks_like_path(name_or_path):
        store = store_path(entry.name if entry else name_or_path)
        if store.is_dir():
            return store
        if entry is not None and ingest_missing:
            return place(ingest_entry(entry).path)
        if entry is not None:
            raise NotFoundError(
                f"the data set {entry.name!r} has no store yet (looked for {store})",
                hint=f"Make it with: mlfs data ingest {entry.name}",
                name=entry.name,
            )
    raise _not_found(name_or_path)


def ingest_entry(
    entry: CatalogueEntry,
    dest: Place | None = None,
    *,
    tile: int | None = None,
    dtype: str | None = None,
    overwrite: bool = False,
) -> Dataset:
    """Make the store of a catalogue entry from the files below ``$MLFS_DATA``.

    Parameters
    ----------
    entry
        What to ingest.
    dest
        Store; ``NAME.zarr`` in the folder of stores by default.
    tile, dtype, overwrite
        As `mlfs_dask.storage.ingest.ingest`.

    Raises
    ------
    NotFoundError
        ``$MLFS_DATA`` is not set or lacks a file.
    DataFileError
        A file has another sha256, or the table another size, than the entry says.
    """
    from mlfs_dask.storage.readers import open_table  # opening a store needs no reader

    dest = dest or store_path(entry.name)
    paths = _checked_files(entry)
    _LOG.info("ingesting %s from %s to %s", entry.name, paths["data"], dest)
    options = ReadOptions(
        name=entry.name,
        xml=paths.get("labels"),
        positive=entry.positive,
        keep_identifiers=entry.keep_identifiers,
    )
    reader = open_table(paths["data"], test=paths.get("test"), options=options)
    header = reader.header
    if (header.n_features, header.n_labels) != (entry.n_features, entry.n_labels):
        raise DataFileError.at(
            paths["data"],
            problem=f"{counted(header.n_features, 'feature')} and "
            f"{counted(header.n_labels, 'label')} were found",
            expected=f"{entry.n_features} and {entry.n_labels}, as in the catalogue",
        )
    layout = {"tile": tile} if tile is not None else {}
    return ingest(reader, dest, dtype=dtype, overwrite=overwrite, name=entry.name, **layout)


def _checked_files(entry: CatalogueEntry) -> dict[str, Path]:
    root = os.environ.get("MLFS_DATA")
    data = next(file for file in entry.files if file.role == "data")
    if not root:
        raise NotFoundError(
            f"the data set {entry.name!r} has no store yet, and MLFS_DATA is not set",
            hint=f"Set MLFS_DATA to the folder that holds {data.path}, or make the store with: "
            f"mlfs data ingest FILE --name {entry.name}",
            name=entry.name,
        )
    paths: dict[str, Path] = {}
    for file in entry.files:
        path = Path(root, file.path)
        if not path.is_file():
            raise NotFoundError(
                f"the data set {entry.name!r} needs {file.path}, which is not in MLFS_DATA={root}",
                hint=f"Put it there, or make the store with: mlfs data ingest FILE --name "
                f"{entry.name}",
                name=entry.name,
                file=file.path,
            )
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
        if found != file.sha256:
            raise DataFileError.at(
                path,
                problem=f"sha256 is {found}",
                expected=f"{file.sha256}, as in the catalogue entry {entry.name!r}",
                hint="Get the original file; to use another one: mlfs data ingest FILE --name NAME",
            )
        paths[file.role] = path
    return paths


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text in ("", ".", "..")


def _not_found(given: str) -> NotFoundError:
    known = sorted({*catalogue(), *(path.stem for path in stores_folder().glob("*" + SUFFIX))})
    close = difflib.get_close_matches(given, known, n=3)
    return NotFoundError(
        f"there is no store and no data set named {given!r}",
        hint=(f"Did you mean {', '.join(close)}? " if close else "")
        + "`mlfs data list` shows what there is; `mlfs data ingest FILE` makes a store of a file.",
        name=given,
        close=close,
    )
