"""``mlfs data export``: a store, or the features a run would have you keep, as a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option

if TYPE_CHECKING:
    from mlfs_dask._typing import IntArray
    from mlfs_dask.storage.places import Place
    from mlfs_dask.storage.store import Dataset

_ENDINGS = {"npz": "npz", "arff": "arff", "meka": "arff", "csv": "csv", "libsvm": "svm"}


@click.command()
@click.argument("store", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(list(_ENDINGS)),
    help="By default what the file's ending tells.",
)
@click.option("--run", "run_name", metavar="RUN", help="Only features chosen by this run.")
@click.option("--selector", metavar="LABEL", help="Which selector of the run chooses.")
@click.option("--top", metavar="K", help="How many: a count, a share such as 0.2, or 'selected'.")
@click.option("--force", is_flag=True, help="Replace what exists.")
@runs_option
@json_option
def export(
    store: str | None,
    output: Path | None,
    file_format: str | None,
    force: bool,
    as_json: bool,
    **choice: Any,
) -> None:
    """Write a store as a file of another format; says what the format cannot hold.

    npz holds the whole store; arff (Mulan's, with its XML) and meka all but costs, the split as two
    files; csv names and values; libsvm values.

    With --run only the K best features are written, by the selection on all rows that the run made
    with the selector LABEL; 'selected' stands for the subset that the method itself has chosen.
    The columns keep the order of the store. STORE may be left out where the run has one data set,
    and -o, which is then DATA-LABEL-N.npz or what --format says.

    \b
    Example:
      mlfs data export emotions -o emotions.npz
      mlfs data export emotions -o emotions.arff --format meka
      mlfs data export --run emotions-first --selector mllap --top 0.2 -o best.arff
    """
    from mlfs_dask.storage.export import export_store

    dataset, chosen = _chosen(store, **choice)
    if output is None:
        output = _default_output(dataset, choice["selector"], chosen, file_format)
    report = export_store(dataset, output, file_format, features=chosen, overwrite=force)
    for part in report.not_held:
        click.echo(f"note: {report.format} cannot hold {part}", err=True)
    if as_json:
        features = None if chosen is None else chosen.tolist()
        print_json(
            {
                "format": report.format,
                "files": report.files,
                "not_held": report.not_held,
                "features": features,
            }
        )
        return
    for file in report.files:
        click.echo(file)


def _chosen(
    store: str | None, run_name: str | None, selector: str | None, top: str | None, runs: Place
) -> tuple[Dataset, IntArray | None]:
    """The store to write, and which of its features; None for all of them."""
    from mlfs_dask.jobs.chosen import chosen_features, dataset_in_run, only_dataset, parse_top
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run
    from mlfs_dask.storage.dataset import open_dataset

    if run_name is None:
        if store is None:
            raise click.UsageError("Give a STORE, or a --run with --selector and --top.")
        if selector is not None or top is not None:
            raise click.UsageError(
                "--selector and --top need the --run whose features they choose."
            )
        return open_dataset(store), None
    if selector is None or top is None:
        raise click.UsageError("--run needs --selector LABEL and --top K.")
    how_many = parse_top(top)
    run = Run(find_run(run_name, runs))
    dataset = open_dataset(only_dataset(run)["path"] if store is None else store)
    return dataset, chosen_features(run, selector, dataset_in_run(run, dataset), how_many)


def _default_output(
    dataset: Dataset, selector: str | None, chosen: IntArray | None, file_format: str | None
) -> Path:
    if chosen is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    words = (dataset.name, selector or "", str(len(chosen)))
    stem = "-".join(re.sub(r"[^\w.=]+", "-", word).strip("-.") for word in words)
    return Path(f"{stem}.{_ENDINGS[file_format or 'npz']}")
