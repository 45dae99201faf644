"""``mlfs data synth``: stores of made data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mlfs_dask.cli.making import destination, force_option, print_made, tile_option
from mlfs_dask.cli.output import json_option

if TYPE_CHECKING:
    from mlfs_dask.storage.ingest import StoreOptions
    from mlfs_dask.storage.places import Place
    from mlfs_dask.storage.store import Dataset


@click.command()
@click.argument("dest", required=False)
@click.option("-n", "--samples", "n_samples", type=int, default=2000, show_default=True)
@click.option("-d", "--features", "n_features", type=int, default=60, show_default=True)
@click.option("-q", "--labels", "n_labels", type=int, default=8, show_default=True)
@click.option("--relevant", type=int, default=12, show_default=True, help="Features that matter.")
@click.option("--copies", type=int, default=12, show_default=True, help="Noisy copies of these.")
@click.option("--copy-noise", type=float, default=0.7, show_default=True, help="0 to 1.")
@click.option("--label-noise", type=float, default=0.3, show_default=True, help="Signal is 1.")
@click.option("--label-correlation", type=float, default=0.3, show_default=True, help="0 to 1.")
@click.option("--label-sets", type=int, help="Distinct label sets; free if left out.")
@click.option("--density", type=float, default=1.0, show_default=True, help="Share of non-zeros.")
@click.option("--sparse", is_flag=True, help="Store CSR.")
@click.option(
    "--dtype",
    type=click.Choice(["uint8", "float32", "float64"]),
    default="float32",
    show_default=True,
    help="uint8 makes 0/1 features (give --density).",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--like", type=click.Choice(["tmc2007"]), help="The shape of this data set.")
@click.option("--source", type=click.Path(path_type=Path), help="File that --like reads.")
@tile_option
@force_option
@json_option
@click.pass_context
def synth(
    ctx: click.Context,
    /,
    dest: str | None,
    like: str | None,
    source: Path | None,
    tile: int,
    force: bool,
    as_json: bool,
    **planted: Any,
) -> None:
    """Make a store of data with a planted truth, of any size, or of the shape of a known set.

    DEST is a path, an address or a name. All features that are neither relevant nor copies are
    noise; the attribute truth of the store says which are which. Values are from 0 to 1, rows are
    made block by block, and --seed decides all of them. With --label-sets the labels come from so
    many label sets, each of which occurs.

    --like tmc2007 makes the whole of tmc2007 (28,596 samples, 49,060 words) from a tmc2007.mat that
    holds its labels, its most frequent words and the document frequency of all words: labels,
    split and document frequencies are those of the file, cells are drawn, and depend on the labels
    as the file's words do. It takes --source and --seed, and no size.

    \b
    Example:
      mlfs data synth quickstart
      mlfs data synth large -n 1000000 -d 1000 --sparse --density 0.02 --dtype uint8
      mlfs data synth wide -n 1000000 -d 200 -q 30 --label-sets 1000
      mlfs data synth --like tmc2007 --source tmc2007.mat
    """
    from mlfs_dask.storage.ingest import StoreOptions
    from mlfs_dask.storage.planted import Planted
    from mlfs_dask.storage.synth import synthesize

    options = StoreOptions(tile=tile, overwrite=force)
    if like is not None:
        dataset = _make_like(ctx, destination(dest or f"{like}-like"), source, options)
    elif source is not None:
        raise click.UsageError("--source is read only by --like: give --like tmc2007 too")
    else:
        dataset = synthesize(destination(dest or "synth"), Planted(**planted), options)
    print_made(dataset, as_json=as_json)


def _make_like(
    ctx: click.Context, place: Place, source: Path | None, options: StoreOptions
) -> Dataset:
    from mlfs_dask.storage.synth_like import synthesize_like

    if source is None:
        raise click.UsageError(
            f"--like {ctx.params['like']} needs --source, the .mat file that holds labels, "
            "frequent words and document frequencies"
        )
    allowed = {"dest", "like", "source", "seed", "tile", "force", "as_json"}
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in allowed:
            raise click.UsageError(
                f"{option.opts[-1]} does not go with --like: the file decides shape and values"
            )
    return synthesize_like(place, source, seed=ctx.params["seed"], options=options)
