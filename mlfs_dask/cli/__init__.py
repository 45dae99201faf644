"""The command line: ``mlfs``, also as ``dask mlfs``.

Commands load when they are called: ``mlfs --help`` imports neither dask, numba nor zarr. A failure
is one message on stderr (and one JSON document on stdout where ``--json`` is given) and an exit
code: 2 for what the user can correct, 1 for a fault of the machine or an interruption.

Jobs and runs
    `init`, `run` (with plan), `submit`; `listing`, `status`, `watch`, `logs`; `control` (resume,
    cancel, rm), `runs` (report), `compare`; `methods`.
Data
    `data` with `synth`, `append` and `export`.
Clusters
    `cluster`, `coordinate` (coordinator), `doctor`.
What commands share
    `lazy` loads them, `output` prints, `progress` draws bars. `where` has the options that name a
    cluster, `making` those of stores; `finish` says how a run ended, `going_on` how it goes on.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

import click

from mlfs_dask.cli.lazy import LazyGroup
from mlfs_dask.cli.output import error_document
from mlfs_dask.errors import InputError, MachineError, MlfsError

__all__ = ["main", "mlfs"]

_COMMANDS = {
    "cancel": "mlfs_dask.cli.control:cancel",
    "cluster": "mlfs_dask.cli.cluster:cluster",
    "compare": "mlfs_dask.cli.compare:compare",
    "coordinator": "mlfs_dask.cli.coordinate:coordinator",
    "data": "mlfs_dask.cli.data:data",
    "doctor": "mlfs_dask.cli.doctor:doctor",
    "init": "mlfs_dask.cli.init:init",
    "list": "mlfs_dask.cli.listing:list_runs",
    "logs": "mlfs_dask.cli.logs:logs",
    "methods": "mlfs_dask.cli.methods:methods",
    "plan": "mlfs_dask.cli.run:plan",
    "report": "mlfs_dask.cli.runs:report",
    "resume": "mlfs_dask.cli.control:resume",
    "rm": "mlfs_dask.cli.control:rm",
    "run": "mlfs_dask.cli.run:run",
    "status": "mlfs_dask.cli.status:status",
    "submit": "mlfs_dask.cli.submit:submit",
    "watch": "mlfs_dask.cli.watch:watch",
}
"""Name of a command -> ``module:attribute`` of a click command; add a line to add a command."""


_AS_JSON = "mlfs_dask.as_json"


class Failure(click.ClickException):
    """An error of mlfs_dask as click shows it: a fault of the machine, or an interruption."""

    exit_code = 1

    def __init__(self, error: MlfsError, *, as_json: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.as_json = as_json

    def show(self, file: Any = None) -> None:
        """Print the one message on stderr, and the JSON document on stdout if asked for."""
        click.echo(f"Error: {self.error}", file=file or sys.stderr)
        if self.as_json:
            document = {"error": error_document(self.error)}
            click.echo(json.dumps(document, indent=2, default=str))


class CorrectableFailure(Failure):
    """An error that the user can correct."""

    exit_code = 2


class UsageError(InputError):
    """A command line that does not parse."""

    code = "usage"


def _failure(error: MlfsError, *, as_json: bool) -> Failure:
    failure = CorrectableFailure if error.exit_code == 2 else Failure
    return failure(error, as_json=as_json)


class MlfsGroup(LazyGroup):
    """Root group: errors of mlfs_dask become messages and exit codes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and remember whether some command was given ``--json``."""
        ctx.meta[_AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; see the module's docstring for what happens on errors."""
        as_json: bool = ctx.meta[_AS_JSON]
        try:
            return super().invoke(ctx)
        except MlfsError as error:
            raise _failure(error, as_json=as_json) from error
        except BrokenPipeError:
            raise  # click ends quietly when nobody reads on
        except OSError as error:
            fault = MachineError(f"{error.filename or 'the system'}: {error.strerror or error}")
            raise _failure(fault, as_json=as_json) from error
        except click.UsageError as error:
            if not as_json:
                raise
            usage = error.ctx.get_usage() if error.ctx else None
            raise _failure(UsageError(error.format_message(), hint=usage), as_json=True) from error


@click.group(
    cls=MlfsGroup,
    commands_from=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="mlfs-dask", prog_name="mlfs")
@click.option("-v", "--verbose", is_flag=True, help="Say more on stderr.")
def mlfs(verbose: bool) -> None:
    """Multi-label feature selection, from a laptop to a Dask cluster.

    \b
    Example:
      mlfs data ingest emotions.arff
      mlfs run jobs/quickstart.toml
    """
    level = logging.DEBUG if verbose else os.environ.get("MLFS_LOG", "INFO").upper()
    handler = logging.StreamHandler()  # stderr: stdout carries results only
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("mlfs_dask")
    logger.handlers[:] = [handler]
    logger.setLevel(level)


def main() -> None:
    """Entry point of the ``mlfs`` script."""
    try:
        mlfs(prog_name="mlfs")
    except OSError as error:  # of what is printed outside of commands: help, messages of errors
        print(f"Error: cannot print: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
