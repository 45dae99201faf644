"""``mlfs data``: files into stores, stores looked at, checked and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.append import append
from mlfs_dask.cli.export import export
from mlfs_dask.cli.making import destination, force_option, print_made, tile_option
from mlfs_dask.cli.output import json_option, print_json, print_table
from mlfs_dask.cli.synth import synth
from mlfs_dask.wording import counted, counted_by_thousands

if TYPE_CHECKING:
    from mlfs_dask.storage.describe import Description
    from mlfs_dask.storage.store import Dataset

# As shown to people: "593 none" says nothing.
_PARTS = {"none": "in no split", "train": "train", "test": "test"}
_DTYPES = click.Choice(["auto", "uint8", "int16", "float32", "float64"])
_FILE_FORMATS = click.Choice(["arff", "mat", "csv", "libsvm", "npz"])


@click.group()
def data() -> None:
    """Stores of data: make, add features to, look at, check, export.

    \b
    Example:
      mlfs data ingest emotions.arff
      mlfs data show emotions
    """


data.add_command(append)
data.add_command(export)
data.add_command(synth)


@data.command()
@click.argument("source", metavar="SRC")
@click.argument("dest", required=False)
@click.option("--test", "test_file", type=click.Path(path_type=Path), help="File of test rows.")
@click.option("--name", help="Name of the data set; by default the file's stem.")
@click.option("--labels", help="Label columns, as names a,b,c or as their number.")
@click.option("--xml", type=click.Path(path_type=Path), help="Mulan XML that names the labels.")
@click.option(
    "-C", "n_labels", type=int, help="MEKA: the first n attributes are labels (-n: last)."
)
@click.option("--index-base", type=click.IntRange(0, 1), help="libsvm: index of the first feature.")
@click.option("--n-features", type=click.IntRange(min=1), help="libsvm: number of features.")
@click.option("--positive", help="Value of a class attribute that counts as label 1.")
@click.option("--keep-identifiers", is_flag=True, help="Keep attributes that identify rows.")
@click.option("--format", "file_format", type=_FILE_FORMATS, help="Format of the file.")
@click.option("--dtype", type=_DTYPES, default="auto", show_default=True, help="Dtype of X.")
@tile_option
@force_option
@json_option
def ingest(source: str, dest: str | None, name: str | None, **options: Any) -> None:
    """Make a store of a data file, or of a data set of the catalogue.

    SRC is a file (Mulan ARFF + XML, MEKA ARFF, libsvm, CSV, .mat, .npz; .gz and .bz2 as they are),
    or a name of the catalogue whose files are in $MLFS_DATA. DEST is a path, an address
    s3://bucket/NAME.zarr, or a name; by default NAME.zarr in $MLFS_STORES, else in
    ./storage/stores.

    \b
    Example:
      mlfs data ingest emotions-train.arff --test emotions-test.arff --name emotions
      mlfs data ingest emotions.arff s3://data/emotions.zarr
    """
    from mlfs_dask.errors import InputError
    from mlfs_dask.storage import catalogue
    from mlfs_dask.storage.places import is_address

    if is_address(source):
        raise InputError(
            "SRC is an address: data are read from files of this machine",
            hint="Fetch the file first; DEST may be an address.",
        )
    entry = None if Path(source).exists() else catalogue.find_entry(source)
    if entry is not None:
        layout = {key: options[key] for key in ("tile", "dtype")}
        place = destination(dest or name or entry.name)
        dataset = catalogue.ingest_entry(entry, place, overwrite=options["force"], **layout)
    else:
        dataset = _ingest_file(Path(source), dest, name, options)
    print_made(dataset, as_json=options["as_json"])


def _ingest_file(
    source: Path, dest: str | None, name: str | None, options: dict[str, Any]
) -> Dataset:
    from mlfs_dask.storage.ingest import check_destination
    from mlfs_dask.storage.ingest import ingest as write_store
    from mlfs_dask.storage.readers import open_table
    from mlfs_dask.storage.records import ReadOptions

    overwrite: bool = options["force"]
    if dest is not None:
        check_destination(destination(dest), overwrite=overwrite)
    read = ReadOptions(
        labels=_parse_labels(options["labels"]),
        xml=options["xml"],
        n_labels=options["n_labels"],
        index_base=options["index_base"],
        n_features=options["n_features"],
        positive=options["positive"],
        keep_identifiers=options["keep_identifiers"],
        name=name,
        format=options["file_format"],
    )
    reader = open_table(source, test=options["test_file"], options=read)
    place = destination(dest or reader.header.name)
    return write_store(
        reader, place, tile=options["tile"], dtype=options["dtype"], overwrite=overwrite
    )


def _parse_labels(text: str | None) -> tuple[str, ...] | int | None:
    """Names (quoted as in CSV where they hold commas), or a number of columns."""
    import csv

    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return tuple(next(csv.reader([text], skipinitialspace=True), ()))


@data.command()
@click.argument("store")
@json_option
def show(store: str, as_json: bool) -> None:
    """Say what is in a store: sizes, labels, missing values, duplicates, split.

    \b
    Example:
      mlfs data show emotions --json
    """
    from mlfs_dask.storage.dataset import open_dataset
    from mlfs_dask.storage.describe import describe

    description = describe(open_dataset(store))
    if as_json:
        print_json(description)
    else:
        _print_description(description)


def _print_description(facts: Description) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in facts.kinds.items() if count)
    split = ", ".join(f"{count:,} {_PARTS[part]}" for part, count in facts.split.items() if count)
    form = "sparse" if facts.is_sparse else "dense"
    size = counted_by_thousands(facts.bytes_on_disk, "byte")
    tested = counted_by_thousands(facts.split["test"], "test row")
    lines = {
        "store": f"{facts.path} ({size}, tile {facts.tile:,})",
        "samples": f"{facts.n_samples:,} ({split})",
        "features": f"{facts.n_features:,} ({kinds}; {facts.constant_features:,} constant)",
        "values": f"{facts.dtype}, {form}, {facts.nonzero_fraction:.2%} not zero",
        "labels": f"{facts.n_labels:,} ({facts.labels_never_positive:,} never positive)",
        "label cardinality": f"{facts.label_cardinality:.4f}, density {facts.label_density:.4f}",
        "label sets": f"{facts.label_sets:,} "
        f"({counted_by_thousands(facts.samples_without_label, 'sample')} without a label)",
        "missing values": f"{facts.missing:,} in "
        f"{counted_by_thousands(len(facts.missing_by_feature), 'feature')}",
        "duplicate rows": f"{facts.duplicate_rows:,}",
        "shared by split": f"{facts.rows_shared_by_split:,} of {tested}",
        "digest": facts.digest,
    }
    if facts.blocks or facts.closed:
        nouns = "feature" if list(facts.blocks) == [1] else "features"
        sizes = f", of {', '.join(map(str, facts.blocks))} {nouns}" if facts.blocks else ""
        state = "closed, no more will come" if facts.closed else "open for more"
        lines["appended"] = f"{counted(len(facts.blocks), 'block')}{sizes} ({state})"
    if facts.cost is not None:
        lines["cost"] = ", ".join(f"{key} {value:g}" for key, value in facts.cost.items())
    for file in facts.source:
        lines[f"{file['role']} file"] = f"{file['name']} ({file['format']})"
    click.echo(facts.name)
    for key, line in lines.items():
        click.echo(f"  {key:<18}{line}")
    for feature, count in list(facts.missing_by_feature.items())[:20]:
        click.echo(f"  missing in {feature}: {count:,}")
    for note in facts.notes:
        click.echo(f"  note: {note}")


@data.command()
@click.argument("store")
@json_option
@click.pass_context
def verify(ctx: click.Context, store: str, as_json: bool) -> None:
    """Read every byte of a store and name each file that changed or got lost.

    \b
    Example:
      mlfs data verify emotions
    """
    from mlfs_dask.errors import StoreCorruptError
    from mlfs_dask.storage.catalogue import resolve_store
    from mlfs_dask.storage.verify import verify as verify_store

    report = verify_store(resolve_store(store, ingest_missing=False))
    if as_json:
        print_json(report)
        ctx.exit(0 if report.ok else StoreCorruptError.exit_code)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    if not report.ok:
        found = "".join(f"\n  {item.file}: {item.problem}" for item in report.damage)
        raise StoreCorruptError(
            f"{report.path} is damaged:{found}",
            hint="Ingest the source file again with --force.",
            path=report.path,
            files=[item.file for item in report.damage],
        )
    click.echo(f"{report.path}: {report.n_files:,} files are as they were written")


@data.command("list")
@json_option
def list_stores(as_json: bool) -> None:
    """List the stores, and the data sets of the catalogue.

    \b
    Example:
      mlfs data list
    """
    from mlfs_dask.storage.catalogue import catalogue, list_folder

    stores = list_folder()
    made = {store.name for store in stores}
    entries = [
        {
            "name": entry.name,
            "n_samples": entry.n_samples,
            "n_features": entry.n_features,
            "n_labels": entry.n_labels,
            "title": entry.title,
            "has_store": entry.name in made,
        }
        for entry in catalogue().values()
    ]
    if as_json:
        print_json({"stores": stores, "catalogue": entries})
        return
    header = ("name", "samples", "features", "labels", "")
    rows = [(s.name, s.n_samples, s.n_features, s.n_labels, s.problem or s.path) for s in stores]
    missing = [tuple(entry.values())[:-1] for entry in entries if not entry["has_store"]]
    click.echo("Stores:" if rows else "No stores yet.")
    if rows:
        print_table(rows, header)
    if missing:
        click.echo("\nIn the catalogue, not yet ingested:")
        print_table(missing, header)
