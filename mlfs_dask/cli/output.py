"""What commands print: one JSON document, or lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mlfs_dask.errors import MlfsError

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def print_json(document: Any) -> None:
    """Print a document of plain values, dataclasses or msgspec structs.

    Parameters
    ----------
    document
        What to print.
    """
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def error_document(error: MlfsError) -> dict[str, Any]:
    """What ``--json`` shows of an error.

    Parameters
    ----------
    error
        Raised by the package.
    """
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
        "facts": error.facts,
    }


def quoted(path: object) -> str:
    """A path as it stands in a command that is to be copied.

    Parameters
    ----------
    path
        Of a file or folder, perhaps with blanks.

    Examples
    --------
    >>> quoted("my job.toml"), quoted("job.toml")
    ("'my job.toml'", 'job.toml')
    """
    import shlex

    return shlex.quote(str(path))


def print_table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> None:
    """Print rows in columns of equal width; numbers stand to the right.

    Parameters
    ----------
    rows
        Cells, as many in each row as in the header.
    header
        Names of the columns.
    """
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    right = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]
    for row in cells:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        click.echo("  ".join(padded).rstrip())
