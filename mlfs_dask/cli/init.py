"""``mlfs init``: a commented job file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from mlfs_dask.cli.output import json_option, print_json, quoted


@click.command()
@click.argument(
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("job.toml"),
    metavar="[FILE]",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def init(file: Path, force: bool, as_json: bool) -> None:
    """Write a commented job file, to be run on your store or on the planted data it names.

    FILE defaults to job.toml.

    \b
    Example:
      mlfs init my-job.toml
      mlfs run my-job.toml
    """
    from mlfs_dask.errors import InputError
    from mlfs_dask.jobs.rundir import write_bytes
    from mlfs_dask.resources import declaration
    from mlfs_dask.storage.atomic import make_parent

    if file.exists() and not force:
        raise InputError(f"{file} exists already", hint="Give another name, or --force.")
    make_parent(file)
    write_bytes(file, declaration("jobs/template.toml").read_bytes())
    if as_json:
        print_json({"file": str(file.absolute())})
    else:
        click.echo(
            f"{file}: put the name of your store in it and run it with `mlfs run {quoted(file)}`; "
            "`mlfs data synth quickstart` makes the store that it names now"
        )
