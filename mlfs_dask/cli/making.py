"""What the commands that make stores have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlfs_dask.cli.output import print_json
from mlfs_dask.wording import counted_by_thousands

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place
    from mlfs_dask.storage.store import Dataset

force_option = click.option("--force", is_flag=True, help="Replace what exists.")
tile_option = click.option(
    "--tile",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    help="Rows of a tile, the unit of sums that are equal on every machine.",
)


def destination(text: str) -> Place:
    """The store to make: a path or an address as it is, a bare name in the folder of stores.

    Parameters
    ----------
    text
        What the user gave.
    """
    from mlfs_dask.storage.catalogue import store_path
    from mlfs_dask.storage.places import is_address, place

    if is_address(text):
        return place(text)
    path = Path(text)
    return path if len(path.parts) > 1 or path.suffix == ".zarr" else store_path(text)


def print_made(dataset: Dataset, *, as_json: bool) -> None:
    """Say what was made.

    Parameters
    ----------
    dataset
        The store.
    as_json
        As one JSON document.
    """
    for note in dataset.attributes["notes"]:
        click.echo(f"note: {note}", err=True)
    if as_json:
        keys = ("name", "n_samples", "n_features", "n_labels", "label_sets", "tile", "digest")
        facts = {key: dataset.attributes[key] for key in (*keys, "source", "notes")}
        shape = {"dtype": dataset.x_dtype.name, "is_sparse": dataset.is_sparse}
        print_json({"path": dataset.path, **facts, **shape})
        return
    click.echo(
        f"{dataset.path}: {counted_by_thousands(dataset.n_samples, 'sample')}, "
        f"{counted_by_thousands(dataset.n_features, 'feature')} "
        f"({dataset.x_dtype.name}, {'sparse' if dataset.is_sparse else 'dense'}), "
        f"{counted_by_thousands(dataset.n_labels, 'label')} in "
        f"{counted_by_thousands(dataset.attributes['label_sets'], 'set')}"
    )
