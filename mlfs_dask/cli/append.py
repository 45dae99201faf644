"""``mlfs data append``: new features for the rows of a store, one block after the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.wording import counted_by_thousands

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place
    from mlfs_dask.storage.store import Dataset


@click.command()
@click.argument("store")
@click.argument("source", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--test", "test_file", type=click.Path(path_type=Path), help="File of test rows.")
@click.option("--prefix", default="", help="Put before the names of the new features.")
@click.option("--close", is_flag=True, help="No further block will come; FILE may be left out.")
@click.option("--index-base", type=click.IntRange(0, 1), help="libsvm: index of the first feature.")
@click.option("--keep-identifiers", is_flag=True, help="Keep attributes that identify rows.")
@click.option("--format", "file_format", help="Format of the file, as for `mlfs data ingest`.")
@json_option
def append(
    store: str,
    source: Path | None,
    test_file: Path | None,
    prefix: str,
    close: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Add a block of features to a store: the columns of a file with the same rows.

    FILE has the rows of the store in the same order, and columns of new names. Columns with the
    names of labels are not features: all labels may be there and must be those of the store, or
    none. The block is there whole or not at all; runs with follow = true that wait for it go on.

    \b
    Example:
      mlfs data append sensors week-2.csv
      mlfs data append sensors --close
    """
    from mlfs_dask.storage import append as appending
    from mlfs_dask.storage.catalogue import resolve_store

    if source is None and not close:
        raise click.UsageError("give a FILE to append, or --close")
    path = resolve_store(store, ingest_missing=False)
    if source is not None:
        dataset = _append_file(path, source, test_file, prefix, options)
    if close:
        dataset = appending.close(path)
    _print_appended(dataset, appended=source is not None, as_json=as_json)


def _append_file(
    path: Place, source: Path, test_file: Path | None, prefix: str, options: dict[str, Any]
) -> Dataset:
    from mlfs_dask.storage.append import append as append_block
    from mlfs_dask.storage.readers import open_table
    from mlfs_dask.storage.records import ReadOptions
    from mlfs_dask.storage.store import open_store

    read = ReadOptions(
        known_labels=open_store(path).label_names,
        index_base=options["index_base"],
        keep_identifiers=options["keep_identifiers"],
        format=options["file_format"],
    )
    return append_block(path, open_table(source, test=test_file, options=read), prefix=prefix)


def _print_appended(dataset: Dataset, *, appended: bool, as_json: bool) -> None:
    sizes = dataset.block_sizes
    if as_json:
        facts = {name: getattr(dataset, name) for name in ("path", "name", "n_samples")}
        more = {"n_features": dataset.n_features, "blocks": list(sizes), "digest": dataset.digest}
        print_json({**facts, **more, "closed": dataset.is_closed})
        return
    if appended:
        click.echo(
            f"{dataset.path}: block {len(sizes)} has {counted_by_thousands(sizes[-1], 'feature')}, "
            f"{dataset.n_features:,} in all"
        )
    if dataset.is_closed:
        click.echo(f"{dataset.path}: closed, no further block will come")
